"""Each line that a refusal names, taken from the message and followed, gives the right number.

A row has what was brought, the lines that are named one after the other, and what comes of them by
a slow computation. No refusal of the package may name a line that is in no row.
"""

import ast
import functools
import math
import re
import types
from pathlib import Path

import numpy
import pandas
import pyarrow
import pytest
import scipy.sparse

import recsample as rs
from recsample import InputError

g = numpy.random.default_rng(3)
N_USERS, N_ITEMS = 12, 9
SCORES = g.permutation(N_USERS * N_ITEMS).reshape(N_USERS, N_ITEMS) / 100
ITEM = g.integers(0, N_ITEMS, N_USERS)
KNOWN = g.random(SCORES.shape) < 0.3
KNOWN[range(N_USERS), ITEM] = False
SHOWN = SCORES >= numpy.sort(SCORES)[:, -4:-3]  # the best four of each user


def reciprocal_ranks(scores=SCORES, relevant=ITEM, out=None, listed=None, users=range(N_USERS)):
    """The mean of 1 / rank of the first relevant item, over users, one item after the other.

    What is `out` is not ranked, and what is not `listed` is never found.
    """
    values = []
    for u in users:
        mine = {*numpy.atleast_1d(relevant[u]).tolist()}
        ranked = [i for i in range(len(scores[u])) if out is None or not out[u][i]]
        best_first = sorted(ranked, key=lambda i: -scores[u][i])
        places = [place for place, i in enumerate(best_first, 1) if i in mine]
        is_found = listed is None or any(listed[u][i] for i in mine)
        values.append(1 / places[0] if is_found else 0)
    return sum(values) / len(values)


def in_arrow(values):
    """As a column of Arrow, where NaN is a number like others and not a missing one."""
    column = pyarrow.chunked_array([pyarrow.array(values.to_numpy(), from_pandas=False)])
    return pandas.Series(pandas.arrays.ArrowExtensionArray(column))


RIGHT = reciprocal_ranks()
LONG = pandas.DataFrame(
    [(u, i, SCORES[u, i]) for u in range(N_USERS) for i in range(N_ITEMS)],
    columns=["user", "item", "score"],
)
WIDE = pandas.DataFrame(SCORES).rename_axis(index="user", columns="item")
HELD_OUT = pandas.DataFrame({"user": range(N_USERS), "item": ITEM})
BEST = pandas.DataFrame(
    [
        (u, i, place)
        for u in range(N_USERS)
        for place, i in enumerate(sorted(range(N_ITEMS), key=lambda i: -SCORES[u, i])[:4], 1)
    ],
    columns=["user", "item", "rank"],
)
MISSED = reciprocal_ranks(listed=SHOWN)
NAMES = [f"u{u}" for u in range(N_USERS)]
SEVERAL = [[int(ITEM[u]), int((ITEM[u] + 1) % N_ITEMS)][: 2 - u % 2] for u in range(N_USERS)]
OF_SEVERAL = reciprocal_ranks(relevant=SEVERAL)
RANKS = g.integers(1, 30, 40)
PLACES = pandas.Series(RANKS, [f"u{u}" for u in range(40)])
OTHERS = pandas.Series(g.integers(1, 30, 40), [f"u{u}" for u in range(10, 50)])
PLACE_OF_ITEM = [int((SCORES[u] >= SCORES[u, i]).sum()) for u, i in enumerate(ITEM)]
STARS = HELD_OUT.assign(rating=[5, 4, 3] * 4)
LIKED = reciprocal_ranks(users=[u for u in range(N_USERS) if u % 3 < 2])


class FACTORS:
    user_factors, item_factors = SCORES, numpy.eye(N_ITEMS)


def in_text(separator):
    lists = BEST.astype({"item": str}).groupby("user")["item"].agg(separator.join)
    return lists.map(lambda text: re.sub(r"(\d)", r"i\1", text)).reset_index()


def evaluate(given):
    return rs.evaluate(**given).table["value"].tolist()


def report(given):
    return rs.report(**given).table["sampled"].tolist()


def predicted(given):
    return [float(rs.RR(rs.predicted_ranks(**given)).mean())]


def metric(given):
    return [float(given["metric"](given["ranks"]).mean())]


