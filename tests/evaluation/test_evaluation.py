"""`evaluate`, from dataframes of every library that is installed, against a count by hand."""

import copy
import json
import pickle
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from thorough import thorough

import recsample as rs
from recsample import AP, AUC, NDCG, Recall
from recsample._support.numerics import limits_of_means
from recsample.evaluation.rank import generators

RNG = np.random.default_rng
METRICS = [Recall @ 3, NDCG @ 3, AP, AUC]
N_USERS, N_ITEMS = 40, 25


def as_pandas(table):
    return table


def as_nullable(table):
    return table.convert_dtypes()


def as_categories(table):
    return table.astype({name: "category" for name in ("user", "item") if name in table})


def as_polars(table):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(table.to_dict("list"))


def as_lazy_polars(table):
    return as_polars(table).lazy()


def as_arrow(table):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table(table.to_dict("list"))


def as_duckdb(table):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    return duckdb.from_arrow(as_arrow(table))  # of the connection that lives as long as DuckDB


def as_dask(table):
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(table, npartitions=3)


def as_spark(table):
    return spark_session().createDataFrame(table)


@cache
def spark_session():
    sql = pytest.importorskip("pyspark.sql")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    try:
        return sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    except RuntimeError as error:
        pytest.skip(f"needs Java: {error}")


LIBRARIES = [
    as_pandas,
    as_nullable,
    as_categories,
    as_polars,
    as_lazy_polars,
    as_arrow,
    as_duckdb,
    # Narwhals says at every use that a plug-in of its own is to read Dask one day.
    pytest.param(as_dask, marks=pytest.mark.filterwarnings("ignore:Dask support is moving")),
    pytest.param(as_spark, marks=pytest.mark.filterwarnings("ignore:PySpark does not yet fully")),
]


def made_up(rng, n_relevant=1, share=1.0):
    """Tables in random order: scores of a share of the items with many ties, held-out, training."""
    users = [f"u{i}" for i in range(N_USERS)]
    items = [f"i{i}" for i in range(N_ITEMS)]
    held_out, train, scores = [], [], []
    for user in users:
        mixed = rng.permutation(items)
        held_out += [(user, item) for item in mixed[:n_relevant]]
        train += [(user, item) for item in mixed[n_relevant : n_relevant + rng.integers(0, 5)]]
        for item in items:
            if rng.random() < share:
                scores.append((user, item, float(rng.integers(0, 6))))
    tables = (
        pd.DataFrame(scores, columns=["user", "item", "score"]),
        pd.DataFrame(held_out, columns=["user", "item"]),
        pd.DataFrame(train, columns=["user", "item"]),
    )
    return tuple(one.sample(frac=1, random_state=int(rng.integers(1000))) for one in tables)


def by_hand(scores, held_out, train, metrics):
    """The mean of each metric: dictionaries, sorted lists, and all orders of ties by simulation."""
    every = sorted({*scores["item"], *held_out["item"], *train["item"]})
    known = {(u, i) for u, i in train[["user", "item"]].itertuples(index=False)}
    score = {(u, i): s for u, i, s in scores[["user", "item", "score"]].itertuples(index=False)}
    relevant = {}
    for user, item in held_out[["user", "item"]].itertuples(index=False):
        relevant.setdefault(user, set()).add(item)
    values = {str(m): {} for m in metrics}
    for user, mine in relevant.items():
        pool = [item for item in every if (user, item) not in known]
        of = {item: score.get((user, item), -np.inf) for item in pool}
        ranks, ties = [], []
        for item in mine:
            above = sum(of[other] > of[item] for other in pool)
            tied = sum(of[other] == of[item] for other in pool if other not in mine)
            # Relevant items of one score stand one after the other in the best case.
            before = sum(of[other] == of[item] and other < item for other in mine)
            ranks.append(1 + above + before)
            ties.append(tied)
        for metric in metrics:
            values[str(metric)][user] = metric(rs.Ranks([ranks], len(pool), ties=[ties]))[0]
    return values


@cache  # the same tables for every library
def counted_by_hand(n_relevant, share):
    tables = made_up(RNG(0), n_relevant, share)
    return tables, by_hand(*tables, METRICS)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("n_relevant", "share"), [(1, 1.0), (3, 0.4)])
def test_any_dataframe_gives_what_a_count_by_hand_gives(library, n_relevant, share):
    tables, expected = counted_by_hand(n_relevant, share)
    scores, held_out, train = map(library, tables)
    # A share of all scores is no list of the best: the others are counted as tied below.
    found = rs.evaluate({"one": scores}, held_out, train=train, metrics=METRICS, unlisted="below")
    for metric, values in expected.items():
        exact = list(values.values())
        row = found.table.loc[("one", metric)]
        assert row["value"] == pytest.approx(np.mean(exact), abs=1e-12)
        low, high = stats.t.interval(0.95, len(exact) - 1, np.mean(exact), stats.sem(exact))
        assert high - low < row["high"] - row["low"]
        assert 0 <= row["low"] < row["value"] < row["high"] <= 1
    each = found.per_instance.set_index(["metric", "user"])["value"].to_dict()
    for metric, values in expected.items():
        for user, value in values.items():
            assert each[metric, user] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_any_dataframe_of_ranks_is_read(library):
    """Two relevant items for every third user; by name, as some libraries keep no order."""
    rng = RNG(9)
    rows = [(f"u{i}", 20 * j + int(rng.integers(1, 20)), i % 4) for i in range(30)
            for j in range(1 + (i % 3 == 0))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["user", "place", "ties"]).sample(frac=1, random_state=0)
    found = rs.Ranks.from_frame(library(table), 99, rank="place")
    ranks = found[np.argsort(found.ids)]
    for name, values, ties in zip(ranks.ids, ranks.values, ranks.ties):
        mine = table[table["user"] == name]
        assert sorted(values.tolist()) == sorted(mine["place"])
        assert sorted(ties.tolist()) == sorted(mine["ties"])


@pytest.mark.parametrize("kind", [int, np.int8, np.uint16, float])
def test_ids_may_be_numbers_of_any_type(kind):
    tables = [one.copy() for one in made_up(RNG(1))]
    named = rs.evaluate(tables[0], tables[1], train=tables[2], metrics=METRICS)
    for table in tables:
        for name in ("user", "item"):
            table[name] = table[name].str[1:].astype(int).astype(kind)
    found = rs.evaluate(tables[0], tables[1], train=tables[2], metrics=METRICS)
    pd.testing.assert_frame_equal(found.table, named.table, rtol=1e-12)


