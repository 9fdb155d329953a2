"""Words of each kind of study and those that all share, from made-up findings: nothing computed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import recsample as rs
from recsample.evaluation import audited, exact, printed_study, sampled, say
from recsample.evaluation.findings import Findings, Look, Study, Tied
from recsample.evaluation.results import Result
from recsample.inference import BlindSpot

RECALL, AUC = rs.Recall @ 10, rs.AUC
LIMITS = {"value": 0.123, "low": 0.1, "high": 0.15}
NARROW = LIMITS | {"if_low": 0.11, "if_high": 0.13, "sampled": 0.4, "assumption": "decreasing"}
NONE = dict.fromkeys(("if_low", "if_high"), np.nan)
REFUTED = dict.fromkeys(NARROW, np.nan) | {"assumption": ""}
SOURCE = "123,456 instances, m = 1,000 of 11,996 to 333,997 irrelevant items"
DRAWS = "m = 99 or 100 of 11,389 to 333,689 irrelevant items"
MANY = rs.Ranks([[1, 2]] * 1_234, np.where(np.arange(1_234) < 600, 12_000, 34_000))


def sentences():
    """A sentence of every kind, with as many words as it can have, and what it starts with."""
    for blind in (None, BlindSpot(9, 0.5), BlindSpot(10, 0.5)):
        said = sampled.sentence(RECALL, NARROW, SOURCE, blind, 1.0)
        seen = blind is None or blind.ranks < 10
        assert ("0.110 to 0.130 if rank frequencies decrease" in said) == seen
        assert ("without assumptions" in said) != seen
        yield said, "The estimated Recall@10 is 0.123 (95 % limits 0.100 to 0.150"
    for word, more in (("none", ""), ("contradicted", "; the data contradict that rank")):
        row = NARROW | NONE | {"assumption": word}
        said = sampled.sentence(RECALL, row, SOURCE, BlindSpot(9, 0.5), 1.0)
        assert f"without assumptions about the ranks{more}" in said
        yield said, "The estimated Recall@10 is 0.123 "
    said = sampled.sentence(RECALL, REFUTED, SOURCE, None, 1e-9)
    assert said.endswith("from such draws in fewer than 1 of 10,000 studies.")
    yield said, "Recall@10 has no estimate (123,456 instances"
    for low in (0.09, np.nan):
        row = LIMITS | {"low_for_others": low, "high_for_others": 0.16}
        chosen = "exact ranks of 123 chosen with stated chances"
        said = audited.sentence(RECALL, row, MANY, "11,996 to 333,997", chosen)
        assert ("for others" in said) != np.isnan(low)
        yield said, "Recall@10 is 0.123 (95 % limits 0.100 to 0.150 for these 1,234 users"
    yield exact.sentence(RECALL, LIMITS, MANY, "groups and runs", 0), "Recall@10 is 0.123 (95 % "
    bound = LIMITS | {"value": np.nan, "assumption": "bound"}
    said = exact.sentence(RECALL, bound, MANY, "users", 1_000)
    assert "1,000 of 2,468 held-out items stand somewhere behind" in said
    yield said, "Recall@10 is 0.100 to 0.150, bounds for these 1,234 users"
    nothing = dict.fromkeys(LIMITS, np.nan)
    yield exact.sentence(AUC, nothing, MANY, "users", 0), "AUC is undefined for these 1,234 users"
    alone = LIMITS | {"low": np.nan, "high": np.nan}
    yield exact.sentence(AUC, alone, MANY[:1], "users", 0), "AUC is 0.123, over 1 user with 2"
    row = NARROW | {"value": np.nan}
    said = printed_study.sentence(RECALL, row, 12, 6_040, DRAWS)
    assert "12 numbers at once; 0.110 to 0.130 if rank" in said
    yield said, "Recall@10 is 0.100 to 0.150 (95 % limits"


def test_every_sentence_has_forty_words_at_most():
    said = list(sentences())
    assert len(said) == 13
    for sentence, start in said:
        assert sentence.startswith(start) and sentence.endswith(".") and "nan" not in sentence
        assert len(sentence.split()) <= 40, sentence


def made_up(**changes):
    """Three recommenders by two metrics, of which `a` is the best."""
    values = {"a": 0.3, "b": 0.28, "c": 0.1}
    rows = {
        (name, m): {"value": x, "low": x - 0.05, "high": x + 0.05}
        for (name, x), m in product(values.items(), (RECALL, AUC))
    }
    pair = {"difference": 0.02, "low": -0.011, "high": 0.051, "probability": 0.8}
    apart = {"difference": 0.2, "low": 0.1, "high": 0.3, "probability": 1.0, "ahead": "a"}
    of_b = pair | {"ahead": "undecided"}
    pairs = {("a", "b", m): of_b for m in (RECALL, AUC)}
    pairs |= {("a", "c", m): apart for m in (RECALL, AUC)}
    pairs |= {("b", "c", m): apart | {"ahead": "b"} for m in (RECALL, AUC)}
    about = {
        "recommenders": tuple(values),
        "metrics": (RECALL, AUC),
        "named": True,
        "rows": rows,
        "pairs": pairs,
        "page": "evaluate",
        "head": "9 users, each ranked among 99 irrelevant items.",
        "limits": "95 % limits are for other users like these.",
        "sentences": {key: f"{key[1]} is so." for key in rows},
    }
    return Findings(**about | changes)


def test_beside_the_best_it_is_said_what_is_undecided():
    said = dict(zip(made_up().rows, say.sentences(made_up())))
    assert said["a", RECALL] == "a: Recall@10 is so." and said["c", AUC] == "c: AUC is so."
    assert said["b", AUC] == "b: AUC is so. Beside a: undecided, at most 0.051 apart."
    assert say.undecided(made_up()) == ("Undecided: at most 0.051 (Recall@10), 0.051 (AUC) apart.")
    words = {name: say.place(made_up(), name, AUC) for name in "abc"}
    assert words == {"a": ("best", "a"), "b": ("undecided", "a"), "c": ("behind", "a")}
    unknown = made_up(pairs={})
    assert say.place(unknown, "c", AUC) == ("undecided", "a") and say.undecided(unknown) == ""
    assert say.sentences(unknown)[-1] == "c: AUC is so."
    less = made_up(metrics=(rs.PercentileRank,), pairs={}, rows={
        (name, rs.PercentileRank): row for (name, _), row in made_up().rows.items()
    })  # fmt: skip
    assert say.place(less, "a", rs.PercentileRank)[1] == "c"  # less is better


def test_limits_of_a_difference_that_are_not_known_are_not_said():
    pairs = {
        key: dict.fromkeys(pair, np.nan) | {"ahead": "undecided"}
        for key, pair in made_up().pairs.items()
    }
    found = made_up(pairs=pairs)
    assert say.undecided(found) == "" and say.sentences(found)[2].endswith("Beside a: undecided.")


@pytest.mark.parametrize("prefix", ["", "if_"])
def test_an_estimate_outside_of_its_limits_and_a_contradiction_are_notes(prefix):
    assert say.notes(made_up()) == ()
    row = made_up().rows["b", AUC]
    outside = row | {f"{prefix}low": row["value"] + 0.01, f"{prefix}high": 0.9}
    key, pair = ("a", "b", AUC), made_up().pairs["a", "b", AUC]
    limits = {"low": 0.01, "high": 0.05, "probability": 0.4, "ahead": "undecided"}
    against = pair | {prefix + what: value for what, value in limits.items()}
    rows = made_up().rows | {("b", AUC): outside}
    first, second = say.notes(made_up(rows=rows, pairs=made_up().pairs | {key: against}))
    narrow = " if decreasing" * bool(prefix)
    said = f"b: AUC is estimated at 0.280, outside of its limits{narrow}, 0.290 to 0.900: "
    assert first.startswith(said)
    assert second.startswith(f"a - b, AUC: undecided, since the limits of the difference{narrow}, ")
    one = made_up(rows=rows, named=False, pairs={})
    assert say.notes(one)[0].startswith("AUC is estimated")


def test_notes_say_what_did_not_match_what_is_tied_and_then_what_is_of_the_kind():
    tied = Tied(3, 10, 0, 100, np.nan, AUC, 0.5, 0.7)
    pile = tied._replace(pile=60, lowest=-1.0)
    look = Look(0.5, False, False, np.inf, 60, 100)
    found = made_up(
        counts={("", "odd rows"): 2, ("a", "rows without a score"): 1_000, ("", "none"): 0},
        ties={"a": tied, "b": pile},
        looks={"c": look},
        notes=("something of the kind",),
        metrics=(rs.AP @ 5,),
        has_several=True,
    )
    *notes, of_kind, divided = say.notes(found)
    assert notes[:2] == ["odd rows: 2", "a: rows without a score: 1,000"]
    assert notes[2].startswith("a: held-out items that are tied with others: 3 of 10, whose order ")
    assert "moves AUC from 0.5000 to 0.7000; each value is the mean over all" in notes[2]
    assert notes[3].startswith("b: items with the lowest score, -1, ranked as tied: 3 of 10 held-")
    assert "and 60 of 100 others." in notes[3]
    assert notes[4].startswith("c: ranks of 1: 60 of 100. ") and len(notes) == 5
    assert of_kind == "something of the kind" and divided.startswith("AP@5 is divided by min(L, 5)")
    assert say.notes(replace(found, has_several=False))[-1] == of_kind


def test_a_footnote_goes_from_the_head_to_the_details():
    found = made_up(
        lists="Scores are lists.",
        grades=(1.0, 3.0),
        metrics=(rs.DCG @ 5, AUC),
        details=("First.", "", "Second."),
    )
    assert say.footnote(found) == (
        f"{found.head} Scores are lists. Gains in DCG@5 are linear, the grades themselves (1 to "
        f"3). In AUC every grade above 0 counts alike. {found.limits} First. Second."
    )
    assert say.page(found).endswith("/book/evaluate.html")


def test_a_result_is_printed_from_its_findings_alone():
    found = Result(Study(), made_up(), {"recsample": "0", "function": "none", "arguments": {}})
    lines = str(found).splitlines()
    assert lines[0] == found.head == made_up().head
    assert [line.split()[-1] for line in lines[3:9]] == ["best", "best"] + 2 * ["undecided"] + 2 * [
        "behind"
    ]
    assert lines[-3] == made_up().limits and lines[-2].startswith("Undecided: at most 0.051")
    assert lines[-1].startswith("No notes. See ") and found.notes == ()
    assert found.pairs["ahead"].tolist() == ["undecided"] * 2 + ["a"] * 2 + ["b"] * 2
    with pytest.raises(ValueError, match="^this result does not know the values of single users"):
        found.by([1, 2])
    bare = Result(Study(), made_up(has_values=False), found.made)
    assert "value" not in str(bare) and "value" in bare.table


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("stated", [True, False])
def test_ranks_that_are_a_surprise_are_said_to_be_one(named, stated):
    fit = {name: {"p_corrected": p} for name, p in zip("abc", (0.5, 0.004, 1e-9))}
    first, second = sampled.alarms(fit, stated, named)
    start = "b: ranks like these" if named else "Ranks like these"
    assert first.startswith(f"{start} come from such draws in fewer than 1 of 250 studies (p = 0.0")
    other = "what was stated of m, pools and draws is not so" if stated else "ranks were changed"
    assert "1 of 10,000 studies: either this is that study, or " in second and other in second


@pytest.mark.parametrize(("metric", "worse"), [(AUC, 0.0), (rs.PercentileRank, 1.0)], ids=str)
def test_the_best_twenty_are_shown_whichever_way_is_better(metric, worse):
    names = [f"model {i}." for i in range(25)]
    values = {name: abs(worse - i / 25) for i, name in enumerate(names)}
    rows = {(name, metric): {"value": x, "low": 0.0, "high": 1.0} for name, x in values.items()}
    found = made_up(recommenders=names, metrics=(metric,), rows=rows, pairs={}, sentences={})
    said = str(Result(Study(), found, {"recsample": "0", "function": "none", "arguments": {}}))
    assert [name for name in names if name in said] == names[5:]


def test_details_say_what_limits_rest_on():
    rows = [NARROW, NARROW | {"assumption": "none"}]
    for_all = sampled.details(rows, True, True, BlindSpot(9, np.nan))
    assert "as stated by whoever" in for_all[0] and "a random ranking" in for_all[1]
    assert "EM algorithm" in for_all[2] and "first 9 ranks" in for_all[3]
    assert sampled.details(rows[1:], False, False, None) == (
        "Items were drawn uniformly, anew for each instance, by recsample.",
        "",
    )
    assert len(audited.details(has_pairs=True)) == 2 == 1 + len(audited.details(has_pairs=False))
    assert "each the best of many epochs" in printed_study.details(rows, None)[-1]