# What they are given where a row says nothing else.
USUAL = {
    evaluate: {"scores": SCORES, "held_out": HELD_OUT, "metrics": ["RR"]},
    report: {"m": 100, "n_items": 2_000, "drawn": "uniform", "metrics": ["RR"]},
    predicted: {"scores": SCORES, "relevant": ITEM},
    metric: {"metric": rs.RR},
}


def inverse(values):
    return [sum(1 / value for value in values) / len(values)]


# What is called and with what, the lines that are named one after the other, and what comes of it.
TABLE = {
    # Scores in other forms
    "nested mappings": (
        evaluate,
        {"scores": {u: dict(enumerate(row)) for u, row in enumerate(SCORES.tolist())}},
        [
            "pandas.DataFrame([(u, i, v) for u, row in scores.items() for i, v in row.items()], "
            "columns=['user', 'item', 'score'])"
        ],
        [RIGHT],
    ),
    "nested mappings of a recommender": (
        evaluate,
        {"scores": {"a": {u: dict(enumerate(row)) for u, row in enumerate(SCORES.tolist())}}},
        [
            "pandas.DataFrame([(u, i, v) for u, row in scores['a'].items() for i, v in "
            "row.items()], columns=['user', 'item', 'score'])"
        ],
        [RIGHT],
    ),
    "a sparse matrix of scores": (
        evaluate,
        {"scores": scipy.sparse.csr_matrix(SCORES * SHOWN)},
        [
            "pandas.DataFrame(dict(user=scores.tocoo().row, item=scores.tocoo().col, "
            "score=scores.tocoo().data))",
            "'missed'",
        ],
        [MISSED],
    ),
    "a model with factors": (
        evaluate,
        {"scores": {"a": FACTORS()}},
        ["(scores['a'].user_factors, scores['a'].item_factors)"],
        [RIGHT],
    ),
    "a column by user and item": (
        evaluate,
        {"scores": LONG.set_index(["user", "item"])["score"]},
        ["scores.rename('score').reset_index()"],
        [RIGHT],
    ),
    "user and item in the index": (
        evaluate,
        {"scores": LONG.set_index(["user", "item"])},
        [".reset_index()"],
        [RIGHT],
    ),
    "users in the index": (
        evaluate,
        {"held_out": HELD_OUT.set_index("user")},
        [".reset_index()"],
        [RIGHT],
    ),  # fmt: skip
    "a wide table": (
        evaluate,
        {"scores": WIDE},
        [
            ".rename_axis(index='user', columns='item').stack().rename('score').reset_index()"
            ".dropna()"
        ],
        [RIGHT],
    ),
    "a wide table, turned": (
        evaluate,
        {"scores": WIDE.T},
        [
            ".rename_axis(index='item', columns='user').stack().rename('score').reset_index()"
            ".dropna()"
        ],
        [RIGHT],
    ),
    "a wide table with gaps": (
        evaluate,
        {"scores": WIDE.where(SHOWN).reset_index()},
        [".melt('user', var_name='item', value_name='score').dropna()", "'missed'"],
        [MISSED],
    ),
    "lists of items and scores": (
        evaluate,
        {"scores": LONG.groupby("user").agg(list).reset_index()},
        [".explode(['item', 'score'])"],
        [RIGHT],
    ),
    "lists of items, best first": (
        evaluate,
        {"scores": BEST.groupby("user")["item"].agg(list).reset_index()},
        [".explode('item').assign(score=lambda t: -t.groupby('user').cumcount())", "'missed'"],
        [MISSED],
    ),
    **{
        f"lists in text between {separator!r}": (
            evaluate,
            {
                "scores": in_text(separator),
                "held_out": HELD_OUT.assign(item=[f"i{i}" for i in ITEM]),
            },
            [
                f".assign(item=lambda t: t['item'].str.split({split}))"
                ".explode('item').assign(score=lambda t: -t.groupby('user').cumcount())",
                "'missed'",
            ],
            [MISSED],
        )
        for separator, split in ((" ", ""), (",", "','"))
    },
    "ranks and no scores": (
        evaluate,
        {"scores": BEST},
        [".assign(score=lambda t: -t['rank'])", "'missed'"],
        [MISSED],
    ),
    "a score of another name": (
        evaluate,
        {"scores": LONG.rename(columns={"score": "liking"})},
        ["score=..."],
        [RIGHT],
    ),
    "masked scores": (
        evaluate,
        {"scores": numpy.ma.masked_array(SCORES, KNOWN)},
        ["scores.data with train=scipy.sparse.csr_matrix(scores.mask)"],
        [reciprocal_ranks(out=KNOWN)],
    ),
    "masked scores of predicted ranks": (
        predicted,
        {"scores": numpy.ma.masked_array(SCORES, KNOWN)},
        ["scores.data with exclude=scipy.sparse.csr_matrix(scores.mask)"],
        [reciprocal_ranks(out=KNOWN)],
    ),
    "-inf for what a user knows": (
        evaluate,
        {"scores": numpy.where(KNOWN, -numpy.inf, SCORES)},
        ["what users know already goes into train="],
        [reciprocal_ranks(out=KNOWN)],
    ),
    "a missing score": (
        evaluate,
        {"scores": LONG.assign(score=LONG["score"].where(SHOWN.ravel()))},
        [".dropna(subset=['score'])", "'missed'"],
        [MISSED],
    ),
    "a score that is no number, in Arrow": (
        evaluate,
        {"scores": LONG.assign(score=in_arrow(LONG["score"].where(SHOWN.ravel())))},
        [".loc[lambda rows: rows['score'] == rows['score']]", "'missed'"],
        [MISSED],
    ),
    "a missing item": (
        evaluate,
        {"held_out": pandas.concat([HELD_OUT, pandas.DataFrame({"user": [1], "item": [None]})])},
        [".dropna(subset=['item'])"],
        [RIGHT],
    ),
    "four seeds": (
        evaluate,
        {
            "scores": pandas.concat(
                LONG.assign(score=LONG["score"] + 0.3 * (LONG.index % (2 + k) == 0), seed=k)
                for k in range(4)
            )
        },
        ["run='seed'"],
        [
            sum(
                reciprocal_ranks(
                    numpy.reshape(SCORES.ravel() + 0.3 * (LONG.index % (2 + k) == 0), SCORES.shape)
                )
                for k in range(4)
            )
            / 4
        ],
    ),
    "two recommenders in a column": (
        evaluate,
        {
            "scores": pandas.concat([LONG, LONG.assign(score=-LONG["score"])]).assign(
                algorithm=["a"] * len(LONG) + ["b"] * len(LONG)
            )
        },
        ["model='algorithm'"],
        [RIGHT, reciprocal_ranks(-SCORES)],
    ),  # fmt: skip
    "a file": (evaluate, {"scores": "scores.csv"}, ["pandas.read_csv(scores)"], [RIGHT]),
    # Items in other forms
    "a mapping of lists, some of them empty": (
        evaluate,
        {"held_out": {u: row if u else [] for u, row in enumerate(SEVERAL)}},
        ["pandas.Series(held_out).explode().dropna()"],
        [reciprocal_ranks(relevant=SEVERAL, users=range(1, N_USERS))],
    ),
    "a mapping of items": (
        evaluate,
        {"held_out": dict(enumerate(ITEM.tolist()))},
        ["pandas.Series(held_out)"],
        [RIGHT],
    ),
    "lists of items": (
        evaluate,
        {"held_out": SEVERAL},
        ["pandas.Series([*held_out]).explode().dropna()"],
        [OF_SEVERAL],
    ),
    "a dense matrix of zeros and ones": (
        evaluate,
        {"train": KNOWN.astype(int)},
        ["scipy.sparse.csr_matrix(train)"],
        [reciprocal_ranks(out=KNOWN)],
    ),
    "a dense matrix of counts": (
        evaluate,
        {"train": KNOWN * g.integers(1, 7, SCORES.shape)},
        ["scipy.sparse.csr_matrix(train)"],
        [reciprocal_ranks(out=KNOWN)],
    ),
    "a dense matrix of stars": (
        evaluate,
        {"held_out": ((numpy.arange(N_ITEMS) == ITEM[:, None]) * 4.5).tolist()},
        ["scipy.sparse.csr_matrix(held_out)"],
        [RIGHT],
    ),
    "a dense matrix to exclude": (
        predicted,
        {"exclude": KNOWN},
        ["scipy.sparse.csr_matrix(exclude)"],
        [reciprocal_ranks(out=KNOWN)],
    ),
    "relevant ones with dislikes": (
        predicted,
        {
            "relevant": scipy.sparse.csr_matrix(
                (numpy.arange(N_ITEMS) == ITEM[:, None]).astype(int) - KNOWN
            )
        },
        ["relevant.multiply(relevant > 0)"],
        [RIGHT],
    ),
    "an array with gaps": (
        evaluate,
        {"held_out": numpy.where(numpy.arange(N_USERS) == 3, numpy.nan, ITEM)},
        ["pandas.Series(held_out).dropna()"],
        [reciprocal_ranks(users=[u for u in range(N_USERS) if u != 3])],
    ),
    "a column of users from 0 on": (
        evaluate,
        {"scores": LONG, "held_out": pandas.Series(ITEM)},
        ["pandas.Series(held_out).rename_axis('user')"],
        [RIGHT],
    ),
    "an array beside a dataframe": (
        evaluate,
        {"scores": LONG, "held_out": ITEM},
        ["pandas.Series(held_out).rename_axis('user')"],
        [RIGHT],
    ),
    "a mapping of columns": (
        evaluate,
        {"held_out": HELD_OUT.to_dict("list")},
        ["pandas.DataFrame(held_out)"],
        [RIGHT],
    ),  # fmt: skip
    # What is relevant
    "stars, of which every one is a hit": (
        evaluate,
        {"held_out": STARS},
        ["relevance=None"],
        [RIGHT],
    ),  # fmt: skip
    "stars as gains": (evaluate, {"held_out": STARS}, ["relevance='rating'"], [RIGHT]),
    "stars, of which some are no hits": (
        evaluate,
        {"held_out": STARS},
        ["if only some do, keep these", "relevance=None"],
        [LIKED],
    ),
    "clicks in words": (
        evaluate,
        {"held_out": STARS.assign(rating=["yes", "yes", "no"] * 4)},
        ["keep the rows that are relevant, and say relevance=None"],
        [LIKED],
    ),
    "zeros and ones": (
        evaluate,
        {"held_out": STARS.assign(rating=[1, 1, 0] * 4)},
        ["relevance='rating'"],
        [LIKED],
    ),
    "zeros and ones that say something else": (
        evaluate,
        {"held_out": STARS.assign(rating=[1, 1, 0] * 4)},
        ["relevance=None"],
        [RIGHT],
    ),  # fmt: skip
    # Drawn items
    "scores of 1 + 8 items": (
        evaluate,
        {"held_out": numpy.zeros(N_USERS, int), "items": 500},
        ["rs.report(rs.predicted_ranks(scores, held_out), n_items=500)", "'uniform' ("],
        [reciprocal_ranks(relevant=numpy.zeros(N_USERS, int))],
    ),
    "scores of 1 + 8 items, said to be drawn": (
        evaluate,
        {"held_out": numpy.zeros(N_USERS, int), "items": 500, "drawn": "uniform"},
        [
            "unlisted='out'",
            "rs.report(rs.predicted_ranks(scores, held_out), n_items=500)",
            "'uniform' (",
        ],
        [reciprocal_ranks(relevant=numpy.zeros(N_USERS, int))],
    ),
    "scores of 1 + 8 items by two": (
        evaluate,
        {
            "scores": {"a": SCORES, "b": -SCORES},
            "held_out": numpy.zeros(N_USERS, int),
            "items": 500,
        },
        [
            "rs.report({name: rs.predicted_ranks(one, held_out) for name, one in scores.items()}, "
            "n_items=500)",
            "'uniform' (",
        ],
        [reciprocal_ranks(sign * SCORES, relevant=numpy.zeros(N_USERS, int)) for sign in (1, -1)],
    ),
    "candidates without the held-out ones": (
        evaluate,
        {"scores": numpy.where(SHOWN, SCORES, -numpy.inf), "unlisted": "out", "drawn": "all"},
        ["among=", "'missed'"],
        [MISSED],
    ),
    "AUC of what is never found": (
        evaluate,
        {"scores": BEST.assign(score=-BEST["rank"]), "unlisted": "missed", "metrics": ["AUC"]},
        ["unlisted='below'"],
        # Behind the list of four, four others are tied with an item that it does not hold.
        [
            sum(
                (N_ITEMS - 1 - (SCORES[u] > SCORES[u, i]).sum()) / 8 if SHOWN[u, i] else 2 / 8
                for u, i in enumerate(ITEM)
            )
            / N_USERS
        ],
    ),
    "grades of drawn items": (
        evaluate,
        {
            "held_out": STARS,
            "relevance": "rating",
            "metrics": ["NDCG"],
            "among": rs.UniformSampling(N_ITEMS - 1),
        },
        ["keep the rows that are relevant and give relevance=None"],
        [sum(1 / math.log2(1 + r) for r in PLACE_OF_ITEM) / N_USERS],
    ),
    # Ranks
    "better exact ranks than drawn ones": (
        report,
        {"sampled": [5] * 20, "exact": [2, 3] * 10, "replace": False},
        ["replace=True"],
        [1 / 5],
    ),
    "other users of two recommenders": (
        report,
        {"sampled": {"a": PLACES, "b": OTHERS}},
        ["pandas.DataFrame(sampled).dropna().to_dict('series')"],
        inverse(PLACES.tolist()[10:]) + inverse(OTHERS.tolist()[:30]),
    ),
    "copies of users": (
        report,
        {"sampled": pandas.concat([PLACES, PLACES[:6]])},
        ["sampled[~sampled.index.duplicated()]"],
        inverse(RANKS),
    ),
    "several draws of a user": (
        report,
        {"sampled": pandas.concat([PLACES, 1 + PLACES[:6]])},
        ["groups="],
        inverse([*RANKS, *(1 + RANKS[:6])]),
    ),
    "ranks from 0 on": (
        report,
        {"sampled": (RANKS - 1).tolist()},
        ["numpy.add(sampled, 1)"],
        inverse(RANKS),
    ),
    "means of tied places": (
        report,
        {"sampled": [1.5, 2, 3] * 20},
        ["rs.Ranks takes the first of their places, and ties= how many share them"],
        [((1 + 1 / 2) / 2 + 1 / 2 + 1 / 3) / 3],
    ),
    "names in another order": (
        report,
        {
            "m": None,
            "sampled": {
                "a": rs.Ranks(RANKS, 101, ids=PLACES.index),
                "b": rs.Ranks(RANKS[::-1], 101, ids=PLACES.index[::-1]),
            },
        },
        ["ranks[numpy.argsort(ranks.ids)]"],
        inverse(RANKS) * 2,
    ),  # fmt: skip
    "a popular draw": (
        report,
        {"sampled": RANKS, "drawn": "popular"},
        ["replace=False"],
        inverse(RANKS),
    ),
    "a draw of items that users share": (
        report,
        {"sampled": RANKS, "drawn": "shared"},
        ["exact="],
        inverse(RANKS),
    ),
    "what ranks remember": (
        report,
        {
            "sampled": rs.UniformSampling(100).draw(rs.Ranks(RANKS, 2_000), 0),
            "drawn": "popular",
            "m": None,
        },
        ["leave it out"],
        inverse(rs.UniformSampling(100).draw(rs.Ranks(RANKS, 2_000), 0).values),
    ),  # fmt: skip
    "counts where each instance is needed": (
        metric,
        {"ranks": rs.RankCounts.of(RANKS, 99)},
        ["counts.mean(function)"],
        inverse(RANKS),
    ),
    "counts beside ranks": (
        report,
        {"sampled": {"a": rs.Ranks(RANKS, 101), "b": rs.RankCounts.of(RANKS, 101)}, "m": None},
        ["RankCounts.of counts Ranks"],
        inverse(RANKS) * 2,
    ),
    "a metric without a cut-off": (
        metric,
        {"metric": rs.Recall, "ranks": rs.Ranks(RANKS, 99)},
        ["write Recall @ 10"],
        [sum(RANKS <= 10) / 40],
    ),
}


