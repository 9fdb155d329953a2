"""`predicted_ranks` under factors and arrays of every kind: rounding, ties, tiles and memory."""

import os
import tracemalloc
from bisect import bisect_left, bisect_right
from functools import reduce
from operator import add, mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from recsample import predicted_ranks
from recsample.ranks import standings, thresholds
from recsample.ranks.scores import pair_scores

RNG = np.random.default_rng
KINDS = [np.float32, np.float64]


def standing(score, relevant, excluded):
    """Ranks, best first, and ties of one user's relevant items: by sorting, in plain Python."""
    others = [i for i in range(len(score)) if i not in relevant and i not in excluded]
    best_last = sorted(score[i] for i in others)
    found = []
    for place, own in enumerate(sorted(score[i] for i in relevant)[::-1]):
        start, end = bisect_left(best_last, own), bisect_right(best_last, own)
        found.append((1 + place + len(best_last) - end, end - start))
    return found


def by_hand(users, items, relevant, exclude, scores=None):
    """Ranks and ties of every user: products are added one by one, where no scores are given."""
    found = []
    items = np.asarray(items, float).tolist()
    for user, mine in enumerate(np.asarray(users, float).tolist()):
        if scores is None:
            # One after the other: newer Pythons' sum() corrects what was rounded on the way.
            score = [reduce(add, map(mul, mine, item), 0.0) for item in items]
        else:
            score = scores[user].tolist()
        found.append(standing(score, relevant[user], exclude[user]))
    return found


def exact_scores(users, items):
    """All scores times 2^240, in whole numbers of any size: nothing is rounded."""
    scaled = [np.ldexp(np.asarray(factors, float), 120) for factors in (users, items)]
    assert all((factors == np.rint(factors)).all() for factors in scaled)
    users, items = ([list(map(int, row)) for row in factors.tolist()] for factors in scaled)
    return np.array(users, object) @ np.array(items, object).T


def as_sets(sets, n_items):
    dense = np.zeros((len(sets), n_items), bool)
    for row, items in zip(dense, sets):
        row[list(items)] = True
    return sparse.csr_matrix(dense)


def ranked(scores, relevant, exclude, **more):
    n_items = len(scores[1]) if isinstance(scores, tuple) else np.shape(scores)[1]
    ranks = predicted_ranks(scores, as_sets(relevant, n_items), as_sets(exclude, n_items), **more)
    assert ranks.sizes.tolist() == [n_items - len(items) for items in exclude]
    values, ties = ranks.values, ranks.ties
    return [list(zip(v.tolist(), t.tolist())) for v, t in zip(values, ties)]


