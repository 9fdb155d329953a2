"""Scores with ties, the ranks under them, and every order in which no score rises."""

from itertools import combinations, product

import numpy as np
from scipy import sparse

import recsample as rs


def tied_scores(rng, most_items=8):
    """A few scores with ties, and some relevant items."""
    n_items = int(rng.integers(5, most_items + 1))
    n_relevant = int(rng.integers(1, 4))
    scores = rng.integers(0, rng.integers(2, 9), n_items)
    return scores, rng.choice(n_items, n_relevant, replace=False)


def ranks_of(scores, relevant):
    matrix = sparse.csr_matrix(
        (np.ones(len(relevant)), (np.zeros(len(relevant), int), relevant)), (1, len(scores))
    )
    return rs.predicted_ranks(np.array([scores], float), matrix)


def orders(scores, relevant):
    """The places that the relevant items have in every order in which no score rises, counted."""
    blocks, place = [], 0
    for score in sorted(set(scores), reverse=True):
        items = np.flatnonzero(scores == score)
        hits = int(np.isin(items, relevant).sum())
        blocks.append([tuple(place + p for p in c) for c in combinations(range(len(items)), hits)])
        place += len(items)
    return [sorted(sum(choice, ())) for choice in product(*blocks)]


def many_ranks(rng, n_instances=40, n_items=500, tied=0):
    """Ranks of 1 to 8 relevant items, half of them good; the first `tied` sets have many ties."""
    scores = rng.standard_normal((n_instances, n_items))
    scores[:tied] = np.round(2 * scores[:tied]) / 2
    relevant = sparse.lil_matrix((n_instances, n_items))
    for user in range(n_instances):
        items = rng.choice(n_items, rng.integers(1, 9), replace=False)
        relevant[user, items] = 1
        scores[user, items[::2]] += 1.5
    return rs.predicted_ranks(scores, relevant.tocsr())
