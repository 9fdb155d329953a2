"""What people do every day: lists, ties, a column of ranks, many recommenders, the first second."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recsample as rs

METRICS = ["ndcg@10", "recall@10", "mrr@100"]
MANY_METRICS = ["ndcg@10", "ndcg", "recall@10", "recall@50", "ap", "mrr", "auc"]
MANY_METRICS += ["precision@10", "f1@10", "ap@10"]


def lists(n_users, n_rows, n_items, n_relevant=3, seed=0):
    """Lists of the best items, best first, and held-out items of which about half are listed."""
    rng = np.random.default_rng(seed)
    step = n_items // n_rows
    items = np.arange(n_rows) * step + rng.integers(0, step, (n_users, n_rows))
    items = rng.permuted(items, axis=1)
    at = np.argsort(rng.random((n_users, n_rows)), axis=1)[:, :n_relevant]
    held = np.take_along_axis(items, at, axis=1)
    held = np.where(rng.random(held.shape) < 0.5, held, (held + 1) % n_items)
    users = np.arange(n_users)
    scores = {"user": np.repeat(users, n_rows), "item": items.ravel()}
    scores["score"] = np.tile(np.arange(n_rows, 0, -1.0), n_users)
    held_out = {"user": np.repeat(users, n_relevant), "item": held.ravel()}
    return pd.DataFrame(scores), pd.DataFrame(held_out).drop_duplicates()


def by_hand(scores, held_out):
    """What one would write with pandas: the least that starts from the same tables."""
    ranked = scores.sort_values(["user", "score"], ascending=[True, False], kind="stable")
    ranked = ranked.assign(rank=ranked.groupby("user").cumcount() + 1)
    hits = held_out.merge(ranked, on=["user", "item"])
    n = held_out.groupby("user").size()
    first = hits[hits["rank"] <= 10]
    gain = (1 / np.log2(first["rank"] + 1)).groupby(first["user"]).sum()
    best = (1 / np.log2(np.arange(2, 12))).cumsum()[n.clip(upper=10) - 1]
    ndcg = (gain.reindex(n.index, fill_value=0) / best).mean()
    recall = (first.groupby("user").size().reindex(n.index, fill_value=0) / n).mean()
    return ndcg, recall, (1 / hits.groupby("user")["rank"].min()).sum() / len(n)


def ours(scores, held_out, unlisted="missed", items=None, metrics=METRICS):
    found = rs.evaluate(scores, held_out, unlisted=unlisted, items=items, metrics=metrics)
    return found.table["value"].tolist()


def by_rectools(scores, held_out):
    from rectools.metrics import MRR, NDCG, Recall, calc_metrics

    names = {"user": "user_id", "item": "item_id"}
    ranked = scores.rename(columns=names)
    ranked = ranked.sort_values(["user_id", "score"], ascending=[True, False], kind="stable")
    ranked["rank"] = ranked.groupby("user_id").cumcount() + 1
    asked = {"ndcg": NDCG(10, divide_by_achievable=True), "recall": Recall(10), "mrr": MRR(100)}
    found = calc_metrics(asked, ranked, held_out.rename(columns=names))
    return [found[name] for name in asked]


def by_ranx(scores, held_out):
    import ranx

    judged, run = (
        one.astype({"user": str, "item": str}).astype({"user": object, "item": object})
        for one in (held_out.assign(score=1), scores)
    )
    judged = ranx.Qrels.from_df(judged, "user", "item", "score")
    run = ranx.Run.from_df(run, "user", "item", "score")
    found = ranx.evaluate(judged, run, METRICS, make_comparable=True)
    return [float(found[name]) for name in METRICS]


def by_ir_measures(scores, held_out):
    import ir_measures
    from ir_measures import RR, R, nDCG

    names = {"user": "query_id", "item": "doc_id"}
    text = {"query_id": str, "doc_id": str}
    run = scores.rename(columns=names).astype(text)
    judged = held_out.rename(columns=names).astype(text).assign(relevance=1)
    measures = [nDCG @ 10, R @ 10, RR @ 100]
    found = ir_measures.calc_aggregate(measures, judged, run)
    return [found[one] for one in measures]


@pytest.fixture(scope="module")
def peers():
    """Those that are installed, once called, because ranx compiles itself."""
    every = {"rectools": by_rectools, "ranx": by_ranx, "ir_measures": by_ir_measures}
    found = {name: contender for name, contender in every.items() if find_spec(name)}
    for contender in found.values():
        contender(*lists(20, 100, 2_000))
    return found


@pytest.mark.parametrize("n_users, n_rows", [(20_000, 100), (200_000, 50)])
def test_lists(in_turns, scale, peers, n_users, n_rows):
    scores, held_out = lists(scale(n_users), n_rows, 20_000)
    contenders = {"by hand": by_hand, "recsample": ours}
    if find_spec("polars"):
        import polars as pl

        tables = pl.from_pandas(scores), pl.from_pandas(held_out)
        contenders["recsample, Polars"] = lambda *_: ours(*tables)
    slow = () if n_users == 20_000 else ("ranx", "ir_measures")
    contenders |= {name: peer for name, peer in peers.items() if name not in slow}
    case = f"lists: {n_users:,} users x {n_rows}"
    found = in_turns(contenders, scores, held_out, case=case)
    for values in found.values():
        assert values == pytest.approx(found["by hand"], rel=1e-9)


def test_ties_behind_lists_whatever_the_catalogue(in_turns, scale):
    sizes = [2_000, 20_000, 200_000]
    tables = lists(scale(2_000), 100, 2_000)
    contenders = {
        f"{n:,} items": lambda n=n: ours(*tables, unlisted="below", items=n, metrics=["mrr"])
        for n in sizes
    }
    in_turns(contenders, case="ties behind lists: 2,000 users x 100")


def test_ties_behind_lists(in_turns, scale, peers):
    scores, held_out = lists(scale(20_000), 100, 20_000)
    metrics = ["ndcg@10", "recall@10", "mrr"]
    contenders = {"by hand": by_hand, "recsample": lambda *t: ours(*t, "below", 20_000, metrics)}
    in_turns(contenders | peers, scores, held_out, case="ties behind lists: 20,000 users x 100")


def test_a_split_at_a_time(in_turns, scale):
    """Of 301 users 192 are cold: all their items are tied. Some have hundreds of them."""
    rng = np.random.default_rng(0)
    n_users, n_items = scale(301), 1_682
    sizes = np.minimum(1 + rng.lognormal(3.6, 1.1, n_users).astype(int), n_items // 2)
    rows = [(u, i) for u, n in enumerate(sizes) for i in rng.choice(n_items, n, replace=False)]
    held_out = pd.DataFrame(rows, columns=["user", "item"])
    models = {
        f"model {seed}": lists(round(n_users * 0.36), 100, n_items, seed=seed)[0]
        for seed in range(4)
    }
    contenders = {
        "three held-out items": held_out.groupby("user").head(3),
        "all that came later": held_out,
    }
    calls = {
        name: lambda rows=rows: rs.evaluate(
            models, rows, unlisted="below", items=n_items, metrics=MANY_METRICS
        )
        for name, rows in contenders.items()
    }
    in_turns(calls, case="a split at a time: 4 models, 10 metrics")


@pytest.mark.parametrize("n", [10**4, 10**5, 10**6, 10**7])
def test_a_column_of_ranks(in_turns, scale, n):
    column = 1 + (101 * np.random.default_rng(0).random(scale(n)) ** 3).astype(np.int64)
    stated = {"n_items": 20_000, "drawn": "uniform"}
    contenders = {
        "numpy.bincount": lambda: np.bincount(column),
        "report": lambda: rs.report(column, m=100, **stated).table,
        "report of counts": lambda: rs.report(rs.RankCounts.of(column, 101), **stated).table,
    }
    found = in_turns(contenders, case=f"a column of ranks: {n:,}")
    pd.testing.assert_frame_equal(found["report"], found["report of counts"], rtol=1e-9)


def test_the_first_second(in_turns, tmp_path):
    path, rng = tmp_path / "ranks.csv", np.random.default_rng(0)
    pd.DataFrame({"rank": rng.integers(1, 102, 100)}).to_csv(path, index=False)
    command = ["-m", "recsample"]
    asked = ["report", str(path), "--m", "100", "--items", "3541", "--drawn", "uniform"]
    contenders = {
        "import numpy": ["-c", "import numpy"],
        "import recsample": ["-c", "import recsample"],
        "recsample --version": [*command, "--version"],
        "recsample --help": [*command, "--help"],
        "recsample report": [*command, *asked],
        "import pandas": ["-c", "import pandas"],
    }
    if find_spec("implicit"):
        contenders["import implicit.evaluation"] = ["-c", "import implicit.evaluation"]
    if find_spec("ranx"):
        contenders["import ranx"] = ["-c", "import ranx"]
    calls = {
        name: lambda given=given: subprocess.run(
            [sys.executable, *given], check=True, stdout=subprocess.DEVNULL
        )
        for name, given in contenders.items()
    }
    in_turns(calls, case="the first second")


def test_a_hundred_recommenders(in_turns, scale):
    rng, n_users = np.random.default_rng(0), scale(2_000)
    ranks = {f"model {i}": rng.integers(1, 301, n_users) for i in range(100)}
    scores = {name: np.zeros((n_users, 300), np.float32) for name in ranks}
    for name, one in ranks.items():
        scores[name] -= np.arange(300)
        scores[name][:, 0] = 0.5 - one
    held_out = np.zeros(n_users, int)

    def pairs_by_hand():
        """Means, and Student's test of each pair."""
        found = []
        for values in (1 / np.log2(1.0 + np.array([*ranks.values()])),) * 2:
            for i in range(len(values) - 1):
                found.append(stats.ttest_rel(values[i], values[i + 1 :], axis=1))
        return found

    metrics = ["recall@10", "ndcg@10"]
    contenders = {
        "Student's tests by SciPy": pairs_by_hand,
        "evaluate and print": lambda: str(rs.evaluate(scores, held_out, metrics=metrics)),
    }
    found = in_turns(contenders, case="100 recommenders, 4,950 pairs")
    assert len(found["evaluate and print"]) < 20_000