def some_sets(rng, n_users, n_items, most):
    """Relevant and excluded items, disjoint: from no relevant item of a user to many."""
    relevant, exclude = [], []
    for _ in range(n_users):
        order = rng.permutation(n_items).tolist()
        n_relevant, n_excluded = rng.integers(0, most), rng.integers(0, n_items // 3 + 1)
        relevant.append(set(order[:n_relevant]))
        exclude.append(set(order[n_relevant : n_relevant + n_excluded]))
    return relevant, exclude


def entangled(rng, n_users, n_items, d, dtype):
    """Factors with copies, and with items whose scores differ in the last bits only."""
    users = rng.normal(size=(n_users, d)).astype(dtype)
    items = rng.normal(size=(n_items, d)).astype(dtype)
    for item in range(n_items // 3):
        items[rng.integers(n_items)] = items[item]
        near = rng.integers(n_items)
        items[near] = items[item]
        items[near, rng.integers(d)] *= 1 + np.finfo(dtype).eps
    return users, items


@pytest.fixture
def small_tiles(monkeypatch):
    """Makes tiles small, and from how many relevant items on scores are sorted."""

    def set_up(tile, few_items=0, width=5, many=8):
        for name, value in zip(("TILE", "_FEW_ITEMS", "_WIDTH"), (tile, few_items, width)):
            monkeypatch.setattr(standings, name, value)
        monkeypatch.setattr(thresholds, "_MANY", many)

    return set_up


@pytest.fixture
def compiled(monkeypatch):
    """Compiled code, however few there are to compare."""
    pytest.importorskip("numba")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("Numba may not compile here; in tests/tools/test_compiled.py it does")
    monkeypatch.setattr(thresholds, "_WORTH_LOADING", 0)
    monkeypatch.setattr(thresholds, "_WORTH_LOADING_NUMBA", 0)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("many", [2, 99])
def test_sums_in_double_precision_decide(small_tiles, dtype, many):
    rng = RNG(0)
    users, items = entangled(rng, 12, 60, 7, dtype)
    relevant, exclude = some_sets(rng, 12, 60, 9)
    expected = by_hand(users, items, relevant, exclude)
    assert any(tied for row in expected for _, tied in row)
    assert ranked((users, items), relevant, exclude) == expected
    small_tiles(100, many=many)
    assert ranked((users, items), relevant, exclude) == expected


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.integers(1, 6),
    st.integers(1, 5),
    st.booleans(),
)
def test_exact_arithmetic_agrees_where_nothing_is_rounded(seed, dtype, n_items, d, several):
    rng = RNG(seed)
    users, items = (rng.integers(-4, 5, size=(n, d)).astype(dtype) / 8 for n in (3, n_items))
    relevant = [{int(rng.integers(n_items))} for _ in range(3)]
    if several:
        relevant, exclude = some_sets(rng, 3, n_items, n_items + 1)
    else:
        exclude = [{i for i in range(n_items) if rng.random() < 0.3} - own for own in relevant]
    exclude = [left - own if len(left) < n_items else set() for left, own in zip(exclude, relevant)]
    expected = by_hand(users, items, relevant, exclude, exact_scores(users, items))
    assert ranked((users, items), relevant, exclude) == expected
    assert ranked(users @ items.T, relevant, exclude) == expected


@pytest.mark.parametrize("several", [False, True])
def test_tiles_and_memory_do_not_matter(small_tiles, several):
    rng = RNG(1)
    users, items = entangled(rng, 20, 3000, 16, np.float32)
    relevant, exclude = some_sets(rng, 20, 3000, 5)
    if not several:
        relevant = [{int(item)} for item in rng.integers(3000, size=20)]
        exclude = [left_out - own for left_out, own in zip(exclude, relevant)]
    usual = ranked((users, items), relevant, exclude)
    assert ranked((users, items), relevant, exclude, working_memory=1) == usual
    assert ranked((users, items), relevant, exclude, working_memory=1000) == usual
    for tile, few_items, width in [(1, 0, 1), (100, 0, 7), (3000, 4096, 5), (10**6, 0, 299)]:
        if tile > 1:
            small_tiles(tile, few_items, width)
            assert ranked((users, items), relevant, exclude) == usual
    half = slice(0, 10)
    assert ranked((users[half], items), relevant[half], exclude[half]) == usual[half]
    order = rng.permutation(3000)
    new = np.argsort(order).tolist()
    moved = ([{new[i] for i in one} for one in sets] for sets in (relevant, exclude))
    assert ranked((users, items[order]), *moved) == usual


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setattr(standings, "number_of_threads", lambda: 3)
    monkeypatch.setattr(standings, "_WORTH_THREADS", 0)


@pytest.mark.parametrize("users_are_factors", [False, True])
def test_several_threads_count_the_same(request, users_are_factors):
    rng = RNG(3)
    users, items = entangled(rng, 200, 500, 16, np.float32)
    relevant, exclude = some_sets(rng, 200, 500, 30)
    scores = (users, items) if users_are_factors else users @ items.T
    usual = ranked(scores, relevant, exclude)
    request.getfixturevalue("three_threads")
    assert ranked(scores, relevant, exclude) == usual
    assert ranked(scores, relevant, exclude, working_memory=1) == usual


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("several", [False, True])
def test_compiled_code_counts_the_same(compiled, dtype, several):
    rng = RNG(2)
    users, items = entangled(rng, 30, 400, 16, dtype)
    relevant, exclude = some_sets(rng, 30, 400, 80 if several else 2)
    expected = by_hand(users, items, relevant, exclude)
    assert ranked((users, items), relevant, exclude) == expected
    dense = users @ items.T
    by_sorting = [standing(row.tolist(), *sets) for row, *sets in zip(dense, relevant, exclude)]
    assert ranked(dense, relevant, exclude) == by_sorting


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("d", [1, 2, 17, 300])
def test_bounds_are_as_wide_as_the_theorem_says(dtype, d):
    """A sum of d products may be off by d u / (1 - d u) |a| |b|, as sums of random ones never are.

    The product is, in the precision u of the factors, and so is the score, in double precision.
    """
    users, items = RNG(d).normal(size=(2, 1, d)).astype(dtype)
    source, zero = standings.Product(users, items, dtype), np.zeros(1, np.int64)
    low, high = source.around(zero, source.of(zero, zero))
    norms = np.linalg.norm(users.astype(float)) * np.linalg.norm(items.astype(float))
    off = sum(d * u / (1 - d * u) for u in (np.finfo(dtype).eps / 2, 2.0**-53)) * norms
    assert (float(high[0]) - float(low[0])) / 2 > off
    if d > 2:  # and not much wider, or all would be scored one by one
        assert (float(high[0]) - float(low[0])) / 2 < 1.5 * off


@pytest.mark.parametrize("d", [64, 300])
def test_a_product_that_rounds_the_same_way_all_along_does_not_mislead(d):
    """In single precision 1 swallows what is added to it, and in truth that is a lot together."""
    unit = np.finfo(np.float32).eps / 2
    users = np.full((3, d), np.sqrt(0.9 * unit), np.float32)
    users[:, 0] = 1
    items = np.zeros((40, d), np.float32)
    items[0] = users[0]
    items[1, 0] = 1 + 0.7 * d * unit
    scores = [pair_scores(users, items, np.array([0]), np.array([item]))[0] for item in (0, 1)]
    assert scores[0] > scores[1] + 0.1 * d * unit
    ranks = predicted_ranks((users, items), [1] * 3)
    assert ranks.values.tolist() == [2] * 3 and not any(ranks.rows.ties)


@pytest.mark.parametrize("dtype", KINDS)
def test_many_relevant_items(small_tiles, dtype):
    rng = RNG(7)
    users, items = entangled(rng, 12, 700, 16, dtype)
    users[3] = 0  # everything is tied
    items[5] *= dtype(1e6)  # far off
    relevant, exclude = some_sets(rng, 12, 700, 150)
    relevant[4].add(5)
    exclude[4].discard(5)
    assert sum(len(own) > 30 for own in relevant) > 5
    expected = by_hand(users, items, relevant, exclude)
    assert ranked((users, items), relevant, exclude) == expected
    small_tiles(4096, width=256)
    assert ranked((users, items), relevant, exclude) == expected


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32, np.float64])
def test_many_relevant_items_among_equal_and_unlisted_scores(small_tiles, kind):
    rng = RNG(8)
    scores = rng.integers(-40, 41, size=(10, 300)).astype(kind)
    if np.dtype(kind).kind == "f":
        scores[rng.random(scores.shape) < 0.1] = -np.inf
    relevant, exclude = some_sets(rng, 10, 300, 100)
    expected = [standing(row.tolist(), *sets) for row, *sets in zip(scores, relevant, exclude)]
    assert ranked(scores, relevant, exclude) == expected
    small_tiles(1000, width=100)
    assert ranked(scores, relevant, exclude) == expected


