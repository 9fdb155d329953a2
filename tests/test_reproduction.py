"""The values that the chapter on the reproduction states for the real data, measured again.

The data is not part of the project, so the chapter cannot compute them. They stand in two of its
tables, which are read here. The recommenders are written once more, as dense matrices.
"""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

import recsample as rs
from recsample import AP, AUC, NDCG, Recall
from recsample.recommenders import MatrixFactorization

CHAPTER = Path(__file__).parents[1] / "book/reproduction.md"
METRICS = [Recall @ 10, NDCG @ 10, AP, AUC]


def rows(name):
    """The rows of a table of the chapter: first cell to the others."""
    text = CHAPTER.read_text(encoding="utf-8")
    table = re.search(rf"^:name: {name}\n(.*?)^```$", text, re.M | re.S)[1]
    cells = [[c.strip() for c in line.strip("| ").split("|")] for line in table.strip().split("\n")]
    return {first: others for first, *others in cells[2:]}


def percent(ranks):
    return np.array([100 * metric(ranks).mean() for metric in METRICS])


@pytest.fixture(scope="module")
def cosine(movielens):
    events = movielens.train.astype(float)
    common = (events.T @ events).toarray()
    size = np.maximum(common.diagonal(), 1)
    return common / np.sqrt(np.outer(size, size))


def item_based(data, similarity, *, divide=False, exclude=True):
    """Ranks under eqs. (29) and (30) for a dense s', with the denominator of (30) on request."""
    norm = np.linalg.norm(similarity, axis=1, keepdims=True)
    rows = similarity / np.where(norm > 0, norm, 1)
    scores = data.train.astype(float) @ rows.T
    if divide:
        total = rows.sum(axis=1)
        scores /= np.where(total > 0, total, 1)
    return rs.predicted_ranks(
        scores.round(12), data.held_out, exclude=data.train if exclude else None
    )


def nearest(cosine, *, itself=False):
    """Entry (i, j): is i among the ten items most similar to j?"""
    candidates = cosine if itself else np.where(np.eye(len(cosine), dtype=bool), -1, cosine)
    kept = np.zeros(cosine.shape, dtype=bool)
    best = np.argsort(-candidates, axis=0, kind="stable")[:10]
    np.put_along_axis(kept, best, True, axis=0)
    return kept


VARIANTS = {
    "Y: numerator only": lambda data, c: item_based(data, c**3),
    "Y: with the denominator": lambda data, c: item_based(data, c**3, divide=True),
    "Y: without self-similarity": lambda data, c: item_based(data, c**3 * (1 - np.eye(len(c)))),
    "Y: training items ranked too": lambda data, c: item_based(data, c**3, exclude=False),
    "Z: $i$ among the ten nearest of $j$": lambda data, c: item_based(data, c * nearest(c)),
    "Z: $j$ among the ten nearest of $i$": lambda data, c: item_based(data, c * nearest(c).T),
    "Z: an item counts among its own ten": lambda data, c: item_based(
        data, c * nearest(c, itself=True)
    ),
}


def test_the_chapter_lists_these_variants():
    assert list(rows("tab-reproduction-items")) == list(VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_of_y_and_z(movielens, cosine, variant):
    stated = np.array(rows("tab-reproduction-items")[variant], dtype=float)
    assert np.abs(percent(VARIANTS[variant](movielens, cosine)) - stated).max() < 0.0055


def test_x_after_few_passes(movielens):
    # Over three random starts; a little is allowed for other versions of the libraries.
    for passes, stated in rows("tab-reproduction-passes").items():
        starts = (MatrixFactorization(n_iterations=int(passes), rng=rng) for rng in range(3))
        found = [percent(start.fit(movielens.train).ranks(movielens)) for start in starts]
        ends = np.array([re.findall(r"[\d.]+", cell) for cell in stated], dtype=float)
        assert np.abs(np.min(found, axis=0) - ends[:, 0]).max() < 0.03
        assert np.abs(np.max(found, axis=0) - ends[:, 1]).max() < 0.03


def test_published_negatives_that_are_relevant(ml_1m, movielens):
    # The chapter on your own study states the number.
    with gzip.open(ml_1m / "ncf.test.negative.gz", "rt") as file:
        lists = [[int(item) for item in line.split("\t")[1:]] for line in file]
    found = sum(item in listed for item, listed in zip(movielens.held_out, lists, strict=True))
    assert (found, len(lists)) == (156, 6040) and {len(listed) for listed in lists} == {99}
    assert "156 of the 6,040" in (CHAPTER.parent / "your_study.md").read_text(encoding="utf-8")
