"""Slow references for the tests, which share no formula and no code with the package.

Metrics are read off a list of 0s and 1s, ties are averaged by going through every order of the
items, the laws of sampling are counted subset by subset or kept as exact fractions, and the
corrections solve their normal equations in exact or 200-digit arithmetic.
"""

from collections import Counter
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations, permutations, product
from math import comb, lcm, log2
from operator import mul

# --- Metrics, eqs. (2) to (6) of the paper, from the list of 0s and 1s down the ranking ---


def relevance(ranks, n_items):
    """1 where a relevant item stands, 0 elsewhere, best place first."""
    ranks = set(ranks)
    return [int(place in ranks) for place in range(1, n_items + 1)]


def auc(rel):
    """Eq. (2): the share of (relevant, irrelevant) pairs in the right order."""
    pairs = [
        (i, j) for i in range(len(rel)) for j in range(len(rel)) if rel[i] == 1 and rel[j] == 0
    ]
    return sum(i < j for i, j in pairs) / len(pairs)


def percentile_rank(rel):
    """The mean, over the relevant items, of the share of irrelevant items ahead."""
    irrelevant = rel.count(0)
    shares = [rel[:i].count(0) / irrelevant for i in range(len(rel)) if rel[i]]
    return sum(shares) / len(shares)


def precision(rel, k):
    """Eq. (3)."""
    return sum(rel[:k]) / k


def recall(rel, k):
    """Eq. (4)."""
    return sum(rel[:k]) / sum(rel)


def average_precision(rel, k=None):
    """Eq. (5)."""
    k = len(rel) if k is None else k
    hits = [precision(rel, i + 1) for i in range(min(k, len(rel))) if rel[i]]
    return sum(hits) / min(sum(rel), k)


def ndcg(rel, k=None):
    """Eq. (6)."""
    k = len(rel) if k is None else k
    gain = sum(1 / log2(i + 2) for i in range(min(k, len(rel))) if rel[i])
    return gain / sum(1 / log2(i + 2) for i in range(min(sum(rel), k)))


def reciprocal_rank(rel, k=None):
    """1 over the place of the first relevant item."""
    k = len(rel) if k is None else k
    for i in range(min(k, len(rel))):
        if rel[i]:
            return 1 / (i + 1)
    return 0.0


def hit_rate(rel, k):
    """1 for any relevant item among the first k."""
    return float(any(rel[:k]))


def accuracy(rel):
    """1 for a relevant item in the first place."""
    return float(rel[0])


def rank_score(rel, half_life, k=None):
    """Breese, Heckerman and Kadie (1998): half the weight every `half_life` places."""
    k = len(rel) if k is None else k
    gain = sum(0.5 ** (i / half_life) for i in range(min(k, len(rel))) if rel[i])
    return gain / sum(0.5 ** (i / half_life) for i in range(min(sum(rel), k)))


def f_score(rel, k, beta=1.0):
    """The harmonic mean of precision and recall; 0 without a hit."""
    p, r = precision(rel, k), recall(rel, k)
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p else 0.0


def r_precision(rel):
    """Precision among as many places as there are relevant items."""
    return precision(rel, sum(rel))


def precisions_at_hits(rel, k):
    """The precision at every hit among the first k."""
    return [precision(rel, i + 1) for i in range(min(k, len(rel))) if rel[i]]


def ap_over_hits(rel, k):
    """The precisions at the hits, averaged over the hits (Lamar, 2024)."""
    found = precisions_at_hits(rel, k)
    return sum(found) / len(found) if found else 0.0


def average_recall(rel, k):
    """The recall at every hit among the first k, averaged over the hits (Lamar, 2024)."""
    found = [recall(rel, i + 1) for i in range(min(k, len(rel))) if rel[i]]
    return sum(found) / len(found) if found else 0.0


def dcg(rel, k=None):
    """1 / log2(place + 1) for every hit."""
    return sum(r / log2(place + 1) for place, r in enumerate(rel[:k], start=1))


def rbp(rel, p, k=None):
    """Moffat and Zobel (2008): the reader looks at place i with probability p^(i - 1)."""
    looks, found = 1.0, 0.0
    for r in rel[:k]:
        found, looks = found + looks * (1 - p) * r, looks * p
    return found