def test_users_without_factors_tie_everything():
    users, items = np.zeros((3, 4), np.float32), RNG(0).normal(size=(50, 4)).astype(np.float32)
    users[1] = 1
    ranks = predicted_ranks((users, items), [0, 0, 0], as_sets([{1}, {1}, {1, 2}], 50))
    assert ranks.values[[0, 2]].tolist() == [1, 1] and ranks.ties.tolist() == [48, 0, 47]


def test_no_factors_at_all():
    ranks = predicted_ranks((np.zeros((2, 0)), np.zeros((5, 0))), [0, 3])
    assert ranks.values.tolist() == [1, 1] and ranks.ties.tolist() == [4, 4]


@pytest.mark.parametrize(
    "dtype, size", [(np.float32, 1e-25), (np.float32, 1e25), (np.float64, 1e-170)]
)
def test_huge_and_tiny_factors(dtype, size):
    # Their products leave the range of their type, or the squares of their norms do.
    rng = RNG(4)
    users, items = entangled(rng, 6, 40, 5, dtype)
    relevant, exclude = some_sets(rng, 6, 40, 4)
    scores = (users * dtype(size)).astype(dtype), (items * dtype(size)).astype(dtype)
    assert ranked(scores, relevant, exclude) == by_hand(*scores, relevant, exclude)