# What a line says in words, or leaves to the user, is done as it says.
BY_HAND = {
    "'missed'": lambda given: {"unlisted": "missed"},
    "'uniform' (": lambda given: {"drawn": "uniform"},
    "score=...": lambda given: {"score": "liking"},
    "what users know": lambda given: {"train": scipy.sparse.csr_matrix(KNOWN)},
    "if only": lambda given: {"held_out": given["held_out"].query("rating >= 4")},
    "keep the rows that are relevant, and": lambda given: {
        "held_out": given["held_out"].query("rating == 'yes'"),
        "relevance": None,
    },
    "keep the rows that are relevant and give": lambda given: {"relevance": None},
    "among=": lambda given: {
        "among": pandas.DataFrame(numpy.argwhere(given["scores"] > 0), columns=["user", "item"]),
        "drawn": "all",
        "unlisted": None,
    },
    "groups=": lambda given: {"groups": given["sampled"].index.to_numpy()},
    "rs.Ranks takes": lambda given: {
        "sampled": rs.Ranks([int(one) for one in given["sampled"]], 101, ties=[1, 0, 0] * 20),
        "m": None,
    },
    "ranks[": lambda given: {
        "sampled": {
            name: ranks[numpy.argsort(ranks.ids)] for name, ranks in given["sampled"].items()
        }
    },
    "exact=": lambda given: {
        "exact": (range(40), rs.Ranks(given["sampled"] * 15, 2_000)),
        "drawn": "unknown",
        "replace": False,
    },
    "leave it": lambda given: {"drawn": None},
    "RankCounts.of": lambda given: {
        "sampled": {
            name: rs.RankCounts.of(one) if isinstance(one, rs.Ranks) else one
            for name, one in given["sampled"].items()
        }
    },
    "write Recall": lambda given: {"metric": rs.Recall @ 10},
    "counts.mean": lambda given: {"metric": lambda counts: numpy.array([counts.mean(rs.RR)])},
}


