"""A report with exact ranks of a few users."""

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample import AUC, Ranks, Recall
from recsample.inference.audit import Audit

USERS = 2000


@pytest.fixture(scope="module")
def study():
    """Exact ranks of X and Y, popular items that outrank them, and 200 users chosen at random."""
    rng = np.random.default_rng(0)
    exact = {
        name: ranks.break_ties("random", 0)[:USERS]
        for name, ranks in rs.datasets.recorded_ranks().items()
        if name != "Z"
    }
    popular = {}
    for name, ranks in exact.items():
        share = (ranks.values - 1) / (ranks.sizes - 1)
        popular[name] = 1 + np.minimum(rng.binomial(100, share**0.5), ranks.values - 1)
    return exact, popular, rng.choice(USERS, 200, replace=False)


def stated(exact, **others):
    return {"m": 100, "n_items": exact["X"].sizes, "drawn": "popular", "replace": False} | others


def test_one_recommender(study):
    exact, popular, few = study
    ranks = exact["X"]
    found = rs.report(popular["X"], exact=(few, ranks[few]), **stated(exact, metrics=["Recall@10"]))
    order = np.sort(few)
    audit = Audit(Ranks(popular["X"], 101), ranks[order], order, ranks.sizes, False)
    row = found.table.loc["Recall@10"]
    assert tuple(row[["value", "low", "high"]]) == pytest.approx(audit.mean(Recall @ 10)[:3])
    assert row["low"] < (Recall @ 10)(ranks).mean() < row["high"]
    assert row["low_for_others"] <= row["low"] and row["high"] <= row["high_for_others"]
    assert row["assumption"] == "audit"
    assert row["sampled"] == pytest.approx((popular["X"] <= 10).mean())
    (sentence,) = found.sentences
    assert f"limits {row['low']:.3f} to {row['high']:.3f} for these 2,000 users" in sentence
    assert "exact ranks of 200 chosen at random" in sentence
    assert "They were chosen as wholes; nothing" in found.footnote
    assert "nothing is assumed of the ranks, nor of how items were drawn" in found.footnote
    assert "uniform" not in str(found) + sentence


def test_forms_of_the_same_exact_ranks(study):
    exact, popular, few = study
    names = pd.Index([f"u{i}" for i in range(USERS)])
    column = pd.Series(popular["X"], names)
    known = np.full(USERS, np.nan)
    known[few] = exact["X"].values[few]
    series = pd.Series(exact["X"].values[few], names[few])
    options = stated(exact, metrics=["AP"])
    tables = [
        rs.report(sampled, exact=one, **options).table
        for sampled, one in (
            (popular["X"], known),
            (popular["X"], (few, exact["X"][few])),
            (column, series),
            (column, series.sample(frac=1, random_state=0)),
            (column, series.reindex(names)),
        )
    ]
    assert all(one.equals(tables[0]) for one in tables)


def test_several_recommenders_and_their_difference(study):
    exact, popular, few = study
    audits = {name: (few, ranks[few]) for name, ranks in exact.items()}
    found = rs.report(popular, exact=audits, **stated(exact, metrics=[AUC]))
    pair = found.pairs.loc[("X", "Y", "AUC")]
    truth = AUC(exact["X"]).mean() - AUC(exact["Y"]).mean()
    assert pair["low"] < truth < pair["high"]
    assert pair["probability"] > 0.975
    assert pair["assumption"] == "audit"
    audits["Y"] = (few[1:], exact["Y"][few[1:]])
    with pytest.raises(ValueError, match="the same instances of each recommender, got other ones"):
        rs.report(popular, exact=audits, **stated(exact))
    with pytest.raises(ValueError, match="exact must hold ranks of .'X', 'Y'., by the names"):
        rs.report(popular, exact=audits["X"], **stated(exact))


def test_segments_are_audits_of_their_own(study):
    exact, popular, few = study
    found = rs.report(popular["X"], exact=(few, exact["X"][few]), **stated(exact, metrics=[AUC]))
    half = np.arange(USERS) % 2
    by = found.by(half)
    inside = np.flatnonzero(half == 1)
    audited = np.sort(few[half[few] == 1])
    places = np.searchsorted(inside, audited)
    options = stated(exact, metrics=[AUC], n_items=exact["X"].sizes[inside])
    alone = rs.report(popular["X"][inside], exact=(places, exact["X"][audited]), **options)
    assert by.loc[(1, "AUC"), "low"] == pytest.approx(alone.table.loc["AUC", "low"])
    everybody = np.setdiff1d(np.arange(USERS), few)
    with pytest.raises(ValueError, match="at least two audited users each, got 0"):
        found.by(np.isin(np.arange(USERS), everybody[:50]))


def test_a_result_of_an_audit_is_exported_and_drawn(study):
    exact, popular, few = study
    found = rs.report(popular["X"], exact=(few, exact["X"][few]), **stated(exact, metrics=[AUC]))
    assert '"assumption": "audit"' in found.to_json()
    assert "0.8" in found.to_markdown()
    assert len(found.plot().axes) == 1


def test_chances_that_are_stated(study):
    exact, popular, _ = study
    rng = np.random.default_rng(1)
    chances = np.where(popular["X"] == 1, 0.5, 0.05)
    few = np.flatnonzero(rng.random(USERS) < chances)
    audit = few, exact["X"][few]
    options = stated(exact, metrics=["Recall@1"]) | {"exact": audit}
    found = rs.report(popular["X"], chosen=chances, **options)
    row = found.table.loc["Recall@1"]
    assert row["low"] < (Recall @ 1)(exact["X"]).mean() < row["high"]
    assert "chosen with stated chances" in found.sentences[0]
    with pytest.raises(ValueError, match="an audit by sampled rank needs its chances"):
        rs.report(popular["X"], **options)
    for wrong, what in (
        (np.zeros(USERS), "above 0 and at most 1, and 1 only of who was audited, got 0 for"),
        (np.ones(USERS), "got 1 for instance"),
        (chances / 5, "on average, got"),
        (chances[1:], "a chance for each of the 2000 instances"),
        ("popular", "chosen must be 'random' or each instance's chance to be audited"),
    ):
        with pytest.raises(ValueError, match=what):
            rs.report(popular["X"], chosen=wrong, **options)


def test_what_cannot_be_is_refused(study):
    exact, popular, few = study
    better = np.full(USERS, np.nan)
    better[few] = popular["X"][few] - 1.0
    better[few[popular["X"][few] == 1]] = 1
    with pytest.raises(ValueError, match=r"rank \d+ among the drawn items allows .* in instance"):
        rs.report(popular["X"], exact=better, **stated(exact))
    counts = rs.RankCounts([1, 2], [500, 1500], 101)
    with pytest.raises(ValueError, match="RankCounts do not say who was audited"):
        rs.report(counts, n_items=3541, drawn="uniform", exact=better)