def test_infinite_products_and_nan_are_named():
    items = np.array([[1.0, 0], [1, 1], [2, 0], [-np.inf, 0]])
    ranks = predicted_ranks((np.ones((2, 2)), items), [0, 1])
    assert ranks.values.tolist() == [3, 1] and ranks.ties.tolist() == [0, 1]
    users = np.array([[1.0, 1], [0, 1]])
    with pytest.raises(ValueError, match="got NaN for user 1, item 3"):
        predicted_ranks((users, items), [0, 0])
    with pytest.raises(ValueError, match="finite, or -inf .* got inf .* for user 0, item 1"):
        predicted_ranks((users, [[1, 1], [1, np.inf]]), [0, 0])
    with pytest.raises(ValueError, match="got NaN for user 0, item 2"):
        predicted_ranks((users, [[1, 1], [1, 2], [1, np.nan]]), [0, 0], as_sets([{2}, {2}], 3))


@pytest.mark.parametrize(
    "scores",
    [
        np.array([[2**62, 2**62 + 1, 2**62 - 1, 2**62]]),
        np.array([[2**63, 2**63 + 1, 2**63 - 1, 2**63]], np.uint64),
        np.array([[3, 4, -1, 3]], np.int8),
        np.array([[3, 4, -1, 3]], np.float16),
        np.array([[3, 4, -1, 3]], np.longdouble),
        np.array([[-np.inf, 4, -np.inf, -np.inf]]),
        np.array([[0, 1, 0, 0]], bool),
    ],
)
def test_numbers_of_every_kind(scores):
    before = scores.copy()
    several = ranked(scores, [{0, 3}], [set()])
    tied = int(scores[0, 2] == scores[0, 0])
    assert several == [[(2, tied), (3, tied)]]
    assert ranked(scores, [{3}], [{2}]) == [[(2, 1)]]
    assert ranked(scores, [{2}], [{1, 3}]) == [[(1 if tied else 2, tied)]]
    assert np.array_equal(scores, before)


@pytest.mark.parametrize("start", [2**53, -(2**53) - 2])
def test_whole_numbers_differ_where_doubles_of_them_do_not(start):
    scores = start + np.array([[0, 1, 2]])
    assert len(set(scores[0].astype(float))) < 3
    for item, rank in enumerate([3, 2, 1]):
        assert ranked(scores, [{item}], [set()]) == [[(rank, 0)]]


def test_nan_in_long_doubles_is_named():
    with pytest.raises(ValueError, match="got NaN for user 0, item 1"):
        predicted_ranks(np.array([[1, np.nan]], np.longdouble), [0])


def test_factors_of_other_kinds():
    rng = RNG(5)
    users, items = rng.integers(-3, 4, size=(9, 4)), rng.integers(-3, 4, size=(30, 4))
    relevant, exclude = some_sets(rng, 9, 30, 4)
    expected = by_hand(users, items, relevant, exclude, exact_scores(users, items))
    for kinds in [(np.int8, np.int64), (np.float16, np.float32), (np.float32, np.float64)]:
        scores = users.astype(kinds[0]), items.astype(kinds[1])
        assert ranked(scores, relevant, exclude) == expected
    assert (
        ranked((users[:, ::-1], np.asfortranarray(items)[:, ::-1]), relevant, exclude) == expected
    )