# By the name that the package prints.
METRICS = {
    "AUC": auc,
    "PercentileRank": percentile_rank,
    "Precision@1": lambda rel: precision(rel, 1),
    "Precision@3": lambda rel: precision(rel, 3),
    "Recall@2": lambda rel: recall(rel, 2),
    "Recall@5": lambda rel: recall(rel, 5),
    "AP": average_precision,
    "AP@3": lambda rel: average_precision(rel, 3),
    "NDCG": ndcg,
    "NDCG@3": lambda rel: ndcg(rel, 3),
    "RR": reciprocal_rank,
    "RR@2": lambda rel: reciprocal_rank(rel, 2),
    "HitRate@3": lambda rel: hit_rate(rel, 3),
    "Accuracy": accuracy,
    "F1@4": lambda rel: f_score(rel, 4),
    "F0.5@3": lambda rel: f_score(rel, 3, 0.5),
    "F2@3": lambda rel: f_score(rel, 3, 2),
    "RPrecision": r_precision,
    "AP(relevant)": average_precision,
    "AP(relevant)@3": lambda rel: sum(precisions_at_hits(rel, 3)) / sum(rel),
    "AP(hits)": average_precision,
    "AP(hits)@1": lambda rel: ap_over_hits(rel, 1),
    "AP(hits)@3": lambda rel: ap_over_hits(rel, 3),
    "AP(hits)@5": lambda rel: ap_over_hits(rel, 5),
    "AP(k)@3": lambda rel: sum(precisions_at_hits(rel, 3)) / 3,
    "AR@3": lambda rel: average_recall(rel, 3),
    "DCG": dcg,
    "DCG@3": lambda rel: dcg(rel, 3),
    "RBP(0.8)": lambda rel: rbp(rel, 0.8),
    "RBP(0.5)@3": lambda rel: rbp(rel, 0.5, 3),
    "RankScore(2.5)": lambda rel: rank_score(rel, 2.5),
    "RankScore(4)@3": lambda rel: rank_score(rel, 4, 3),
}


def of_rank(name, rank, n_items):
    """A metric where the only relevant item has that rank."""
    return METRICS[name](relevance([rank], n_items))


@lru_cache
def _every_order(scores, relevant):
    """The lists of 0s and 1s down every order of the items in which no score rises, counted."""
    return Counter(
        tuple(int(item in relevant) for item in order)
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in zip(order, order[1:]))
    )


def over_orders(metric, scores, relevant):
    """The mean of a metric over every order of the items in which no score rises."""
    found = _every_order(tuple(scores), frozenset(relevant))
    return sum(times * metric(list(rel)) for rel, times in found.items()) / found.total()


def exact_metrics(ranks):
    """Recall@10, NDCG@10, AP, AUC in percent, each rank spread evenly over its tied places.

    The mean over the places from the first to the last is a difference of running totals.
    """
    largest = int(max(ranks.sizes))
    hits = [0.0, *accumulate(float(r <= 10) for r in range(1, largest + 1))]
    gains = [0.0, *accumulate((r <= 10) / log2(r + 1) for r in range(1, largest + 1))]
    inverse = [0.0, *accumulate(1 / r for r in range(1, largest + 1))]
    total = [0.0] * 4
    for rank, ties, n in zip(ranks.values.tolist(), ranks.rows.ties.tolist(), ranks.sizes.tolist()):
        places, last = ties + 1, rank + ties
        for i, running in enumerate((hits, gains, inverse)):
            total[i] += (running[last] - running[rank - 1]) / places
        total[3] += (n - (rank + last) / 2) / (n - 1)
    return [100 * x / len(ranks) for x in total]


# --- The law of the sampled rank ---


def law_by_counting(rank, n_items, m, replace):
    """p(sampled rank = 1, ..., m + 1), by going through every sample of m irrelevant items."""
    others = [item for item in range(1, n_items + 1) if item != rank]
    samples = list(product(others, repeat=m) if replace else combinations(others, m))
    counts = [0] * (m + 1)
    for sample in samples:
        counts[sum(item < rank for item in sample)] += 1
    return [Fraction(count, len(samples)) for count in counts]


@lru_cache(maxsize=2**14)  # the same laws serve many metrics, priors and prices
def exact_law(rank, n_items, m, replace):
    """The same, exactly, in any pool."""
    return tied_law(rank, 0, n_items, m, replace)


def tied_law(rank, ties, n_items, m, replace):
    """The mean of the exact laws of the ranks that a random order of the ties may give.

    From binomial coefficients of whole numbers: each of these ranks has as many samples.
    """
    pool, samples = n_items - 1, [0] * (m + 1)
    for above in range(rank - 1, rank + ties):
        for s in range(m + 1):
            if replace:
                samples[s] += comb(m, s) * above**s * (pool - above) ** (m - s)
            else:
                samples[s] += comb(above, s) * comb(pool - above, m - s)
    total = sum(samples)
    return tuple(Fraction(number, total) for number in samples)


def mean_of_polynomial(f, first, last, degree):
    """The mean of f(first), ..., f(last) for a polynomial f, exactly, however many they are.

    Its sums f(first) + ... + f(first + k) are a polynomial in k of one degree more: they are taken
    at enough small k and extended by Lagrange's formula.
    """
    sums, total = [], Fraction(0)
    for k in range(degree + 2):
        total += f(first + k)
        sums.append(total)
    count, value = last - first, Fraction(0)
    for k, known in enumerate(sums):
        term = known
        for j in range(degree + 2):
            if j != k:
                term *= Fraction(count - j, k - j)
        value += term
    return value / (count + 1)