def follow(given, line, argument):
    """What a line changes of what is given."""
    for words, done in BY_HAND.items():
        if line.startswith(words):
            return done(given)
    changed, brought = {}, given.get(argument)
    names = {"pandas": pandas, "numpy": numpy, "scipy": scipy, "KNOWN": KNOWN, "rs": CALLS}
    for part in line.split(" with "):
        option = re.match(r"(\w+)=(?!=)(.*)", part)
        code = option[2] if option else f"brought{part}" if part[0] == "." else part
        found = eval(code, names | given | {"brought": brought})
        found = {"a": found} if "scores['a']" in part else found
        changed[option[1] if option else argument] = found
    return changed


# A whole call replaces the one that was refused.
CALLS = types.SimpleNamespace(
    report=lambda sampled, **more: ("report", {"sampled": sampled} | more),
    predicted_ranks=rs.predicted_ranks,
)


@functools.cache
def followed(row):
    """Each line with its message on the way, and what comes of following them."""
    call, given, lines, _ = TABLE[row]
    said, given = [], USUAL[call] | given
    for line in lines:
        with pytest.raises(InputError) as caught:
            call(given)
        said.append((line, str(caught.value)))
        given = given | follow(given, line, caught.value.argument)
        if isinstance(given.get("items"), tuple):
            call, given = report, {"metrics": ["RR"]} | given["items"][1]
    return said, call(given)