def test_however_scores_lie_in_memory():
    scores = RNG(8).integers(0, 9, size=(12, 30)).astype(float)
    relevant, exclude = some_sets(RNG(9), 12, 30, 4)
    expected = [standing(row.tolist(), *sets) for row, *sets in zip(scores, relevant, exclude)]
    strided = np.zeros((24, 90))
    strided[::2, ::3] = scores
    backwards = scores[::-1, ::-1].copy()[::-1, ::-1]
    for same in (np.asfortranarray(scores), strided[::2, ::3], backwards, scores.tolist()):
        before = np.array(same)
        assert ranked(same, relevant, exclude) == expected
        assert np.array_equal(same, before)


@pytest.mark.parametrize(
    "working_memory, n_users, share, norm", [(2, 60, 0, 1), (8, 60, 2e-4, 1), (4, 2, 5e-5, 3e6)]
)
def test_memory_is_bounded(working_memory, n_users, share, norm):
    """One relevant item each, or a share of 60,000 items."""
    rng = RNG(6)
    users = rng.normal(size=(n_users, 8)).astype(np.float32)
    items = np.repeat(rng.normal(size=(6_000, 8)), 10, axis=0).astype(np.float32)
    items[5] *= norm  # beside it, no other is clear of another
    relevant, exclude = rng.integers(0, 6_000, size=n_users), None
    if share:
        relevant = sparse.random(n_users, 60_000, density=share, format="csr", rng=rng)
        exclude = sparse.random(n_users, 60_000, density=0.01, format="csr", rng=rng)
        exclude = sparse.csr_matrix(exclude - exclude.multiply(relevant != 0))
        exclude.eliminate_zeros()
    predicted_ranks((users[:3], items), relevant[:3])  # what is imported on the way
    tracemalloc.start()
    ranks = predicted_ranks((users, items), relevant, exclude, working_memory=working_memory)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    beside = 60_000 * 20 + (0 if exclude is None else 5 * exclude.nnz)  # norms, copies of sets
    assert peak < working_memory * 2**20 + beside + 300 * len(ranks.rows.rank)


def test_several_threads_share_the_memory(three_threads):
    one, none = as_sets([{0}, {1}], 1000), as_sets([set(), set()], 1000)
    n_threads, numbers, n_left_out = standings._limits(one, none, 1)
    half = 2**20 / 2
    assert n_threads == 3
    assert half / 2 < n_threads * numbers * standings._BYTES <= half
    assert n_left_out == 2  # no more than there are
    # A user's excluded items are on one thread: of those there are no more than can hold them.
    many = as_sets([set(range(2, 502)), set()], 1000)
    assert standings._limits(one, many, 501 * 48 * 2 * 2 / 2**20)[0] == 2


def test_too_little_memory_is_refused_beforehand(monkeypatch):
    exclude = sparse.csr_matrix(np.arange(200_000)[None, :] > 1)
    pair = np.ones((1, 1)), np.ones((200_000, 1))
    message = (
        r"working_memory must be at least 19 \(MiB\) for a user with 199999 relevant and excluded "
        r"items, got 18\.25"
    )
    with pytest.raises(ValueError, match=message):
        predicted_ranks(pair, [0], exclude, working_memory=18.25)
    assert predicted_ranks(pair, [0], exclude, working_memory=19).ties.tolist() == [1]
    for wrong in (0, -1, np.nan, "much"):
        with pytest.raises(ValueError, match="working_memory must be a finite number above 0"):
            predicted_ranks([[1, 2]], [0], working_memory=wrong)
    monkeypatch.setattr("recsample._support.checks.available_memory", lambda: 1000.0)
    with pytest.raises(ValueError, match="ranking 2 relevant items takes .* GiB, and at most half"):
        predicted_ranks([[1, 2]] * 2, [0, 1])


def test_a_product_of_too_many_factors_bounds_nothing():
    """The theorem on its rounding, with the constant 1.01, is for few factors."""
    for length, bounded in ((80_000, True), (90_000, False)):
        one = np.ones((1, length), np.float32)
        assert standings.Product(one, one, np.float32).bounded == bounded


def test_blocks_of_users_hold_so_many_items_as_there_is_memory_for():
    ends = np.array([0, 5, 6, 7, 20, 21])
    assert list(standings._row_blocks(ends, 10, 7)) == [slice(0, 3), slice(3, 4), slice(4, 5)]
    assert list(standings._row_blocks(ends, 2, 100)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