def test_ids_may_be_anything_that_can_be_told_apart():
    import uuid

    tables = [one.copy() for one in made_up(RNG(2))]
    named = rs.evaluate(tables[0], tables[1], train=tables[2], metrics=METRICS)
    for table in tables:
        table["user"] = [uuid.uuid5(uuid.NAMESPACE_DNS, one) for one in table["user"]]
        table["item"] = [pd.Timestamp("2020-01-01", tz="UTC") + pd.Timedelta(days=int(one[1:]))
                         for one in table["item"]]  # fmt: skip
    found = rs.evaluate(tables[0], tables[1], train=tables[2], metrics=METRICS)
    pd.testing.assert_frame_equal(found.table, named.table, rtol=1e-12)


class Model:
    """What a fitted model of scikit-learn's kind looks like."""

    def __init__(self, scores):
        self._scores = scores

    def scores(self, users):
        return self._scores[users]


@cache  # nobody changes them
def numbered(n_relevant=1):
    """Factors, their scores as a table, and held-out and training items as numbers."""
    rng = RNG(3)
    users = rng.integers(-2, 3, (N_USERS, 3)).astype(float)
    items = rng.integers(-2, 3, (N_ITEMS, 3)).astype(float)
    dense = users @ items.T
    table = pd.DataFrame(
        [(u, i, dense[u, i]) for u in range(N_USERS) for i in range(N_ITEMS)],
        columns=["user", "item", "score"],
    )
    mixed = np.argsort(rng.random((N_USERS, N_ITEMS)), axis=1)
    held_out = sparse.lil_matrix((N_USERS, N_ITEMS))
    train = sparse.lil_matrix((N_USERS, N_ITEMS))
    for user in range(N_USERS):
        held_out[user, mixed[user, :n_relevant]] = 1
        train[user, mixed[user, n_relevant : n_relevant + 4]] = 1
    return users, items, dense, table, held_out.tocsr(), train.tocsr()


def frame_of(matrix):
    entries = matrix.tocoo()
    return pd.DataFrame({"user": entries.row, "item": entries.col})


@pytest.mark.parametrize("n_relevant", [1, 3])
def test_arrays_factors_and_models_give_what_their_table_gives(n_relevant):
    users, items, dense, table, held_out, train = numbered(n_relevant)
    expected = rs.evaluate(table, frame_of(held_out), train=frame_of(train), metrics=METRICS).table
    for scores in (dense, (users, items), Model(dense)):
        for relevant, known in ((held_out, train), (frame_of(held_out), frame_of(train))):
            found = rs.evaluate(scores, relevant, train=known, metrics=METRICS).table
            pd.testing.assert_frame_equal(found, expected, rtol=1e-12)
    if n_relevant == 1:
        found = rs.evaluate(dense, held_out.indices, train=train, metrics=METRICS)
        pd.testing.assert_frame_equal(found.table, expected, rtol=1e-12)


@pytest.mark.parametrize(("n_relevant", "library"), [thorough(1, as_polars), (3, as_pandas)])
def test_kinds_of_scores_may_be_mixed(n_relevant, library):
    """Where one is a table, an array's users and items have their positions as ids."""
    users, items, dense, table, held_out, train = numbered(n_relevant)
    best = table[table["score"] > 0]
    models = {
        "list": library(best),
        "array": -dense,
        "factors": (users, items),
        "table": library(table),
        "object": Model(dense % 3),
    }
    matrices, tables = (held_out, train), (library(frame_of(held_out)), frame_of(train))
    for sampler, (relevant, known), metrics in (
        (None, matrices, [AP, AUC]),
        (None, tables, [AP]),
        (rs.UniformSampling(6), tables, [AUC]),
    ):
        options = {"train": known, "metrics": metrics, "among": sampler, "unlisted": "below"}
        together = rs.evaluate(models, relevant, **options)
        for name, scores in models.items():
            every = range(N_ITEMS) if name in ("list", "table") else None
            alone = rs.evaluate({name: scores}, relevant, items=every, **options)
            pd.testing.assert_frame_equal(together.table.loc[[name]], alone.table)
            mine = together.per_instance.query("recommender == @name").reset_index(drop=True)
            pd.testing.assert_frame_equal(mine, alone.per_instance)


def test_a_table_beside_an_array_names_users_and_items_as_the_array_does():
    _, _, dense, table, held_out, _ = numbered()
    named = table.assign(item="i" + table["item"].astype(str))
    with pytest.raises(ValueError, match="scores of 'b' must name items as the other tables do"):
        rs.evaluate({"a": dense, "b": named}, held_out)
    beyond = table.assign(item=table["item"] + 1)
    with pytest.raises(ValueError, match="scores of 'b' must number items from 0 to 24"):
        rs.evaluate({"a": dense, "b": beyond}, held_out)


def test_implicit_s_factors_and_the_package_s_own_recommenders():
    pytest.importorskip("implicit")
    data = rs.datasets.make_interactions(n_users=60, n_items=50, n_events=1500, rng=0)
    x = rs.recommenders.MatrixFactorization(n_factors=4).fit(data.train)
    models = {"object": x, "factors": (x.user_factors, x.item_factors)}
    found = rs.evaluate(models, data.held_out, train=data.train, metrics=METRICS)
    ranks = x.ranks(data)
    for metric in METRICS:
        for name in models:
            value = found.table.loc[(name, str(metric)), "value"]
            assert value == pytest.approx(metric(ranks).mean(), abs=1e-9)


def test_held_out_items_with_an_index_belong_to_the_users_there():
    _, _, dense, table, held_out, train = numbered()
    items = pd.Series(held_out.indices).sample(frac=1, random_state=1)
    expected = rs.evaluate(dense, held_out, train=train, metrics=METRICS)
    for scores in (dense, table):
        found = rs.evaluate(scores, items, train=train, metrics=METRICS)
        pd.testing.assert_frame_equal(found.table, expected.table)
    part = rs.evaluate(dense, items[items.index < 9], train=train, metrics=["AP"]).per_instance
    each = expected.per_instance.query("metric == 'AP'").iloc[:9]
    pd.testing.assert_frame_equal(part, each.reset_index(drop=True))
    with pytest.raises(ValueError, match="held_out must number users from 0 to 39, .* got 40"):
        rs.evaluate(dense, items.rename(lambda user: user + 1), train=train)
    named = made_up(RNG(4))
    by_user = named[1].set_index("user")["item"]
    assert rs.evaluate(named[0], by_user, train=named[2]) == rs.evaluate(
        named[0], named[1], train=named[2]
    )