@pytest.fixture(autouse=True)
def a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LONG.to_csv("scores.csv", index=False)


@pytest.mark.parametrize("row", TABLE)
def test_a_line_that_is_named_leads_to_the_right_number(row):
    said, found = followed(row)
    assert all(line in message for line, message in said)
    assert found == pytest.approx(TABLE[row][3], abs=1e-12)


def test_ranks_in_a_table_of_polars():
    polars = pytest.importorskip("polars")
    held_out = polars.from_pandas(HELD_OUT)
    given = {"scores": polars.from_pandas(BEST), "held_out": held_out, "metrics": ["RR"]}
    with pytest.raises(InputError) as caught:
        evaluate(given)
    line = str(caught.value).rpartition(": ")[2].removesuffix(" makes scores of ranks")
    scores = eval(f"scores{line}", {"polars": polars} | given)
    found = evaluate(given | {"scores": scores, "unlisted": "missed"})
    assert found == pytest.approx([MISSED], abs=1e-12)


def test_the_weighted_mean_that_is_named_in_place_of_gauc():
    with pytest.raises(InputError) as caught:
        rs.metric("gauc")
    values, average = re.search(r"values = (\S+), and (.*)", str(caught.value)).groups()
    clicks = numpy.arange(1, N_USERS + 1)
    result = rs.evaluate(SCORES, HELD_OUT, metrics=["AUC"])
    names = {"numpy": numpy, "clicks": clicks, "values": eval(values, {"result": result})}
    by_user = [(N_ITEMS - place) / (N_ITEMS - 1) for place in PLACE_OF_ITEM]
    right = sum(one * n for one, n in zip(by_user, clicks)) / sum(clicks)
    assert eval(average, names) == pytest.approx(right, abs=1e-12)


