"""Exact ranks by blocks of users and by joins, here and on clusters: those of `predicted_ranks`."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from test_engines import FRAMES, cluster, parquet, pytestmark, spark  # noqa: F401

from recsample import RankCounts, predicted_ranks, scale

N_USERS, N_ITEMS = 60, 40
RNG = np.random.default_rng(0)
# Whole numbers of two bits, so that many scores are equal and none is rounded.
USERS, ITEMS = RNG.integers(-2, 3, (N_USERS, 3)), RNG.integers(-2, 3, (N_ITEMS, 3))
SCORES = (USERS @ ITEMS.T).astype(float)
HELD_OUT = RNG.integers(0, N_ITEMS, N_USERS)
TRAIN = RNG.random((N_USERS, N_ITEMS)) < 0.2
TRAIN[np.arange(N_USERS), HELD_OUT] = False
NAMES = 100 + np.arange(N_USERS)
TABLE = pd.DataFrame(
    {
        "user": NAMES,
        "factors": [row.astype(float).tolist() for row in USERS],
        "item": HELD_OUT,
        "train": [np.flatnonzero(row).tolist() for row in TRAIN],
    }
)
RANKS = predicted_ranks(SCORES, HELD_OUT, sparse.csr_matrix(TRAIN))
ALL = predicted_ranks(SCORES, HELD_OUT)


def expected(ranks=RANKS):
    columns = {"rank": ranks.values, "n_items": ranks.sizes, "ties": ranks.ties}
    return pd.DataFrame({"user": NAMES, **columns})


def same(found, wanted):
    found = found.sort_values("user").reset_index(drop=True).astype("int64")
    pd.testing.assert_frame_equal(found, wanted)


class TestFactors:
    def test_here(self):
        found = scale.ranks_of_factors(TABLE, ITEMS, exclude="train")
        same(found, expected())
        same(scale.ranks_of_factors(TABLE, ITEMS), expected(ALL))

    def test_an_empty_block(self):
        found = scale.ranks_of_block(TABLE.iloc[:0], ITEMS)
        assert found.dtypes.to_dict() == expected().dtypes.to_dict() and not len(found)

    def test_nobody_has_a_training_set(self):
        table = TABLE.assign(train=[[]] * N_USERS)
        same(scale.ranks_of_factors(table, ITEMS, exclude="train"), expected(ALL))

    def test_dask(self, cluster, tmp_path):  # noqa: F811
        dd = pytest.importorskip("dask.dataframe")
        users = dd.read_parquet(parquet(tmp_path, TABLE))
        found = scale.ranks_of_factors(users, ITEMS, exclude="train")
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)
        same(found.compute(), expected())

    def test_spark(self, spark, tmp_path):  # noqa: F811
        users = spark.read.parquet(str(parquet(tmp_path, TABLE)))
        found = scale.ranks_of_factors(users, ITEMS, exclude="train")
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)
        same(found.toArrow().to_pandas(), expected())

    def test_what_is_refused(self):
        with pytest.raises(ValueError, match="item_factors must have shape .* got .3,"):
            scale.ranks_of_factors(TABLE, [1, 2, 3])
        with pytest.raises(ValueError, match="item_factors must be finite numbers, got nan"):
            scale.ranks_of_factors(TABLE, [[1, np.nan]])
        with pytest.raises(ValueError, match="users must have the column 'place'"):
            scale.ranks_of_factors(TABLE, ITEMS, item="place")
        frame = FRAMES["polars"](TABLE)
        with pytest.raises(
            ValueError, match="users must be a dataframe of pandas, Dask or PySpark"
        ):
            scale.ranks_of_factors(frame, ITEMS)


def long_table(scores=SCORES, ranked=~TRAIN):
    user, item = np.nonzero(ranked)
    return pd.DataFrame({"user": NAMES[user], "item": item, "score": scores[user, item]})


LONG = long_table()
TRUTH = TABLE[["user", "item"]]


class TestScores:
    @pytest.mark.parametrize("library", FRAMES)
    def test_a_long_table(self, library):
        make = FRAMES[library]
        found = scale.ranks_of_scores(make(LONG), make(TRUTH))
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)

    def test_spark(self, spark, tmp_path):  # noqa: F811
        (tmp_path / "scores").mkdir()
        scores = spark.read.parquet(str(parquet(tmp_path / "scores", LONG)))
        (tmp_path / "truth").mkdir()
        truth = spark.read.parquet(str(parquet(tmp_path / "truth", TRUTH)))
        found = scale.ranks_of_scores(scores, truth)
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)

    def test_every_row_belongs_to_its_user(self):
        same(scale.ranks_of_scores(LONG, TRUTH), expected())

    def test_several_held_out_items_are_ranked_alone(self):
        more = TRAIN.copy()
        more[np.arange(N_USERS), HELD_OUT] = True
        ranks = predicted_ranks(SCORES, sparse.csr_matrix(more)).each_alone()
        user, item = np.nonzero(more)
        truth = pd.DataFrame({"user": NAMES[user], "item": item})
        found = scale.ranks_of_scores(long_table(ranked=np.ones_like(TRAIN)), truth)
        assert RankCounts.from_frame(found) == RankCounts.of(ranks)

    @pytest.mark.parametrize("library", FRAMES)
    def test_a_user_with_nothing_else(self, library):
        make = FRAMES[library]
        alone = pd.DataFrame({"user": [1, 2, 2], "item": [5, 5, 6], "score": [0.1, 0.3, 0.9]})
        found = scale.ranks_of_scores(make(alone), make(alone[["user", "item"]].iloc[:2]))
        assert RankCounts.from_frame(found) == RankCounts([1, 2], [1, 1], [1, 2])

    @pytest.mark.parametrize("library", FRAMES)
    def test_a_held_out_item_without_a_score_and_nan_are_refused(self, library):
        make = FRAMES[library]
        held_out = [(LONG["user"] == 100 + i) & (LONG["item"] == HELD_OUT[i]) for i in range(2)]
        other = (LONG["user"] == 102) & (LONG["item"] != HELD_OUT[2])
        scores = LONG.assign(score=LONG["score"].where(~(held_out[1] | other)))[~held_out[0]]
        found = scale.ranks_of_scores(make(scores), make(TRUTH))
        with pytest.raises(ValueError, match="missing values, got 3 rows in column 'rank'"):
            RankCounts.from_frame(found)
        if library == "pandas":
            assert found["user"][found["rank"].isna()].tolist() == [100, 101, 102]

    @pytest.mark.parametrize("score", [[np.nan, 0.5], [0.5, np.nan]])
    def test_nan_that_is_not_a_missing_value(self, score):
        # To pandas they are one thing, to Polars two.
        polars = pytest.importorskip("polars")
        scores = polars.DataFrame({"user": [7, 7], "item": [1, 2], "score": score})
        assert not scores["score"].has_nulls()
        found = scale.ranks_of_scores(scores, polars.DataFrame({"user": [7], "item": [1]}))
        assert found["rank"].to_list() == [None] and found["n_items"].to_list() == [2]
