"""Input as users get it wrong: each is refused by what names argument, value and cure, or right."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import recsample as rs
from recsample import AP, BiasVariance, Ranks, UniformSampling
from recsample.sampling.sequential.scanning import item_at

masked = np.ma.masked_array
sampler = UniformSampling(5)
scores = [[0.1, 0.9, 0.5], [0.3, 0.2, 0.8]]


def sets(*pairs, data=None, shape=(2, 3), dtype=bool):
    row, column = zip(*pairs)
    data = np.ones(len(pairs), dtype) if data is None else np.array(data)
    return sparse.coo_matrix((data, (row, column)), shape=shape)


def predicted(scores=scores, relevant=(0, 1), exclude=None):
    return rs.predicted_ranks(scores, relevant, exclude)


def report(sampled=(1, 2, 3), m=5, n_items=300, drawn="uniform", **options):
    return rs.report(sampled, m=m, n_items=n_items, drawn=drawn, **options)


USERS, ITEMS = [1, 1, 2, 2], [7, 8, 7, 8]
SCORES = {"user": USERS, "item": ITEMS, "score": [0.4, 0.3, 0.2, 0.1]}
HELD_OUT = {"user": [1, 2], "item": [7, 8]}


def evaluate(scores=None, held_out=None, train=None, lazily=False, **options):
    """Two users and two items, with some columns as given in place of right ones."""
    given = pd.DataFrame(SCORES | (scores or {}))
    truth = pd.DataFrame(HELD_OUT | (held_out or {}))
    known = None if train is None else pd.DataFrame(train)
    return rs.evaluate(given, truth, train=known, metrics=["AUC"], **options)


def comparison(a, b, metric=AP):
    return rs.inference.paired_comparison(metric, a, b)


class Wider:
    """A model that has more items the more users it is asked for."""

    def scores(self, users):
        return np.ones((len(users), 3 + len(users)))


ranks = Ranks([1, 2, 3], n_items=30)
NAMED = Ranks([1, 2, 3], n_items=6, ids=["ann", "bob", "dan"])
FRAME = pd.DataFrame({"user": [1, 2], "rank": [3, 4], "n_items": 9})


def beyond_the_columns():
    """A matrix with a column that it does not have, which SciPy does not look for."""
    found = sparse.csr_matrix(np.eye(2, 3))
    found.indices[0] = 9
    return found


# What is done, and what the message says of argument, value and cure.
REFUSED = {
    # Ranks
    "nullable with a null": (
        lambda: Ranks(pd.Series([1, None], dtype="Int64"), 10),
        "values must not have missing values, got 1 of 2, the first in instance 1",
    ),
    "masked ranks": (lambda: Ranks(masked([1, 2], [0, 1]), 10), "missing values, got 1 of 2"),
    "masked ties": (lambda: Ranks([1], 9, ties=masked([1], [1])), "ties must not have missing"),
    "a generator of ranks": (lambda: Ranks((i for i in [1, 2]), 10), "array of numbers, got <gen"),
    "ranks of ranks": (lambda: Ranks(ranks, 10), "values must be ranks, which are numbers"),
    "table of ranks": (
        lambda: Ranks(pd.DataFrame({"user": [1, 2], "rank": [3, 4]}), 10),
        "a dataframe with the columns ['user', 'rank']: Ranks.from_frame reads it",
    ),
    "names too few": (lambda: Ranks([1, 2], 9, ids=["a"]), "ids must hold one name for each"),
    "an index of two dimensions": (
        lambda: ranks[[[0, 1], [1, 2]]],
        "users must be a number, a slice, or a list of numbers or of True and False, got an index "
        "of shape (2, 2)",
    ),
    "a slice of nothing": (lambda: ranks[5:], "at least one instance, got none"),
    "from a list": (lambda: Ranks.from_frame([1, 2], 9), "frame must be a dataframe, got [1, 2]"),
    "no such column": (
        lambda: Ranks.from_frame(pd.DataFrame({"user": [1], "pos": [3]}), 9),
        "the column 'rank' (another one: rank=...), got the columns ['user', 'pos']",
    ),
    "two sizes of a pool": (
        lambda: Ranks.from_frame(pd.DataFrame({"user": [1, 1], "rank": [3, 4], "n_items": [9, 8]})),
        "n_items must be one number for each instance, got 9 and 8 for 1",
    ),
    # Scores
    "masked scores": (
        lambda: predicted(masked([[1.0, 2]], [[0, 1]]), [0]),
        "missing values, got 1 of 2",
    ),
    "scores and text": (lambda: predicted(np.array([[1, "a"]], object), [0]), "array of numbers"),
    "sparse scores": (lambda: predicted(sparse.csr_matrix(scores)), "array of numbers"),
    "table of scores": (
        lambda: predicted(pd.DataFrame({"user": [1, 2], "a": [0.3, 0.4]})),
        "['user', 'a']: evaluate reads it",
    ),
    "masked items": (lambda: predicted(relevant=masked([0, 1], [0, 1])), "relevant must not have"),
    # Metrics
    "metric of a list": (lambda: AP([1, 2]), "ranks must be Ranks, got list"),
    "no such metric": (lambda: rs.metric("ndgc@10"), "nearest: NDCG"),
    "metrics as text": (lambda: rs.compare({"a": ranks}, "ap"), "a list of metrics, got 'ap'"),
    "no metrics": (lambda: rs.compare({"a": ranks}, []), "at least one metric, got none"),
    "compare lists": (lambda: rs.compare({"a": [1, 2]}, [AP]), "names of recommenders to Ranks"),
    "compare nothing": (lambda: rs.compare({}, [AP]), "at least one recommender, got none"),
    "compare names that look the same": (
        lambda: rs.compare({1: ranks, "1": ranks}, [AP]),
        "ranks must hold recommenders whose names differ as text, got 1 and '1'",
    ),
    "exact and sampled": (
        lambda: rs.compare({"a": Ranks([1, 2], 999), "b": Ranks([1, 2], 10)}, [AP]),
        "all or about as many drawn ones, got on average",
    ),
    # Samplers and corrections
    "more samples than items": (lambda: UniformSampling(99).draw(ranks, 0), "at least 99"),
    "seed as text": (lambda: sampler.draw(ranks, "seed"), "rng must be a whole number"),
    "seed below 0": (lambda: sampler.draw(ranks, -1), "got -1"),
    "correction of a correction": (
        lambda: BiasVariance(BiasVariance(AP, sampler, 30, gamma=1), sampler, 30, gamma=1),
        "exact ranks",
    ),
    # Report and comparisons
    "a distribution of too many": (
        lambda: rs.inference.rank_distribution(ranks, UniformSampling(29), 10**9),
        "n_items must be at most 10,000,000 for a distribution",
    ),
    "an average with too many draws": (
        lambda: UniformSampling(10**7, True).pmf(Ranks([5], 10**9, ties=[10**8])),
        "m must be smaller to average over ties, got m=10000000: break the ties of ranks",
    ),
    "report of too many draws": (
        lambda: rs.report([1, 2], m=10**9, n_items=10**10, drawn="uniform", replace=False),
        "the law of what is drawn with n_items=10000000000, m=1000000000 takes",
    ),
    "rank beyond m + 1": (lambda: report([1, 9]), "up to m + 1 = 6, got 9 in instance 1"),
    "report 0-based": (
        lambda: report([0, 3]),
        "must be ranks from 1 on, got 1 of 2 below, such as 0",
    ),
    "report NaN": (
        lambda: report([1, np.nan]),
        "sampled must not have missing values, got 1 of 2, the first at position 1",
    ),
    "report without m": (lambda: report(m=None), "m must be given"),
    "report without a pool": (lambda: report(n_items=None), "n_items must be given"),
    "pool below m": (lambda: report(n_items=5), "n_items must be at least 6"),
    "report a table": (lambda: report(pd.DataFrame({"rank": [1, 2]})), "choose the column"),
    "report a correction": (
        lambda: report(metrics=[BiasVariance(AP, sampler, 30, gamma=1)]),
        "exact ranks",
    ),
    "report one user": (lambda: report([3]), "at least two instances, got 1"),
    "report m for other users": (lambda: report(m=[5, 5]), "one for each of 3 instances"),
    "report nothing": (lambda: report({}), "at least one recommender, got none"),
    "report users in another order": (
        lambda: report({"a": NAMED, "b": NAMED[::-1]}, None),
        "sampled must have the same instances in the same order, got ids that differ from instance "
        "0 on: 'ann' of 'a', 'dan' of 'b': ranks[numpy.argsort(ranks.ids)] sorts them",
    ),
    "compare other users": (lambda: comparison(ranks, ranks[:2]), "got 3 and 2"),
    "compare users in another order": (
        lambda: comparison(NAMED, NAMED[[0, 2, 1]]),
        "from instance 1 on: 'bob' of a, 'dan' of b",
    ),
    "compare values with NaN": (lambda: comparison([1, np.nan], [1, 2], None), "finite numbers"),
    # Evaluate
    "no column of scores": (
        lambda: evaluate(score="rating"),
        "the column 'rating' (another one: score=...), got the columns ['user', 'item', 'score']",
    ),
    "missing user": (lambda: evaluate({"user": [1, None, 2, 2]}), "column 'user', row 1"),
    "missing item": (lambda: evaluate(None, {"item": [7, None]}), "held_out must not have missing"),
    "missing score": (lambda: evaluate({"score": [1, 2, None, 3]}), "column 'score', row 2"),
    "missing name": (
        lambda: evaluate({"model": ["a", None, "a", "b"]}),
        "scores must not have missing values, got 1 of 4, the first in column 'model', row 1",
    ),
    "names that look the same": (
        lambda: rs.evaluate({1: scores, "1": scores}, [0, 1]),
        "scores must hold recommenders whose names differ as text, got 1 and '1'",
    ),
    "a name that tables of pairs say": (
        lambda: rs.evaluate({"a": scores, "undecided": scores}, [0, 1]),
        "scores must not hold a recommender called 'undecided', which tables of pairs say",
    ),
    "infinite score": (lambda: evaluate({"score": [1, 2, np.inf, 3]}), "got inf in row 2"),
    "text score": (lambda: evaluate({"score": list("abcd")}), "scores that are numbers"),
    "score twice": (
        lambda: evaluate({"item": [7, 7, 7, 8]}),
        "scores must hold one score for each pair of user and item, got two for user 1 with item 7",
    ),
    "text and numbers": (
        lambda: evaluate({"user": ["1", "1", "2", "2"]}),
        "scores must name users as the other tables do: held_out has whole numbers, got text",
    ),
    "mixed ids": (lambda: evaluate({"user": [1, "1", 2, 2]}), "ids of one kind, got text and"),
    "half an id": (lambda: evaluate({"user": [1.5, 1.5, 2, 2]}), "whole numbers as ids, got 1.5"),
    "an id that is True": (
        lambda: evaluate({"user": np.array([True, 1, 2, 2], object)}),
        "ids of one kind, got bool and whole numbers",
    ),
    "other users": (
        lambda: evaluate({"user": [5, 5, 6, 6]}),
        "scores must hold users of held_out, got none of them: 5 here, 1 there",
    ),
    "other users in train": (lambda: evaluate(train={"user": [9], "item": [7]}), "train must hold"),
    "all in train": (lambda: evaluate(train=HELD_OUT), "not in train, got none"),
    "empty held-out": (
        lambda: evaluate(None, {"user": [], "item": []}),
        "held_out must hold at least one row, got none",
    ),
    "held-out as a number": (lambda: rs.evaluate(scores, 3), "held_out must be a dataframe, a"),
    "scores as a number": (lambda: rs.evaluate({"a": 3}, [0, 1]), "scores of 'a' must be a datafr"),
    "a model whose width changes": (
        lambda: rs.evaluate({"a": Wider()}, pd.DataFrame({"user": [0, 1, 2], "item": 0})),
        "scores(users) must have shape (3, 4 items, as for user 0), got (3, 6)",
    ),
    "sparse for scores": (lambda: rs.evaluate(sparse.csr_matrix(scores), [0, 1]), "scores must be"),
    "a user beyond the array": (
        lambda: rs.evaluate(np.array(scores), pd.DataFrame({"user": [7], "item": [0]})),
        "number users from 0 to 1, as the scores do, got 7",
    ),
    "names for an array": (
        lambda: rs.evaluate(np.array(scores), pd.DataFrame({"user": ["a"], "item": [0]})),
        "scores as an array have whole numbers, got text, such as 'a'",
    ),
    "arrays of two shapes": (
        lambda: rs.evaluate({"a": np.ones((2, 3)), "b": np.ones((2, 4))}, [0, 1]),
        "same users and items",
    ),
    "segments too few": (lambda: evaluate().by(["a"]), "one for each of the 2 users"),
    "segments of two kinds": (
        lambda: evaluate().by(pd.DataFrame({"user": [1, 2, 1], "age": ["old", "old", "new"]})),
        "segments must hold each user once, got two for 1",
    ),
    "segment of nobody": (lambda: evaluate().by({1: "a"}), "got none for 2"),
    "segment of one": (lambda: evaluate().by(["a", "b"]), "at least two users each, got 1 in 'a'"),
    # Data
    "a list of data sets": (
        lambda: rs.datasets.load_movielens(name=["ml-1m"]),
        "name must be 'ml-100k', 'ml-1m', 'ml-10m', 'ml-20m' or 'ml-25m', got ['ml-1m']",
    ),
    # Values of other types
    "True for a number": (
        lambda: BiasVariance(AP, sampler, 9, gamma=True),
        "gamma must be a finite number above 0, got True",
    ),
    "a table for a word": (
        lambda: rs.inference.rank_distribution(ranks, sampler, 9, pd.DataFrame({"a": [1]})),
        "method must be 'em' or 'mes', got",
    ),
    "a sparse matrix for a word": (
        lambda: AP(over=sparse.csr_matrix([[1]])),
        "over must be 'best', 'relevant', 'hits' or 'k', got",
    ),
    "a missing value for a word": (
        lambda: rs.inference.limits(AP, ranks, 40, assumption=pd.NA),
        "assumption must be 'none' or 'decreasing'",
    ),
    "an array for a split": (
        lambda: rs.datasets.load_movielens(split=np.array([1, 2])),
        "split must be 'paper' or 'last', got array([1, 2])",
    ),
    "an array for the way to break ties": (
        lambda: ranks.break_ties(np.array([1, 2])),
        "how must be 'random', 'optimistic' or 'pessimistic', got array",
    ),
    "an array for a gain": (
        lambda: rs.metrics.graded.dcg([1, 2], gain=np.array([1, 2])),
        "gain must be 'linear' or 'exponential', got array",
    ),
    "masked for a word": (lambda: report(drawn=np.ma.masked), "drawn must"),
    "True for a seed": (lambda: sampler.draw(ranks, True), "rng must be a whole number"),
    "ties as a word": (lambda: Ranks([1], 9, ties="few"), "ties must be whole numbers, got 'few'"),
    "masked ids": (
        lambda: Ranks([1, 2], 9, ids=masked(["a", "b"], [0, 1])),
        "ids must not have missing values",
    ),
    "ranks for ids": (lambda: Ranks([1, 2, 3], 9, ids=ranks), "ids must hold one name for each"),
    "masked users": (lambda: ranks[masked([0, 1], [0, 1])], "users must not have missing values"),
    "users that wrap around": (
        lambda: ranks[np.array([2**64 - 1], np.uint64)],
        "users must be whole numbers below 2**53",
    ),
    "ranks at ranks": (lambda: ranks.at(ranks, 30), "rank must be whole numbers, got <Ranks"),
    "parts without a dimension": (
        lambda: Ranks.concatenate(np.array(3)),
        "parts must be a list of Ranks, got array(3)",
    ),
    "a number for a column of users": (
        lambda: Ranks.from_frame(FRAME, user=3),
        "frame must have the column 3 (another one: user=...)",
    ),
    "a column of lists to count": (
        lambda: rs.RankCounts.from_frame(FRAME.assign(rank=[[1], [2]])),
        "frame must have numbers in ['rank', 'n_items']",
    ),
    "a column twice": (
        lambda: rs.evaluate(
            pd.DataFrame([[1, 1, 7, 0.5]], columns=["user", "user", "item", "score"]),
            pd.DataFrame(HELD_OUT),
        ),
        "scores must have columns of different names",
    ),
    "ids that floats do not tell apart": (
        lambda: evaluate({"user": [2.0**53, 2.0**53, 2, 2]}),
        "whole numbers below 2**53 as ids, got 9007199254740992.0 in row 0",
    ),
    "ids that short floats do not tell apart": (
        lambda: evaluate({"user": np.array([2**24 + 1, 1, 2, 2], np.float32)}),
        "whole numbers below 2**24 as ids, got 16777216.0 in row 0",
    ),
    "scores that floats do not tell apart": (
        lambda: evaluate({"score": [2**60, 2**60 + 1, 1, 2]}),
        "scores that floats hold, up to 2**53 on either side, got 1152921504606846977",
    ),
    "scores of a join that floats do not tell apart": (
        lambda: rs.engines.ranks_of_scores(
            pd.DataFrame(SCORES | {"score": [2**60, 2**60 + 1, 1, 2]}), pd.DataFrame(HELD_OUT)
        ),
        "got one for user 1, or a whole number beyond 2**53, which floats do not hold",
    ),
    "lists for names of recommenders": (
        lambda: evaluate({"model": [["a"]] * 4}),
        "scores must name recommenders by text, got lists in column 'model'",
    ),
    "masked items of a catalogue": (
        lambda: evaluate(items=masked([7, 8], [0, 1])),
        "items must not have missing values",
    ),
    "masked segments": (
        lambda: evaluate().by(masked([1, 1], [0, 1])),
        "segments must not have missing values",
    ),
    "NaN in a training set": (
        lambda: predicted(exclude=sets((0, 1), (1, 2), data=[np.nan, 1.0])),
        "exclude must hold an item or not, got NaN",
    ),
    "a training set with items that are none": (
        lambda: predicted(exclude=beyond_the_columns()),
        "exclude must hold items from 0 to 2, got item 9",
    ),
    "a table of recommended items": (
        lambda: rs.metrics.sets.precision(pd.DataFrame({"item": [1]}), [1]),
        "recommended must be an array, got a dataframe with the columns ['item']",
    ),
    "no scan": (lambda: rs.EarlyStopping(3).scan(3), "scan must be a Scan, got 3"),
    "a width that takes more users than there are numbers": (
        lambda: rs.evaluate(np.eye(3), [0, 1, 2], metrics=["AUC"]).plan("AUC", 1e-300),
        "width must be one that fewer than 2**53 users reach, got 1e-300",
    ),
    "numbers of samples as text": (
        lambda: rs.experiments.figure2("5"),
        "samples must be whole numbers",
    ),
    "no numbers of samples": (lambda: rs.experiments.figure2([]), "samples must be a list of at"),
    "a table of ranks for two recommenders": (
        lambda: rs.experiments.order_changes(AP, {}),
        "ranks must hold at least one recommender, got none",
    ),
    "no estimators": (
        lambda: rs.experiments.bias_and_variance({}, AP, sampler, 30),
        "estimators must map names to metrics, got {}",
    ),
    "True for a table": (
        lambda: rs.experiments.printed_table(True),
        "number must be one of the paper's tables",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_by_name(case):
    call, said = REFUSED[case]
    with pytest.raises(ValueError) as error:
        call()
    message = str(error.value)
    assert said in message
    assert "\n" not in message and len(message) < 400


def test_gamma_has_to_be_named():
    with pytest.raises(TypeError, match="gamma"):
        BiasVariance(AP, sampler, 30)


# What looks wrong and is right, and what it has to give.
RIGHT = {
    "int8 ranks in a large pool": (
        lambda: Ranks(np.array([100, 127], np.int8), 10_000).n_irrelevant.tolist(),
        [9999, 9999],
    ),
    "uint64 ranks": (lambda: Ranks(np.array([1, 2], np.uint64), 9).values.tolist(), [1, 2]),
    "whole floats": (lambda: Ranks([1.0, 2.0], 9.0).values.tolist(), [1, 2]),
    "nullable ranks": (lambda: Ranks(pd.Series([3, 1], dtype="Int64"), 9).values.tolist(), [3, 1]),
    "a column with another index": (
        lambda: Ranks(pd.Series([3, 1], index=[7, 7]), 9).values.tolist(),
        [3, 1],
    ),
    "nothing masked": (lambda: Ranks(masked([3, 1], [0, 0]), 9).values.tolist(), [3, 1]),
    "objects that are numbers": (
        lambda: Ranks(np.array([3, 1], object), 9).values.tolist(),
        [3, 1],
    ),
    "scores of infinity": (lambda: predicted([[2, 1, -np.inf]], [1]).values.tolist(), [2]),
    "256 events of a pair in uint8": (
        lambda: predicted(
            exclude=sets(*[(0, 1)] * 256, dtype=np.uint8), relevant=[0, 1]
        ).sizes.tolist(),
        [2, 3],
    ),
    "stored zeros": (
        lambda: predicted(exclude=sets((0, 1), (0, 2), data=[0, 1])).sizes.tolist(),
        [2, 3],
    ),
    "unsorted rows": (
        lambda: predicted(
            exclude=sparse.csr_matrix(([1, 1], [2, 1], [0, 2, 2]), shape=(2, 3))
        ).sizes.tolist(),
        [1, 3],
    ),
    "the older random numbers": (lambda: len(sampler.draw(ranks, np.random.RandomState(0))), 3),
    "a metric twice": (lambda: list(rs.compare({"a": ranks}, [AP, "map", "AP"])), ["AP"]),
    "ids in int8": (
        lambda: evaluate({"user": np.array(USERS, np.int8)}).table["value"].tolist(),
        [1 / 2],
    ),
    "ids as whole floats": (
        lambda: evaluate({"user": np.array(USERS, float)}).table["value"].tolist(),
        [1 / 2],
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_is_right(case):
    call, expected = RIGHT[case]
    assert call() == expected


@pytest.mark.skipif(not importlib.util.find_spec("polars"), reason="needs Polars")
def test_lazy_tables_without_the_column():
    import polars

    lazy = polars.LazyFrame(HELD_OUT)
    with pytest.raises(ValueError, match="scores must have the column 'score'"):
        rs.evaluate(lazy, lazy)
    with pytest.raises(ValueError, match="held_out must have the column 'item'"):
        rs.evaluate(polars.LazyFrame(SCORES), lazy.select("user"))
    with pytest.raises(ValueError, match="missing values, got 1 of 2, the first in instance 1"):
        Ranks(polars.Series([1, None]), 9)


@pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="needs PyArrow")
def test_columns_of_arrow():
    import pyarrow

    assert Ranks(pyarrow.array([3, 1]), 9).values.tolist() == [3, 1]
    assert Ranks(pyarrow.chunked_array([[3], [1]]), 9).values.tolist() == [3, 1]
    with pytest.raises(ValueError, match="missing values, got 1 of 2, the first in instance 1"):
        Ranks(pyarrow.array([1, None]), 9)


@pytest.mark.parametrize("user", [-(2**63), -(2**53), 2**53, -np.inf])
def test_numbers_of_either_sign_that_floats_may_not_hold_are_refused(user):
    with pytest.raises(ValueError, match=r"user must be a whole number below 2\*\*53"):
        item_at(0, user, n_items=5)


@pytest.mark.skipif(not importlib.util.find_spec("polars"), reason="needs Polars")
def test_what_polars_has_and_numpy_has_not():
    import polars

    held_out = polars.DataFrame(HELD_OUT)
    user = [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}]
    with pytest.raises(ValueError, match=r"scores must have one user .*, got dictionaries in"):
        rs.evaluate(polars.DataFrame(SCORES | {"user": user}), held_out)
    with pytest.raises(ValueError, match="ids of the types that they have in scores"):
        rs.engines.ranks_of_scores(
            polars.DataFrame(SCORES), held_out.with_columns(polars.col("user").cast(float) + 0.5)
        )


def test_negatives_of_close_large_scores_are_not_tied():
    close = np.array([[2**60, 2**60 + 1, 2**60 + 2]])
    assert rs.given_ranks(close, [1], [[0, 2]]) == Ranks([2], 3)