def test_several_recommenders_in_one_table():
    scores, held_out, train = made_up(RNG(4))
    other = scores.assign(score=-scores["score"])
    together = pd.concat([scores.assign(model="b"), other.assign(model="a")])
    for library in (as_pandas, as_lazy_polars):
        found = rs.evaluate(library(together), library(held_out), train=library(train))
        expected = rs.evaluate({"a": other, "b": scores}, held_out, train=train)
        pd.testing.assert_frame_equal(found.table, expected.table)
        pd.testing.assert_frame_equal(found.pairs, expected.pairs)


def test_pairs_are_those_of_the_differences():
    scores, held_out, train = made_up(RNG(5))
    other = scores.assign(score=-scores["score"])
    third, fourth = scores.assign(score=0.0), scores.assign(score=scores["score"] % 3)
    models = {"a": scores, "b": other, "c": third, "d": fourth}
    found = rs.evaluate(models, held_out, train=train, metrics=["AUC"])
    each = found.per_instance.pivot(index="user", columns="recommender", values="value")
    alone = rs.evaluate({"a": scores, "b": other}, held_out, train=train, metrics=["AUC"])
    tried = set()
    for result, n_pairs in ((found, 6), (alone, 1)):
        for a, b in combinations(result.table.index.unique(0), 2):
            tried.add(n_pairs)
            row, off = result.pairs.loc[(a, b, "AUC")], (each[a] - each[b]).to_numpy()
            low, high, above = limits_of_means(off[None], 1 - 0.05 / n_pairs, (-1.0, 1.0))
            assert row["difference"] == pytest.approx(off.mean())
            assert row["probability"] == pytest.approx(above[0], abs=1e-7)
            assert row["low"] in (0, pytest.approx(low[0], abs=1e-7))
            assert row["high"] in (0, pytest.approx(high[0], abs=1e-7))
    assert tried == {1, 6}


class TestWhatDoesNotMatch:
    """Nothing is dropped in silence: each case is counted, and the rest is as without it."""

    @classmethod
    def setup_class(cls):
        cls.scores, cls.held_out, cls.train = made_up(RNG(6))
        cls.clean = cls().evaluated()

    def evaluated(self, scores=None, held_out=None, train=None, **options):
        parts = [self.scores if scores is None else scores]
        parts.append(self.held_out if held_out is None else held_out)
        known = self.train if train is None else train
        return rs.evaluate({"one": parts[0]}, parts[1], train=known, metrics=METRICS, **options)

    def counted(self, found, what, name="", said=True):
        """How often it is counted, once it is seen that the note says so."""
        rows = [key for key in found.counts.index if key[0] == name and key[1].startswith(what)]
        (key,) = rows
        n = int(found.counts.loc[key, "count"])
        assert any(what in note and note.endswith(f": {n:,}") for note in found.notes) == (
            n > 0 and said
        )
        return n

    def same(self, found):
        pd.testing.assert_frame_equal(found.table, self.clean.table)

    def test_a_held_out_pair_twice(self):
        found = self.evaluated(held_out=pd.concat([self.held_out, self.held_out.iloc[:3]]))
        assert self.counted(found, "held-out rows that repeat") == 3
        self.same(found)

    def test_a_held_out_item_in_train(self):
        also = pd.concat([self.train, self.held_out.iloc[:2]])
        found = self.evaluated(train=also)
        assert self.counted(found, "held-out items that the user has in train") == 2
        assert self.counted(found, "users without any other held-out item") == 2
        kept = self.held_out.iloc[2:]
        without = self.train[self.train["user"].isin(kept["user"])]
        everything = sorted({*self.scores["item"], *self.train["item"], *self.held_out["item"]})
        self.clean = self.evaluated(held_out=kept, train=without, items=everything)
        self.same(found)

    def test_a_score_of_nobody_for_nothing_is_counted_once(self):
        more = pd.DataFrame({"user": ["nobody", "u0"], "item": ["nothing"] * 2, "score": [1.0] * 2})
        every = [f"i{i}" for i in range(N_ITEMS)]
        found = self.evaluated(scores=pd.concat([self.scores, more]), items=every)
        assert self.counted(found, "scores of users who are not", "one", said=False) == 1
        assert self.counted(found, "scores of items that are not in items", "one") == 1
        self.same(found)

    def test_scores_of_items_in_train_play_no_part(self):
        known = self.scores.merge(self.train)
        what = "scores of items in train"
        assert self.counted(self.clean, what, "one", said=False) == len(known) > 0
        without = self.scores.merge(self.train, how="left", indicator=True)
        without = without[without["_merge"] == "left_only"].drop(columns="_merge")
        found = self.evaluated(scores=without)
        assert self.counted(found, "scores of items in train", "one") == 0
        self.same(found)

    def test_scores_of_minus_infinity_are_as_no_scores(self):
        best = self.scores["score"] > 2
        masked = self.scores.assign(score=self.scores["score"].where(best, -np.inf))
        for word in ("below", "open"):
            found = self.evaluated(scores=masked, unlisted=word)
            listed = self.evaluated(scores=self.scores[best], unlisted=word)
            pd.testing.assert_frame_equal(found.table, listed.table)
            assert found.head == listed.head

    def test_users_without_any_score(self):
        found = self.evaluated(scores=self.scores[self.scores["user"] != "u7"], unlisted="below")
        assert f"lists of 0 to {N_ITEMS} of " in found.footnote
        pool = N_ITEMS - (self.train["user"] == "u7").sum()
        each = found.per_instance.set_index(["user", "metric"])["value"]
        assert each["u7", "AUC"] == pytest.approx(0.5)
        assert each["u7", "Recall@3"] == pytest.approx(3 / pool)

    def test_training_items_that_nothing_else_knows_are_in_the_catalogue(self):
        users = sorted(set(self.train["user"]))[:2]
        few = pd.DataFrame({"user": users, "item": ["old", "older"]})
        train = pd.concat([self.train, few])
        with pytest.raises(ValueError, match="^unlisted must say .* got None for lists of"):
            self.evaluated(train=train)
        every = [*(f"i{i}" for i in range(N_ITEMS)), "old", "older"]
        stated = self.evaluated(train=train, items=every, unlisted="below")
        pd.testing.assert_frame_equal(
            self.evaluated(train=train, unlisted="below").table, stated.table
        )
        known = self.evaluated(train=train, items=every[:-2])
        assert self.counted(known, "training rows of items that are not in items") == 2
        self.same(known)
        other = self.train.assign(item="item " + self.train["item"].str[1:])
        with pytest.raises(ValueError, match="^train must hold items that another table knows"):
            self.evaluated(train=other)

    def test_held_out_items_that_nothing_else_knows(self):
        other = self.held_out.assign(item="x" + self.held_out["item"])
        if other["item"].nunique() < 20:
            other["item"] += other["user"]
        with pytest.raises(ValueError, match="^held_out must hold items that another table knows"):
            self.evaluated(held_out=other)

    @pytest.mark.parametrize("what", ["user", "item"])
    def test_ids_that_only_white_space_or_case_tells_apart(self, what):
        for other in (self.scores[what] + " ", "\u00a0" + self.scores[what],
                      self.scores[what].str.upper()):  # fmt: skip
            with pytest.raises(
                ValueError, match=f"ids of {what}s as the other tables do, got .* by case, white"
            ):
                self.evaluated(scores=self.scores.assign(**{what: other}))
        one = f"{what[0]}3"
        part = self.scores[what].where(self.scores[what] != one, one + ".0")
        found = self.evaluated(scores=self.scores.assign(**{what: part}), unlisted="below")
        told = f"ids of {what}s in scores of 'one' that only case, white space, the form of "
        told += "letters or .0 tells from"
        assert self.counted(found, told) == 1

    def test_items_may_be_named(self):
        every = [f"i{i}" for i in range(N_ITEMS)]
        self.same(self.evaluated(items=every))
        few = sorted({*self.held_out["item"]})
        found = self.evaluated(items=few)
        out = ~self.scores["item"].isin(few)
        assert self.counted(found, "scores of items that are not in items", "one") == out.sum()
        more = self.evaluated(items=[*every, "new", "newer"], unlisted="below")
        at_most = more.per_instance.query("metric == 'AUC'")["value"].to_numpy()
        assert (at_most > self.clean.per_instance.query("metric == 'AUC'")["value"]).all()
        with pytest.raises(
            ValueError, match=r"items must hold all held-out items, got \d+ of 40 rows"
        ):
            self.evaluated(items=few[1:])


