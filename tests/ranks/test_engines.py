"""Exact ranks by blocks of users and by joins, here and on clusters: those of `predicted_ranks`."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from frames import FRAMES, cluster, parquet, pytestmark, spark  # noqa: F401
from scipy import sparse

from recsample import RankCounts, predicted_ranks
from recsample.ranks import engines

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
        found = engines.ranks_of_factors(TABLE, ITEMS, exclude="train")
        same(found, expected())
        same(engines.ranks_of_factors(TABLE, ITEMS), expected(ALL))

    def test_an_empty_block(self):
        found = engines.ranks_of_factors(TABLE.iloc[:0], ITEMS)
        assert found.dtypes.to_dict() == expected().dtypes.to_dict() and not len(found)

    def test_nobody_has_a_training_set(self):
        table = TABLE.assign(train=[[]] * N_USERS)
        same(engines.ranks_of_factors(table, ITEMS, exclude="train"), expected(ALL))

    def test_dask(self, cluster, tmp_path):  # noqa: F811
        dd = pytest.importorskip("dask.dataframe")
        users = dd.read_parquet(parquet(tmp_path, TABLE))
        found = engines.ranks_of_factors(users, ITEMS, exclude="train")
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)
        same(found.compute(), expected())

    def test_spark(self, spark, tmp_path):  # noqa: F811
        users = spark.read.parquet(str(parquet(tmp_path, TABLE)))
        found = engines.ranks_of_factors(users, ITEMS, exclude="train")
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)
        same(found.toArrow().to_pandas(), expected())

    def test_what_is_refused(self):
        with pytest.raises(ValueError, match="item_factors must have shape .* got .3,"):
            engines.ranks_of_factors(TABLE, [1, 2, 3])
        with pytest.raises(ValueError, match="item_factors must be finite numbers, got nan"):
            engines.ranks_of_factors(TABLE, [[1, np.nan]])
        with pytest.raises(ValueError, match="users must have the column 'place'"):
            engines.ranks_of_factors(TABLE, ITEMS, item="place")
        frame = FRAMES["polars"](TABLE)
        with pytest.raises(
            ValueError, match="users must be a dataframe of pandas, Dask or PySpark"
        ):
            engines.ranks_of_factors(frame, ITEMS)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"factors": [[1.0]]}, "column 'factors' must hold 3 numbers .* got .1.0. for user 9"),
            ({"factors": [None]}, "column 'factors' must hold 3 numbers .* got None for user 9"),
            ({"factors": ["ab"]}, "column 'factors' must hold 3 numbers .* got 'ab' for user 9"),
            ({"train": [3]}, "column 'train' must hold a list .* got 3 for user 9"),
            ({"train": [[0.5]]}, "column 'train' must be whole numbers, got 0.5"),
            ({"train": [[-1]]}, "column 'train' must hold items from 0 to 39.* got -1 for user 9"),
            ({"item": [40]}, "column 'item' must hold items from 0 to 39.* got 40 for user 9"),
        ],
    )
    def test_what_a_user_cannot_have_is_refused(self, change, said):
        one = pd.DataFrame({"user": [9], "factors": [[1.0, 2, 3]], "item": [2], "train": [[1]]})
        ranked = engines.ranks_of_factors(one, ITEMS, exclude="train")
        assert ranked["n_items"].tolist() == [N_ITEMS - 1]
        with pytest.raises(ValueError, match=said):
            engines.ranks_of_factors(one.assign(**change), ITEMS, exclude="train")

    def test_what_is_no_frame_is_refused(self):
        with pytest.raises(ValueError, match="users must be a dataframe, got 3"):
            engines.ranks_of_factors(3, ITEMS)
        with pytest.raises(ValueError, match="item_factors must be an array of numbers, got "):
            engines.ranks_of_factors(TABLE, [[1, 2], [2]])

    def test_an_empty_list_of_any_type(self):
        table = TABLE.assign(train=[np.array([], object)] * N_USERS)
        same(engines.ranks_of_factors(table, ITEMS, exclude="train"), expected(ALL))


def long_table(scores=SCORES, ranked=~TRAIN):
    user, item = np.nonzero(ranked)
    return pd.DataFrame({"user": NAMES[user], "item": item, "score": scores[user, item]})


LONG = long_table()
TRUTH = TABLE[["user", "item"]]

FEW = pd.DataFrame(
    {"user": [7, 7, 7, 8, 8], "item": [1, 2, 3, 1, 2], "score": [0.5, 0.9, 0.4, 0.3, 0.2]}
)
FEW_TRUTH = pd.DataFrame({"user": [7, 7, 8], "item": [1, 3, 2]})
# What is wrong with the scores, so that one rank is not known, and what the message says.
WRONG = {
    "another item twice": (
        lambda scores: pd.concat([scores, scores.iloc[[3]]]),
        "hold each pair of user and item once, got user 8 with item 1 twice",
    ),
    "a held-out item twice": (
        lambda scores: pd.concat([scores, scores.iloc[[2]].assign(score=0.7)]),
        "hold each pair of user and item once, got user 7 with item 3 twice",
    ),
    "a held-out item twice, and nothing else": (
        lambda scores: pd.concat([scores.drop(3), scores.iloc[[4]]]),
        "hold each pair of user and item once, got user 8 with item 2 twice",
    ),
    "no score of a held-out item": (
        lambda scores: scores.drop(2),
        "hold a score for each held-out item, got none for user 7, item 3",
    ),
    "NaN for a held-out item": (
        lambda scores: scores.assign(score=[0.5, 0.9, np.nan, 0.3, 0.2]),
        "not have missing values or NaN, got one for user 7",
    ),
    "NaN for another item": (
        lambda scores: scores.assign(score=[0.5, 0.9, 0.4, np.nan, 0.2]),
        "not have missing values or NaN, got one for user 8",
    ),
    "an item without an id": (
        lambda scores: scores.assign(item=pd.array([1, 2, 3, None, 2], "Int64")),
        "not have missing values or NaN, got one for user 8",
    ),
}


# Dask takes half a second for what the others compute in a hundredth.
ALMOST_ALL = [
    pytest.param(one, marks=[pytest.mark.thorough] if one == "dask" else []) for one in FRAMES
]


class TestScores:
    @pytest.mark.parametrize("library", FRAMES)
    def test_a_long_table(self, library):
        make = FRAMES[library]
        found = engines.ranks_of_scores(make(LONG), make(TRUTH))
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)

    def test_spark(self, spark, tmp_path):  # noqa: F811
        (tmp_path / "scores").mkdir()
        scores = spark.read.parquet(str(parquet(tmp_path / "scores", LONG)))
        (tmp_path / "truth").mkdir()
        truth = spark.read.parquet(str(parquet(tmp_path / "truth", TRUTH)))
        found = engines.ranks_of_scores(scores, truth)
        assert RankCounts.from_frame(found) == RankCounts.of(RANKS)

    def test_every_row_belongs_to_its_user(self):
        same(engines.ranks_of_scores(LONG, TRUTH), expected())

    def test_several_held_out_items_are_ranked_alone(self):
        more = TRAIN.copy()
        more[np.arange(N_USERS), HELD_OUT] = True
        ranks = predicted_ranks(SCORES, sparse.csr_matrix(more)).each_alone()
        user, item = np.nonzero(more)
        truth = pd.DataFrame({"user": NAMES[user], "item": item})
        found = engines.ranks_of_scores(long_table(ranked=np.ones_like(TRAIN)), truth)
        assert RankCounts.from_frame(found) == RankCounts.of(ranks)

    @pytest.mark.parametrize("library", ALMOST_ALL)
    def test_a_user_with_nothing_else(self, library):
        make = FRAMES[library]
        alone = pd.DataFrame({"user": [1, 2, 2], "item": [5, 5, 6], "score": [0.1, 0.3, 0.9]})
        found = engines.ranks_of_scores(make(alone), make(alone[["user", "item"]].iloc[:2]))
        assert RankCounts.from_frame(found) == RankCounts([1, 2], [1, 1], [1, 2])

    @pytest.mark.parametrize(
        ("library", "wrong"),
        # One that computes at once and one that does not know each fault, all others know one.
        [*product(["pandas", "duckdb"], WRONG), *product(FRAMES, ["a held-out item twice"])],
    )
    def test_ranks_that_are_not_known_are_refused(self, library, wrong):
        change, said = WRONG[wrong]
        make = FRAMES[library]
        changed = change(FEW).reset_index(drop=True)
        scores, held_out = make(changed), make(FEW_TRUTH.astype(changed.dtypes[["user", "item"]]))
        if library in ("pandas", "polars", "pyarrow"):
            with pytest.raises(ValueError, match=f"scores must {said}"):
                engines.ranks_of_scores(scores, held_out)
            return
        found = engines.ranks_of_scores(scores, held_out)
        with pytest.raises(ValueError, match="missing values, got 1 in column 'rank'"):
            RankCounts.from_frame(found)

    @pytest.mark.parametrize("library", ALMOST_ALL)
    def test_a_held_out_item_counts_once(self, library):
        make = FRAMES[library]
        twice = pd.concat([FEW_TRUTH, FEW_TRUTH.iloc[:2]], ignore_index=True)
        found = RankCounts.from_frame(engines.ranks_of_scores(make(FEW), make(twice)))
        # Of user 7, each of items 1 and 3 is ranked beside item 2 alone; of user 8, 2 beside 1.
        assert found == RankCounts([2], [3], 2)

    @pytest.mark.parametrize("score", [[np.nan, 0.5], [0.5, np.nan]])
    def test_nan_that_is_not_a_missing_value(self, score):
        # To pandas they are one thing, to Polars two.
        polars = pytest.importorskip("polars")
        scores = polars.DataFrame({"user": [7, 7], "item": [1, 2], "score": score})
        assert not scores["score"].has_nulls()
        held_out = polars.DataFrame({"user": [7], "item": [1]})
        with pytest.raises(ValueError, match="missing values or NaN, got one for user 7"):
            engines.ranks_of_scores(scores, held_out)
        found = engines.ranks_of_scores(scores.lazy(), held_out.lazy()).collect()
        assert found["rank"].to_list() == [None] and found["n_items"].to_list() == [2]

    @pytest.mark.parametrize("library", FRAMES)
    def test_what_cannot_match_is_refused(self, library):
        make = FRAMES[library]
        few, truth = make(FEW), make(FEW_TRUTH)
        with pytest.raises(ValueError, match="numbers, got String in column 'score'"):
            engines.ranks_of_scores(make(FEW.astype({"score": str})), truth)
        message = "name items as scores does: Int64 there, got String in column 'item'"
        with pytest.raises(ValueError, match=message):
            engines.ranks_of_scores(few, make(FEW_TRUTH.astype({"item": str})))
        with pytest.raises(ValueError, match="scores must be a dataframe, got 3"):
            engines.ranks_of_scores(3, truth)
        with pytest.raises(ValueError, match="held_out must be a dataframe, got None"):
            engines.ranks_of_scores(few, None)
