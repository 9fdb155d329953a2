"""What probably went wrong is named where it shows, and hardly ever where nothing did."""

import numpy as np
import pandas as pd
import pytest

import recsample as rs

RNG = np.random.default_rng
N_USERS, N_ITEMS = 300, 120
UPSIDE_DOWN = "9,999 of 10,000 random orders"


def shop(seed=0):
    """Scores of three recommenders, and the item that each user took."""
    rng = RNG(seed)
    utility = rng.normal(size=(N_USERS, 5)) @ rng.normal(size=(5, N_ITEMS))
    taken = np.argmax(utility + 2 * rng.gumbel(size=utility.shape), axis=1)
    noise = rng.normal(size=utility.shape)
    return {"good": utility, "fair": utility + noise, "random": noise}, taken


def best(scores, k):
    item = np.argsort(-scores, axis=1)[:, :k]
    user = np.repeat(np.arange(len(item)), k)
    return pd.DataFrame({"user": user, "item": item.ravel(), "score": scores[user, item.ravel()]})


def said(result, what):
    return [note for note in result.notes if what in note]


@pytest.mark.parametrize("k", [None, 20, N_ITEMS])
def test_scores_of_which_lower_ones_are_better_are_doubted(k):
    models, taken = shop()
    held_out = pd.DataFrame({"user": range(N_USERS), "item": taken})
    for name, scores in models.items():
        given = scores if k is None else best(scores, k)
        distances = -given if k is None else given.assign(score=-given["score"])
        found = {what: rs.evaluate(one, held_out, metrics=["RR"])
                 for what, one in {"scores": given, "distances": distances}.items()}  # fmt: skip
        assert not said(found["scores"], UPSIDE_DOWN)
        assert bool(said(found["distances"], UPSIDE_DOWN)) == (name != "random")


def sampled(name, m, seed=0):
    models, taken = shop(seed)
    ranks = rs.predicted_ranks(models[name], taken)
    return rs.UniformSampling(m).draw(ranks, seed).values


def reported(column, m, n_items=N_ITEMS):
    return rs.report(
        column, m=m, n_items=n_items, drawn="uniform", replace=False, metrics=["Recall@10", "AUC"]
    )


def test_columns_that_grow_with_the_score_are_doubted():
    column = sampled("good", 50)
    assert not said(reported(column, 50), UPSIDE_DOWN)
    assert said(reported(52 - column, 50), UPSIDE_DOWN)


def test_misses_at_the_end_are_named_though_few():
    column = sampled("good", 50)
    few = np.where(column > np.quantile(column, 0.95), 51, column)
    assert said(reported(few, 50), "were set to m + 1 = 51, as misses of a list are")


@pytest.mark.thorough
@pytest.mark.parametrize("m", [10, 20, 50, 100])
def test_honest_columns_are_seldom_doubted(m):
    columns = [sampled(name, m, seed) for name in ("good", "fair", "random") for seed in range(10)]
    assert sum(bool(reported(column, m).notes) for column in columns) <= 1


@pytest.mark.parametrize("cold", [0, 3])
def test_held_out_items_that_have_no_score_are_counted_where_all_others_have_one(cold):
    models, taken = shop()
    held_out = pd.DataFrame({"user": range(N_USERS), "item": taken})
    scores = best(models["good"], N_ITEMS)
    some = np.unique(taken)[:cold]
    found = rs.evaluate(scores[~scores["item"].isin(some)], held_out, metrics=["Recall@10"])
    what = "held-out items without any score, though all others have them"
    assert found.counts.loc[("", what), "count"] == np.isin(taken, some).sum()
    assert bool(said(found, what)) == (cold > 0)
    same = rs.evaluate(best(models["good"] * 0 + models["good"][0], 20), held_out)
    assert not said(same, what)  # a list for all has few items