def test_the_lowest_of_all_numbers_is_a_score():
    """The held-out item has it: ahead of what has none, behind what has a higher one."""
    scores = pd.DataFrame(
        {"user": [1, 1], "item": [7, 8], "score": [-np.finfo(float).max, -(10.0**308)]}
    )
    held_out = pd.DataFrame({"user": [1], "item": [7]})
    stated = {"items": [7, 8, 9, 10], "unlisted": "below"}
    found = rs.evaluate(scores, held_out, **stated, metrics=["AP", "AUC"])
    assert found.table["value"].tolist() == pytest.approx([1 / 2, 2 / 3])


@pytest.mark.parametrize(
    ("sampler", "seed"),
    [
        (rs.UniformSampling(m=15), lambda: 2),
        thorough(rs.UniformSampling(m=15), lambda: RNG(2)),
        (rs.PooledSampling(m=15), lambda: np.random.RandomState(2)),
    ],
)
def test_what_is_drawn_for_a_recommender_depends_on_no_other(sampler, seed):
    _, _, dense, _, held_out, train = numbered()

    def table(names):
        found = rs.evaluate(
            {name: dense for name in names},
            held_out,
            train=train,
            metrics=["AUC"],
            among=sampler,
            rng=seed(),
        )
        return found.table.xs("AUC", level="metric")

    both = table(["ä", "b"])
    pd.testing.assert_frame_equal(table(["b", "c", "ä"]).loc[["ä", "b"]], both)
    pd.testing.assert_frame_equal(table(["b"]), both.loc[["b"]])
    # The same scores, with negatives of their own.
    assert both["value"].nunique() == 2


def test_random_numbers_by_name_are_the_same_everywhere():
    found = generators(["ä", "b", "\udcff"], RNG(0))
    assert [one.integers(10**6) for one in found.values()] == [420459, 709810, 266395]


@pytest.mark.parametrize("replace", [False, True])
def test_draws_are_reported_as_they_were_made(replace):
    _, _, dense, _, held_out, train = numbered()
    ranks = rs.predicted_ranks(dense, held_out.indices, train)
    sampler = rs.UniformSampling(m=15, replace=replace)
    found = rs.evaluate(dense, held_out, train=train, metrics=["AP"], among=sampler, rng=2)
    run = sampler.draw(ranks, rng=2)
    expected = rs.report(run, n_items=ranks.sizes, metrics=["AP"], replace=replace)
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert found.head == expected.head


@dataclass(frozen=True)
class TheBetter(rs.sampling.SumsOverLaw):
    """Each time two items are drawn with equal chances, and the better one is kept."""

    m: int
    how: str | None = None

    def law(self, n_items):
        above = np.arange(n_items)[:, None] / (n_items - 1)
        return stats.binom.pmf(np.arange(self.m + 1), self.m, 1 - (1 - above) ** 2)

    def draw(self, ranks, rng):
        rng = np.random.default_rng(rng)
        above = ranks.break_ties("random", rng).rows.above / ranks.n_irrelevant
        found = ranks.at(1 + rng.binomial(self.m, 1 - (1 - above) ** 2), n_items=self.m + 1)
        return found if self.how is None else found.drawn_as(self.how, True)


def test_a_sampler_of_ones_own_draws_and_its_draws_are_those_that_it_says():
    _, _, dense, table, held_out, train = numbered()
    known = {"train": train, "metrics": [AP, AUC]}
    ranks = rs.predicted_ranks(dense, held_out.indices, train)
    unknown = rs.evaluate(dense, held_out, among=TheBetter(9), **known)
    assert unknown.table["value"].isna().all() and "'unknown'" in unknown.footnote
    assert "because an item may have been drawn twice" in unknown.sentences[0]
    expected = TheBetter(9).expect(AUC, ranks)
    off = unknown.table.loc["AUC", "sampled"] - expected.mean()
    assert abs(off) < 5 * TheBetter(9).std_of_mean(AUC, ranks)
    popular = rs.evaluate(dense, held_out, among=TheBetter(9, "popular"), **known)
    assert "'popular'" in popular.footnote
    uniform = rs.evaluate(dense, held_out, among=TheBetter(9, "uniform"), **known)
    assert "drawn with replacement" in uniform.head and uniform.table["low"].notna().all()
    with pytest.raises(ValueError, match="^among must be .*, a sampler such as .* got InverseS"):
        rs.evaluate(dense, held_out, among=rs.InverseSampling(), **known)


