"""Where relevant items stand among all items, from factors: ours, peers, and what bounds them all.

Every contender gets the same factors in single precision, the same relevant items and the same 160
excluded items a user. What some do less of is said in the book: book/benchmarks.md.
"""

import os
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

import recsample as rs
from recsample import predicted_ranks
from recsample.ranks import thresholds

N_FACTORS, N_EXCLUDED = 64, 160
SIZES = [
    (6_040, 3_706),
    (300, 100_000),
    (1_000, 50_000),
    (100, 1_000_000),
    (1_000, 1_000_000),
    (50_000, 50_000),
]
THREADS = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
# Scores that a contender may form: the slow ones leave out the largest sizes, because all of it is
# to take less than four minutes.
LIMITS = {"implicit": 1e9, "recometrics": 1e8, "recometrics, with AUC": 3e7, "plain count": 1e9}
LIMITS |= {"argpartition": 1e8, "recsample, evaluate": 1e8}
SEVERAL = 1e8


@lru_cache(1)
def evaluation(n_users, n_items, n_relevant):
    """Factors, and disjoint sets of relevant and excluded items."""
    rng = np.random.default_rng(0)
    users = rng.normal(size=(n_users, N_FACTORS)).astype(np.float32)
    items = rng.normal(size=(n_items, N_FACTORS)).astype(np.float32)
    # The places of a user's items: distinct, and all over the catalogue.
    n = n_relevant + N_EXCLUDED
    places = rng.permuted(np.tile(np.arange(n), (n_users, 1)), axis=1) * (n_items // n)
    places += rng.integers(n_items // n, size=places.shape)
    sets = (np.sort(places[:, :n_relevant]), np.sort(places[:, n_relevant:]))
    return users, items, *(_as_matrix(one, n_items) for one in sets)


def _as_matrix(places, n_items):
    n_users, each = places.shape
    parts = np.ones(places.size, np.float32), places.ravel(), np.arange(n_users + 1) * each
    return sparse.csr_matrix(parts, shape=(n_users, n_items))


def product(users, items, relevant, exclude):
    """The product alone, in tiles that stay in the cache: each is forgotten at once."""
    if items.size <= 2**19:  # where the items stand side by side, it is faster
        items = np.asfortranarray(items)
    width = len(items) if len(items) <= 4096 else 1000
    height = 2**19 // width
    room = np.empty(height * width, np.float32)
    for i in range(0, len(users), height):
        for j in range(0, len(items), width):
            some, others = users[i : i + height], items[j : j + width].T
            out = room[: len(some) * others.shape[1]].reshape(len(some), -1)
            np.matmul(some, others, out=out)


def plain_count(users, items, relevant, exclude):
    """What one would write: blocks of users, comparing, and taking off what is not ranked."""
    n_relevant, left_out = relevant.indptr[1], sparse.csr_matrix(exclude + relevant)
    own_items = relevant.indices.reshape(-1, n_relevant)
    found = np.empty((2, *own_items.shape), np.int64)
    height = max(1, 2**20 // len(items))
    for start in range(0, len(users), height):
        rows = slice(start, start + height)
        scores = users[rows] @ items.T
        own = np.take_along_axis(scores, own_items[rows], axis=1)
        ends = left_out.indptr[start : start + len(scores) + 1]
        row = np.repeat(np.arange(len(scores)), np.diff(ends))
        others = scores[row, left_out.indices[ends[0] : ends[-1]]]
        for k, threshold in enumerate(own.T):
            for counts, compare in zip(found, (np.greater, np.equal)):
                counts[rows, k] = np.count_nonzero(compare(scores, threshold[:, None]), axis=1)
                counts[rows, k] -= np.bincount(
                    row[compare(others, threshold[row])], minlength=len(scores)
                )
    return found


def with_numpy(users, items, relevant, exclude):
    return _ours(users, items, relevant, exclude, np.inf)


def with_numba(users, items, relevant, exclude):
    return _ours(users, items, relevant, exclude, 0)


def _ours(users, items, relevant, exclude, worth):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "_WORTH_LOADING", worth)
        patch.setattr(thresholds, "_WORTH_LOADING_NUMBA", worth)
        one_each = relevant.nnz == len(users)
        return predicted_ranks((users, items), relevant.indices if one_each else relevant, exclude)


def with_evaluate(users, items, relevant, exclude):
    metrics = [rs.Recall @ 10, rs.NDCG @ 10]
    return rs.evaluate((users, items), relevant, train=exclude, metrics=metrics)


def argpartition(users, items, relevant, exclude):
    """The ten best, as most libraries find them: no ranks below."""
    found = np.empty((len(users), 10), np.int64)
    height = max(1, 2**20 // len(items))
    for start in range(0, len(users), height):
        scores = users[start : start + height] @ items.T
        part = exclude[start : start + height]
        scores[np.repeat(np.arange(len(scores)), np.diff(part.indptr)), part.indices] = -np.inf
        found[start : start + height] = np.argpartition(-scores, 10, axis=1)[:, :10]
    return found


def implicit(users, items, relevant, exclude):
    from implicit.cpu.matrix_factorization_base import MatrixFactorizationBase
    from implicit.evaluation import ranking_metrics_at_k

    class Factors(MatrixFactorizationBase):
        def fit(self, user_items, show_progress=True):
            raise NotImplementedError

        def save(self, file):
            raise NotImplementedError

    model = Factors()
    model.user_factors, model.item_factors, model.num_threads = users, items, THREADS
    return ranking_metrics_at_k(
        model, exclude, relevant, K=10, show_progress=False, num_threads=THREADS
    )


def recometrics(users, items, relevant, exclude, **more):
    from recometrics import calc_reco_metrics

    return calc_reco_metrics(
        exclude, relevant, users, items, k=10, nthreads=THREADS, as_df=False, **more
    )


def recometrics_with_auc(users, items, relevant, exclude):
    return recometrics(users, items, relevant, exclude, roc_auc=True)


CONTENDERS = {
    "product": product,
    "recsample, NumPy": with_numpy,
    "recsample, Numba": with_numba,
    "recsample, evaluate": with_evaluate,
    "argpartition": argpartition,
    "plain count": plain_count,
    "implicit": implicit,
    "recometrics": recometrics,
    "recometrics, with AUC": recometrics_with_auc,
}
NEEDED = {"recsample, Numba": "numba", "implicit": "implicit"} | dict.fromkeys(
    ["recometrics", "recometrics, with AUC"], "recometrics"
)


@pytest.mark.parametrize("n_relevant", [1, 20])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))
def test_exact_ranks(in_turns, size, n_relevant, scale):
    n_scores = size[0] * size[1]
    if n_relevant > 1 and n_scores > SEVERAL:
        pytest.skip("takes too long")
    contenders = {
        name: contender
        for name, contender in CONTENDERS.items()
        if n_scores <= LIMITS.get(name, np.inf) and find_spec(NEEDED.get(name, "numpy"))
    }
    given = evaluation(scale(size[0]), size[1], n_relevant)
    if "recsample, Numba" in contenders:
        with_numba(*evaluation.__wrapped__(20, 2_000, n_relevant))  # compiled and kept
    in_turns(contenders, *given, case="{:,} x {:,}".format(*size), relevant=n_relevant)


@pytest.mark.parametrize("n_relevant", [1, 20])
def test_contenders_agree(n_relevant):
    """The ranks are the same, but for what the plain count loses by rounding."""
    given = evaluation(500, 3_706, n_relevant)
    ours, plain = with_numpy(*given), plain_count(*given)
    if find_spec("numba"):
        assert ours == with_numba(*given)
    above = np.sort(ours.rows.above.reshape(500, -1), axis=1)
    assert (np.sort(plain[0], axis=1) == above).mean() > 0.99
    if find_spec("implicit"):
        at_10 = implicit(*given)
        assert at_10["precision"] == pytest.approx(_precision(ours, n_relevant), abs=0.01)


def _precision(ranks, n_relevant):
    """Of implicit: hits in the top 10 by how many there can be."""
    return (ranks.rows.rank <= 10).sum() / (len(ranks) * min(10, n_relevant))