# What a line of code looks like, and an option in a text that names arguments.
CODE = re.compile(r"\w\(|\.\w+\(|\w=(?!=)|\w\[|@ 10|\{\w+:=")
# Which argument of a call is the end of a message; functions that make such ends.
ENDS = {"got": 1, "InputError": 3, "refuse_frame": 2, "refuse_masked": 2}
MAKERS = {"conversion", "conversion_of_frame", "_of_wide", "told_apart", "_cure"}


def texts_of(node, scope, made):
    """The texts that an expression may be: constants, with {} for what is filled in."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
        return ["".join(parts)]
    if isinstance(node, ast.Name):
        return [text for value in scope.get(node.id, ()) for text in texts_of(value, {}, made)]
    if isinstance(node, ast.Call):
        called = name_of(node)
        if called in ("Naming", "format"):
            return texts_of(node.args[0] if called == "Naming" else node.func.value, scope, made)
        return made.get(called, [])
    return [text for child in ast.iter_child_nodes(node) for text in texts_of(child, scope, made)]


def name_of(call):
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def assigned(nodes):
    """The values that names are given, by name."""
    found = {}
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts)
            for one, value in pairs:
                if isinstance(one, ast.Name) and value is not None:
                    found.setdefault(one.id, []).append(value)
    return found


def every_text(nodes):
    parts = [one for node in nodes for one in ast.walk(node)]
    whole = [one for one in parts if isinstance(one, ast.JoinedStr)]
    inside = {id(value) for one in whole for value in one.values}
    whole += [one for one in parts if isinstance(one, ast.Constant) and id(one) not in inside]
    return [text for one in whole for text in texts_of(one, {}, {})]


def named_lines():
    """All texts that look like a line, in the ends of refusals."""
    package, made, functions = Path(rs.__path__[0]), {}, []
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        everywhere = assigned(tree.body)
        for one in ast.walk(tree):
            if isinstance(one, ast.FunctionDef):
                functions.append((path.relative_to(package).as_posix(), one, everywhere))
                if one.name in MAKERS:  # all that stands in it, and the table that it reads
                    made[one.name] = every_text([*one.body, *everywhere.get("_LINES", [])])
    for place, function, everywhere in functions:
        scope = everywhere | assigned(ast.walk(function))
        for call in ast.walk(function):
            if isinstance(call, ast.Call):
                ends = [
                    one.value for one in call.keywords if one.arg in ("remedy", "cure", "missing")
                ]
                at = ENDS.get(name_of(call), len(call.args))
                for end in [*ends, *call.args[at : at + 1]]:
                    texts = texts_of(end, scope, made)
                    yield from ((place, text) for text in texts if CODE.search(text))


def pattern_of(text):
    """What a message looks like that has this text."""
    text = re.sub(r"\{(\w+|\{\}):=((?:[^{}]|\{[^{}]*\})*)\}", r"\1=\2", text)
    return re.compile(".*".join(map(re.escape, re.split(r"\{\w*(?:!r)?\}", text))))


def test_no_line_is_named_that_is_in_no_row():
    said = [message for row in TABLE for _, message in followed(row)[0]]
    lines = sorted(set(named_lines()))
    assert len(lines) > 30
    others = [one for one in lines if not any(pattern_of(one[1]).search(text) for text in said)]
    # Those of GAUC, and of Polars, are followed above.
    others = [one for one in others if one[0] != "metrics/names.py" and "polars" not in one[1]]
    assert not others