class TestMessagesSpeakOfEvaluate:
    """What is refused deep below names an argument of `evaluate`."""

    def setup_method(self):
        _, _, self.dense, self.table, self.held_out, self.train = numbered()

    def test_more_items_than_there_are(self):
        sampler = rs.UniformSampling(21)
        wanted = "^among must draw at most 20 items, .* for user 0 .*, got 21$"
        with pytest.raises(ValueError, match=wanted):
            rs.evaluate(self.dense, self.held_out, train=self.train, among=sampler)

    def test_one_user(self):
        with pytest.raises(ValueError, match=r"^held_out must leave at least two users .* drawn"):
            rs.evaluate(self.dense[:1], [3], among=rs.UniformSampling(5))
        lists = pd.DataFrame({"user": [0, 0], "item": [4, 5]})
        with pytest.raises(ValueError, match=r"^held_out must leave at least two .* drawn"):
            rs.evaluate(self.dense[:1], [3], among=lists, drawn="uniform")
        alone = rs.evaluate(self.dense[:1], [3]).table
        assert (alone["low"] <= alone["value"]).all() and "nan" not in str(alone)

    @pytest.mark.parametrize(
        "empty",
        [
            sparse.csr_matrix((N_USERS, N_ITEMS)),
            pd.DataFrame({"user": [], "item": []}),
            pd.DataFrame({"user": [], "item": []}, dtype=object),
        ],
    )
    def test_nobody_has_to_know_anything(self, empty):
        for scores in (self.dense, self.table):
            found = rs.evaluate(scores, self.held_out, train=empty)
            assert found == rs.evaluate(scores, self.held_out)

    @pytest.mark.parametrize("shape", [(N_USERS, N_ITEMS - 1), (N_USERS + 1, N_ITEMS), (3, 3)])
    def test_matrices_of_other_users_or_items(self, shape):
        other = sparse.csr_matrix(([1.0], ([0], [0])), shape)
        for scores in (self.dense, Model(self.dense), self.table):
            with pytest.raises(ValueError, match=r"^train must have the same users and items as"):
                rs.evaluate(scores, self.held_out, train=other)
        with pytest.raises(ValueError, match=r"^held_out must have the same users and items as"):
            rs.evaluate(self.dense, other)

    def test_another_number_of_items_than_of_columns(self):
        wanted = "^items must be their number, as many as scores have columns, 25, .*, got 26"
        with pytest.raises(ValueError, match=wanted):
            rs.evaluate(self.dense, self.held_out, items=26)

    def test_a_metric_that_nobody_knows(self):
        with pytest.raises(ValueError, match=r"^metrics must hold metrics .*, got 'ncdg'"):
            rs.evaluate(self.dense, self.held_out, metrics=["ncdg"])

    def test_a_correction(self):
        correction = rs.MinimalBias(AP, rs.UniformSampling(5), N_ITEMS)
        for sampler in (None, rs.UniformSampling(5)):
            with pytest.raises(ValueError, match=r"^metrics must hold no corrections"):
                rs.evaluate(self.dense, self.held_out, metrics=[correction], among=sampler)
        run = rs.Ranks([1, 2, 3], 6)
        with pytest.raises(ValueError, match=r"^metrics must hold no corrections"):
            rs.report(run, n_items=N_ITEMS, metrics=[correction])


def test_items_and_their_scores_are_no_factors():
    dense = RNG(1).normal(size=(N_USERS, N_ITEMS))
    best = np.argsort(-dense, axis=1)[:, :5]
    scores = np.take_along_axis(dense, best, axis=1)
    with pytest.raises(ValueError, match="^scores must be a pair of factors, got whole numbers"):
        rs.evaluate((best, scores), np.zeros(N_USERS, int), metrics=["RR"])