def decimal_law(rank, n_items, m, replace, digits=50):
    """The law for large m and n, from one end to the other with many digits."""
    above, rest = rank - 1, n_items - rank
    with localcontext(Context(prec=digits, Emin=-(10**9), Emax=10**9)):
        law = [Decimal(0)] * (m + 1)
        lowest, highest = (0, m) if replace else (max(0, m - rest), min(above, m))
        if replace and (above == 0 or rest == 0):
            law[m if rest == 0 else 0] = Decimal(1)
            return law
        law[lowest] = Decimal(1)
        for s in range(lowest + 1, highest + 1):
            odds = above * (m - s + 1) if replace else (above - s + 1) * (m - s + 1)
            law[s] = law[s - 1] * odds / (s * (rest if replace else rest - m + s))
        total = sum(law)
        return [p / total for p in law]


# --- Corrections, in exact fractions or in decimals ---


def solve(matrix, right):
    """Gaussian elimination, in whatever numbers the entries are."""
    rows = [[*row, b] for row, b in zip(matrix, right)]
    if all(map(are_exact, rows)):
        return solve_exactly([as_whole(row)[0] for row in rows])
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / rows[i][i]
            for k in range(i, len(rows) + 1):
                rows[j][k] -= factor * rows[i][k]
    x = [0] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum(rows[i][k] * x[k] for k in range(i + 1, len(rows)))
        x[i] = (rows[i][-1] - known) / rows[i][i]
    return x


def solve_exactly(rows):
    """The same with whole numbers, by Bareiss: each quotient by the last pivot is whole."""
    last = 1
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        one, *others = rows[i][i:]
        for j in range(i + 1, len(rows)):
            factor, *old = rows[j][i:]
            rows[j][i + 1 :] = [(one * a - factor * b) // last for a, b in zip(old, others)]
        last = one
    x = [Fraction(0)] * len(rows)
    for i in reversed(range(len(rows))):
        known = inner(rows[i][i + 1 : -1], x[i + 1 :])
        x[i] = Fraction(rows[i][-1] - known) / rows[i][i]
    return x


def are_exact(numbers):
    """Whether these are fractions or whole numbers of Python's, which have any size."""
    return all(isinstance(x, (int, Fraction)) for x in numbers)


def as_whole(numbers):
    """Fractions as whole numbers, and the denominator that they share."""
    shared = lcm(*(x.denominator for x in numbers))
    return [x.numerator * (shared // x.denominator) for x in numbers], shared


def inner(u, v):
    """The sum of the products; of fractions in whole numbers, which is faster."""
    if not (are_exact(u) and are_exact(v)):
        return sum(a * b for a, b in zip(u, v) if a and b)
    (u, scale), (v, other) = as_whole(u), as_whole(v)
    return Fraction(sum(map(mul, u, v)), scale * other)


def least_squares(columns, target, prior):
    """min over x of the mean over the prior of (sum over j of x_j column_j - target)^2."""
    return solve(*normal_equations(columns, target, prior))


def normal_equations(columns, target, prior):
    """Inner products of the columns with each other, and with the target."""
    weighted = [[p * a for p, a in zip(prior, column)] for column in columns]
    half = [[inner(u, v) for v in columns[: s + 1]] for s, u in enumerate(weighted)]
    matrix = [[half[max(s, t)][min(s, t)] for t in range(len(half))] for s in range(len(half))]
    return matrix, [inner(u, target) for u in weighted]


def minimal_bias(law, target, prior):
    """Eq. (22)."""
    return least_squares(list(zip(*law)), target, prior)


def bias_variance(law, target, prior, gamma):
    """Eq. (25), with A_{r,s} = sqrt(p(r)) p(s | r) and gamma in the numbers of the law."""
    matrix, right = normal_equations(list(zip(*law)), target, prior)
    matrix = [[(1 - gamma) * x for x in row] for row in matrix]
    for s, column in enumerate(zip(*law)):
        matrix[s][s] += gamma * inner(prior, column)
    return solve(matrix, right)


def squared_bias(law, target, prior, x):
    """The objective of eq. (21)."""
    misses = [inner(row, x) - b for row, b in zip(law, target)]
    return inner(prior, [miss**2 for miss in misses])


def mean_variance(law, prior, x):
    """The mean over the prior of Var[x | r]; in exact numbers, since the difference cancels."""
    assert are_exact(x)
    squares = [v**2 for v in x]
    return inner(prior, [inner(row, squares) - inner(row, x) ** 2 for row in law])
