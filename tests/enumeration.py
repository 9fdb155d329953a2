"""Orders of the irrelevant items: all of them, and the one of a scan written out."""

from functools import cache
from itertools import permutations

import numpy as np

from recsample.sampling.sequential.scanning import item_at


def orders(n_irrelevant, above):
    """All distinct orders of the irrelevant items; True for those above the relevant one."""
    items = [True] * above + [False] * (n_irrelevant - above)
    return sorted(set(permutations(items)))


def position(order, k=1):
    """Where the k-th item above stands, behind all if there is none."""
    places = [t for t, above in enumerate(order, 1) if above]
    return places[k - 1] if len(places) >= k else len(order) + 1


@cache
def order_of(user, n_items, seed):
    return item_at(np.arange(n_items), user, n_items, seed=seed).tolist()


def in_scan(scores, user, item, skipped, seed):
    """Which of a user's irrelevant items, in the order of the scan, outrank a relevant one."""
    order = order_of(user, len(scores), seed)
    return [bool(scores[i] > scores[item]) for i in order if i not in skipped]


def mean(values):
    return sum(values) / len(values)