class TestRelevance:
    """A column that may say which rows are relevant has to be spoken of."""

    @classmethod
    def setup_class(cls):
        cls.scores, cls.held_out, cls.train = made_up(RNG(13), n_relevant=3)
        cls.first = np.arange(len(cls.held_out)) % 3 > 0
        cls.expected = cls().evaluated(cls.held_out[cls.first])
        cls.of_every_row = cls().evaluated(cls.held_out)

    def evaluated(self, held_out, **options):
        every = [f"i{i}" for i in range(N_ITEMS)]
        asked = {"train": self.train, "metrics": METRICS, "items": every}
        return rs.evaluate(self.scores, held_out, **asked | options)

    @pytest.mark.parametrize("library", [as_pandas, as_lazy_polars, as_arrow])
    @pytest.mark.parametrize("name", ["label", "is_click", *map(thorough, ("long view", "y_true"))])
    def test_each_answer(self, library, name):
        for grades in (self.first, self.first * 4.0, self.first * 2 - 1):
            table = library(self.held_out.assign(**{name: grades}))
            ask = f"^relevance must say what .* relevance='{name}' if .*, else relevance=None"
            with pytest.raises(ValueError, match=ask):
                self.evaluated(table)
            found = self.evaluated(table, relevance=name)
            pd.testing.assert_frame_equal(found.table, self.expected.table)
            left_out = f"held-out rows that are not relevant by {name!r}, left out"
            assert found.counts.loc[("", left_out), "count"] == (~self.first).sum()
        every = self.evaluated(table, relevance=None)
        pd.testing.assert_frame_equal(every.table, self.of_every_row.table)

    def test_what_needs_no_answer(self):
        days = np.arange(len(self.held_out))
        for more in ({"label": 1}, {"label": True}, {"index": days}, {"time": 1e9 + days // 2}):
            found = self.evaluated(self.held_out.assign(**more))
            assert found == self.of_every_row

    def test_what_is_refused(self):
        stars = self.held_out.assign(stars=np.arange(len(self.held_out)) % 3)
        twice = pd.concat([stars, stars.assign(stars=stars["stars"] * 2)])
        with pytest.raises(ValueError, match="^relevance must give each pair .* got 1 and 2 for"):
            self.evaluated(twice, relevance="stars")
        with pytest.raises(ValueError, match="must say by numbers, .* is relevant, got inf in row"):
            self.evaluated(stars.assign(stars=np.inf), relevance="stars")
        with pytest.raises(ValueError, match="^relevance must name a column with a grade above 0"):
            self.evaluated(stars.assign(stars=0), relevance="stars")
        with pytest.raises(ValueError, match="must say by numbers, or by true and false, what is"):
            self.evaluated(stars.assign(stars="yes"), relevance="stars")
        with pytest.raises(ValueError, match="^relevance must be a column of held_out or of train"):
            self.evaluated(stars, relevance="x")
        with pytest.raises(ValueError, match="^relevance must be None where held_out is no datafr"):
            rs.evaluate(np.eye(3), [0, 1, 2], relevance="x")


def test_whole_numbers_that_floats_would_tie_keep_their_order_or_are_refused():
    scores = 2**60 + np.arange(12).reshape(3, 4)
    lists = pd.DataFrame({"user": [0, 1, 2], "item": [1, 0, 0]})
    for kind in (np.int64, np.uint64):
        table = lists.assign(score=np.array([1, 2, 2**60], kind))
        with pytest.raises(ValueError, match="on either side, got 1152921504606846976"):
            rs.evaluate(table, lists)
    exact = rs.evaluate(scores - 2**60, [0, 1, 2])
    for given in (scores, scores.astype(np.uint64), scores.tolist(), Model(scores)):
        held_out = pd.DataFrame({"user": [0, 1, 2], "item": [0, 1, 2]})
        assert rs.evaluate(given, held_out) == exact
        with pytest.raises(ValueError, match=r"^scores must be numbers that floats hold, up to 2"):
            rs.evaluate(given, held_out, among=lists, drawn="uniform")
    with pytest.raises(ValueError, match=r"^scores must be numbers that floats hold, up to 2"):
        rs.evaluate((scores, np.ones((5, 4))), [0, 1, 2])


def test_what_is_no_table_is_told_what_to_pass(tmp_path):
    data = rs.datasets.make_interactions(60, 50, 1500, rng=0)
    scores = np.zeros((60, 50))
    with pytest.raises(ValueError, match="^held_out must .*: held_out.held_out is that part"):
        rs.evaluate(scores, data)
    with pytest.raises(ValueError, match="^train must .*: train.train is that part"):
        rs.evaluate(scores, data.held_out, train=data)
    for path in ("a.csv", tmp_path / "a.csv"):
        for given in ((path, data.held_out), (scores, path)):
            with pytest.raises(ValueError, match=r": pandas.read_csv\(\w+\) reads it"):
                rs.evaluate(*given)


class TestGivenNegatives:
    def tables(self, m=8):
        rng = RNG(10)
        scores, held_out, train = made_up(rng)
        known = set(map(tuple, [*train.to_numpy(), *held_out.to_numpy()]))
        rows = []
        for user in sorted(set(held_out["user"])):
            new = [f"i{i}" for i in range(N_ITEMS) if (user, f"i{i}") not in known]
            rows += [(user, item) for item in rng.choice(new, m, replace=False)]
        return scores, held_out, train, pd.DataFrame(rows, columns=["user", "item"])

    def test_ranks_are_those_among_the_lists(self):
        scores, held_out, train, lists = self.tables()
        found = rs.evaluate(
            scores, held_out, train=train, among=lists, drawn="uniform", metrics=METRICS
        )
        asked = pd.concat([lists, held_out])
        listed = scores.merge(asked)
        nothing = pd.DataFrame({"user": ["nobody"], "item": ["i0"]})
        values = {str(m): [] for m in METRICS}
        for user, mine in held_out.groupby("user"):
            part = listed[listed["user"] == user]
            one = by_hand(part, mine, nothing.assign(item=part["item"].iloc[0]), METRICS)
            for metric, value in one.items():
                values[metric] += list(value.values())
        for metric, value in values.items():
            assert found.table.loc[metric, "sampled"] == pytest.approx(np.mean(value), abs=1e-12)
        assert found.table["low"].notna().all()

    @pytest.mark.parametrize("block", [2**22, 3 * N_ITEMS])
    def test_factors_and_arrays_give_the_same(self, monkeypatch, block):
        monkeypatch.setattr("recsample.ranks.sources.BLOCK", block)
        users, items, dense, table, held_out, train = numbered()
        lists = rs.uniform_lists(8, (held_out + train).tocsr(), rng=0)
        lists = pd.DataFrame({"user": np.repeat(np.arange(N_USERS), 8), "item": lists.ravel()})
        tables = [
            rs.evaluate(
                one, held_out, train=train, among=lists, drawn="uniform", metrics=[AP, AUC]
            ).table
            for one in (dense, (users, items), Model(dense))
        ]
        for one in tables[1:]:
            pd.testing.assert_frame_equal(one, tables[0])
        given = rs.given_ranks(dense, held_out.indices, lists["item"].to_numpy().reshape(-1, 8))
        for metric in (AP, AUC):
            assert tables[0].loc[str(metric), "sampled"] == pytest.approx(metric(given).mean())

    def test_a_score_of_a_listed_item_that_is_nan_is_named(self):
        scores = RNG(0).random((3, 6))
        scores[1, 4] = np.nan
        lists = pd.DataFrame({"user": [0, 0, 1, 1, 2, 2], "item": [1, 2, 2, 4, 1, 3]})
        with pytest.raises(ValueError, match="got NaN for user 1, item 4"):
            rs.evaluate(scores, [0, 0, 0], among=lists, drawn="uniform", metrics=["AUC"])

    def test_what_should_not_be_listed_is_left_out_and_counted(self):
        scores, held_out, train, lists = self.tables()
        wrong = pd.concat([lists, lists.iloc[:2], held_out.iloc[:3], train.iloc[:4]])
        clean = rs.evaluate(
            scores, held_out, train=train, among=lists, drawn="uniform", metrics=METRICS
        )
        found = rs.evaluate(
            scores, held_out, train=train, among=wrong, drawn="uniform", metrics=METRICS
        )
        pd.testing.assert_frame_equal(found.table, clean.table)
        counts = found.counts["count"].droplevel("recommender")
        assert counts["rows of among that repeat another one, left out"] == 2
        assert counts["rows of among that are training items of the user, left out"] == 4

    @pytest.mark.parametrize(("p", "uniform"), [(0.7e-4, True), (0.4e-4, False)])
    def test_each_of_two_tests_has_half_of_the_chance_of_a_false_alarm(
        self, monkeypatch, p, uniform
    ):
        where = "recsample.evaluation.rank"
        monkeypatch.setattr(f"{where}.count_statistic", lambda *_: (0, 0, 0, 0, 0.5))
        monkeypatch.setattr(f"{where}.mean_statistic", lambda *_: (0, 0, 0, 0, p))
        scores, held_out, train, lists = self.tables()
        found = rs.evaluate(
            scores, held_out, train=train, among=lists, drawn="uniform", metrics=["AUC"]
        )
        assert found.table["value"].notna().all() == uniform

    def test_that_held_out_items_are_never_listed_is_no_surprise(self):
        held_out = np.zeros(200, int)  # the same for all
        relevant = sparse.csr_matrix((np.ones(200), (np.arange(200), held_out)), (200, 15))
        lists = pd.DataFrame(rs.uniform_lists(7, relevant, rng=0)).stack().droplevel(1)
        lists = lists.rename_axis("user").reset_index(name="item")
        scores = RNG(12).random((200, 15))
        found = rs.evaluate(scores, held_out, among=lists, drawn="uniform", metrics=["AUC"])
        assert found.table["value"].notna().all()


class TestResult:
    @classmethod
    def setup_class(cls):
        cls.scores, cls.held_out, cls.train = made_up(RNG(11))
        other = cls.scores.assign(score=-cls.scores["score"])
        cls.models = {"a": cls.scores, "b_%": other}
        cls.found = rs.evaluate(cls.models, cls.held_out, train=cls.train, metrics=METRICS)
        cls.segment = {f"u{i}": ("even", "odd")[i % 2] for i in range(N_USERS)}
        every = sorted({*cls.scores["item"], *cls.train["item"], *cls.held_out["item"]})
        options = {"train": cls.train, "metrics": METRICS, "items": every}
        cls.alone = {
            name: rs.evaluate(cls.models, part, **options).table
            for name, part in cls.held_out.groupby(cls.held_out["user"].map(cls.segment))
        }

    @pytest.mark.parametrize("library", [as_pandas, as_polars, "mapping", "list"])
    def test_segments_are_as_if_evaluated_alone(self, library):
        names = self.segment
        table = pd.DataFrame({"who": list(names), "what": list(names.values())})
        order = self.found.per_instance["user"].iloc[:N_USERS]
        given = {"mapping": names, "list": [names[one] for one in order]}
        found = self.found.by(given[library] if isinstance(library, str) else library(table))
        assert found.index.unique("segment").tolist() == list(self.alone) == ["even", "odd"]
        for segment, alone in self.alone.items():
            part = found.loc[segment]
            pd.testing.assert_frame_equal(part[["value", "low", "high"]], alone)
            assert (part["users"] == N_USERS // 2).all()

    def test_segments_with_an_index_are_matched_by_it(self):
        names = pd.Series(self.segment)
        expected = self.found.by(names.to_dict())
        more = pd.concat([names.sample(frac=1, random_state=3), pd.Series({"nobody": "odd"})])
        pd.testing.assert_frame_equal(self.found.by(more).loc[["even"]], expected.loc[["even"]])
        pd.testing.assert_frame_equal(self.found.by(more).loc[["odd"]], expected.loc[["odd"]])
        with pytest.raises(ValueError, match="segments must hold every user, got none for 'u7'"):
            self.found.by(names.drop("u7"))
        twice = pd.concat([names, names[["u7"]]])
        pd.testing.assert_frame_equal(self.found.by(twice), self.found.by(names))
        with pytest.raises(ValueError, match="segments must hold each user once, .* two for 'u7'"):
            self.found.by(pd.concat([names, pd.Series({"u7": "another"})]))
        with pytest.raises(ValueError, match="segments must hold every user, got none for"):
            self.found.by(names.reset_index(drop=True))

    @pytest.mark.parametrize("none", [None, np.nan, pd.NA, pd.NaT])
    def test_segments_must_be_known(self, none):
        found = rs.report([1, 2, 1, 3], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        with pytest.raises(ValueError, match="segments must hold every user, got .* for 2"):
            found.by(["new", "new", none, none])

    def test_segments_of_sampled_runs(self):
        sampler = rs.UniformSampling(m=6)
        found = rs.evaluate(
            self.scores, self.held_out, train=self.train, metrics=["AP"], among=sampler
        )
        apart = found.by([1, "1"] * (N_USERS // 2))
        assert apart.index.unique("segment").tolist() == [1, "1"]
        parts = found.by(["x", "y"] * (N_USERS // 2))
        pairs = self.found.by(["x", "y"] * (N_USERS // 2), "pairs")
        alone = self.found.by(["x", "y"] * (N_USERS // 2)).loc["x"]
        assert pairs.index.names == ["segment", "a", "b", "metric"]
        apart = alone.loc["a", "value"] - alone.loc["b_%", "value"]
        np.testing.assert_allclose(pairs.loc[("x", "a", "b_%"), "difference"], apart, atol=1e-12)
        assert (pairs["users"] == N_USERS // 2).all()
        with pytest.raises(ValueError, match="of must be 'table' or 'pairs', got 'rows'"):
            self.found.by(["x", "y"] * (N_USERS // 2), "rows")
        assert parts["sampled"].mean() == pytest.approx(found.table["sampled"].iloc[0])

    def test_text_html_latex_markdown_json_and_a_picture(self):
        text, page = str(self.found), self.found._repr_html_()
        for part in ("Recall@3", "b_%"):
            assert part in text and part in page
        assert r"b\_\%" in self.found.to_latex()
        assert r"| b\_%  " in self.found.to_markdown()
        said = json.loads(self.found.to_json())
        row = said["table"][0]
        assert row["recommender"] == "a" and row["metric"] == "Recall@3"
        assert row["value"] == self.found.table["value"].iloc[0]
        assert len(said["pairs"]) == len(METRICS)
        axes = self.found.plot().axes
        assert [ax.get_xlabel() for ax in axes] == [str(m) for m in METRICS]
        drawn = [line.get_xdata() for line in axes[2].lines]
        assert np.isin(
            self.found.table.xs("AP", level="metric")["value"], np.concatenate(drawn)
        ).all()
        import_module("matplotlib.pyplot").close("all")

    def test_a_picture_holds_sampled_corrected_and_exact_values(self):
        _, _, dense, _, held_out, train = numbered()
        models, known = {"a": dense, "b": -dense}, {"held_out": held_out, "train": train}
        exact = rs.evaluate(models, **known, metrics=["AUC", "AP"])
        sampled = rs.evaluate(models, **known, metrics=["AP"], among=rs.UniformSampling(9))
        with pytest.raises(ValueError, match=r"exact must hold .* got none for \('a', 'AUC'\)"):
            exact.plot(sampled)
        figure = sampled.plot(exact)
        drawn = {line.get_label(): sorted(line.get_xdata()) for line in figure.axes[0].lines}
        one, of_ap = sampled.table, exact.table["value"].xs("AP", level="metric")
        expected = {"sampled, uncorrected": one["sampled"], "corrected": one["value"]}
        assert drawn.keys() == {*expected, "exact"}
        assert drawn["exact"] == pytest.approx(sorted(of_ap))
        for label, values in expected.items():
            assert drawn[label] == pytest.approx(sorted(values), nan_ok=True)
        assert "in the best fifth" in " ".join(figure.get_suptitle().split())
        import_module("matplotlib.pyplot").close("all")

    @pytest.mark.parametrize("how", ["exact", "runs", "sampled", "lists", "report", "counts"])
    def test_a_result_is_data(self, how):
        """Pickled or copied, it is equal and goes on answering."""
        _, _, dense, _, held_out, train = numbered()
        ranks = rs.predicted_ranks(dense, held_out.indices, train)
        lists = pd.DataFrame({"user": np.repeat(range(N_USERS), 9), "item": [*range(9)] * N_USERS})
        run = rs.UniformSampling(9).draw(ranks, 0)

        def evaluated(metrics=(AP, AUC), **options):
            known = {"train": train, "metrics": metrics}
            return rs.evaluate({"a": dense, "b": -dense}, held_out, **known, **options)

        def made(seed):
            if how == "report":
                return rs.report(run, n_items=ranks.n_items, metrics=[(AUC, AP)[seed]])
            if how == "counts":
                n_items = N_ITEMS + seed
                return rs.report(
                    rs.RankCounts([1, 2], [30, 9], 9).drawn_as("uniform", False),
                    n_items=n_items,
                    metrics=["AP"],
                )
            if how == "runs":
                known = {"train": train, "metrics": [AP], "run": "seed"}
                return rs.evaluate({"a": {"1": dense, str(2 + seed): -dense}}, held_out, **known)
            sampler = rs.UniformSampling(9) if how == "sampled" else None
            if how == "lists":
                return evaluated(among=lists.assign(item=lists["item"] + 2 * seed), drawn="uniform")
            return evaluated([(AP, AUC)[seed]], among=sampler, rng=seed)

        found, halves = made(0), np.arange(N_USERS) % 2
        apart = None if how in ("counts", "lists") else found.by(halves)
        plan = found.plan("AUC", 0.1) if how == "report" else None
        for one in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
            assert one == found and hash(one) == hash(found)
            assert one.to_json() == found.to_json() and str(one) == str(found)
            if how != "counts":
                pd.testing.assert_frame_equal(one.per_instance, found.per_instance)
            if apart is not None:
                pd.testing.assert_frame_equal(one.by(halves), apart)
            if plan is not None:
                assert np.array_equal(one.plan("AUC", 0.1).users, plan.users)
        assert found == made(0)
        assert found != made(1)
        assert found != "a result"


# Names, and how LaTeX has to be told of them.
NAMES = {
    "a|b": r"a\textbar{}b",
    "<b>x</b> &amp; y": r"\textless{}b\textgreater{}x\textless{}/b\textgreater{} \&amp; y",
    "two\nlines\r\n\r\nor three": "two lines or three",
    "als_64_v2": r"als\_64\_v2",
    "_x_ *y* `z` ~~w~~ __init__": r"\_x\_ {*}y{*} `z` \textasciitilde{}\textasciitilde{}w",
    "*first": "{*}first",
    "[l](u)": "{[}l](u)",
    "50 % #1 $x$ {y}^2": r"50 \% \#1 \$x\$ \{y\}\textasciicircum{}2",
    "C:\\x\\|": r"C:\textbackslash{}x\textbackslash{}\textbar{}",
    "1.10": "1.10",
    "1.1": "1.1",
    "007": "007",
    "<!-- no -->": r"\textless{}!-- no --\textgreater{}",
}


@pytest.fixture(scope="module")
def of_odd_names():
    runs = {name: rs.Ranks([1, 2, 1, 3], 5) for name in NAMES}
    return rs.report(runs, n_items=50, drawn="uniform", metrics=["AUC"])


def test_names_come_out_as_they_are_in_markdown(of_odd_names):
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark", {"html": True})
    parser.enable(["table", "strikethrough"])
    inline = [token for token in parser.parse(of_odd_names.to_markdown()) if token.type == "inline"]
    cells = inline[2:-1:4]  # after the head and before the line below, without values and limits
    assert all(part.type in ("text", "text_special") for cell in cells for part in cell.children)
    said = ["".join(part.content for part in cell.children) for cell in cells]
    assert said == [" ".join(name.split()) for name in NAMES]


def test_names_come_out_as_they_are_in_latex(of_odd_names):
    lines = of_odd_names.to_latex().splitlines()
    rows = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    for row, said in zip(rows[::2], NAMES.values(), strict=True):
        assert row.startswith(said) and row.endswith(
            (r" & 0.8125$^{=}$ \\", r" & \textbf{0.8125} \\")
        )


@pytest.mark.parametrize("form", ["array", "factors", "object"])
def test_a_user_whose_score_is_nan_is_called_by_the_id(form):
    scores = np.arange(80.0).reshape(8, 10)
    scores[6, 4] = np.nan
    given = {
        "array": scores,
        "factors": (scores, np.eye(10)),
        "object": type("Model", (), {"scores": staticmethod(lambda users: scores[users])})(),
    }[form]
    held_out = pd.DataFrame({"user": [2, 6], "item": [1, 2]})
    with pytest.raises(ValueError, match="^scores must be finite, .* got NaN for user 6, item"):
        rs.evaluate(given, held_out, metrics=["AP"])
    good = np.arange(80.0).reshape(8, 10)
    with pytest.raises(ValueError, match="^scores of 'b' must be finite, .* user 6, item"):
        rs.evaluate({"a": good, "b": given}, held_out, metrics=["AP"])
