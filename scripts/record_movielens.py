"""Where X, Y and Z rank the held-out movies of MovieLens-1M: recsample/data/recorded_*.npz.

The text beside each file says what it holds. Each takes a minute or two.
"""

import platform
import re
from importlib.metadata import version

import numpy as np
from record_studies import ROOT
from scipy import sparse

from recsample import predicted_ranks
from recsample.recommenders import ItemKNN, MatrixFactorization
from recsample.sampling.given_lists import given_ranks
from recsample.sampling.list_checks import faults, uniformity

DATA = ROOT / "recsample/data"
RECOMMENDERS = {
    "X": MatrixFactorization(rng=0),
    "Y": ItemKNN(exponent=3),
    "Z": ItemKNN(exponent=1, n_neighbors=10),
}


def record(name, folder, *data):
    """Write the arrays, and the versions they were made with into the text beside them."""
    arrays = {"ranks": ranks, "several": several, "lists": lists}[name](*data)
    np.savez_compressed(folder / f"recorded_{name}.npz", **{k: small(a) for k, a in arrays.items()})
    packages = [f"{package} {version(package)}" for package in ("numpy", "scipy", "implicit")]
    made_with = ", ".join([f"Python {platform.python_version()}", *packages])
    text = (DATA / f"recorded_{name}.md").read_text(encoding="utf-8")
    text = re.sub("(?m)^- Versions: .*", f"- Versions: {made_with}.", text)
    (folder / f"recorded_{name}.md").write_text(text, encoding="utf-8")


def small(array):
    """Whole numbers in the smallest type that holds them."""
    return array.astype(np.min_scalar_type(array.max())) if array.dtype.kind == "i" else array


def ranks(data):
    """Of the one held-out movie of each user, among all without a training event."""
    arrays = {}
    for name, recommender in RECOMMENDERS.items():
        found = recommender.fit(data.train).ranks(data)
        arrays |= {f"rank_{name}": found.values, f"ties_{name}": found.ties}
    return arrays | {"n_items": found.n_items}


def several(data):
    """Of ten held-out movies of each user."""
    arrays, (train, held_out) = {}, ten_held_out(data)
    for name, recommender in RECOMMENDERS.items():
        scores = recommender.fit(train).scores(np.arange(data.n_users))
        found = predicted_ranks(scores, held_out, exclude=train)
        arrays |= {f"rank_{name}": np.stack(found.values), f"ties_{name}": np.stack(found.ties)}
    return arrays | {"n_items": found.n_items}


def ten_held_out(data):
    """The training events and the held-out ones, as matrices."""
    events = with_held_out(data)
    events.sort_indices()
    user, item = events.nonzero()
    in_random_order = np.lexsort((np.random.default_rng(0).random(len(user)), user))
    chosen = np.zeros(len(user), bool)
    chosen[in_random_order[np.arange(len(user)) - events.indptr[user] < 10]] = True
    return [
        sparse.csr_matrix((np.ones(part.sum(), bool), (user[part], item[part])), events.shape)
        for part in (~chosen, chosen)
    ]


def with_held_out(data):
    """All events, as a matrix."""
    last = np.ones(data.n_users, bool), data.held_out, np.arange(data.n_users + 1)
    return sparse.csr_matrix(data.train + sparse.csr_matrix(last, data.train.shape))


def lists(data, published):
    """Of the one held-out movie among 99 listed ones, and what is found out of the lists."""
    both = with_held_out(data)
    # The published lists may hold the held-out movie, the others may not.
    of_kind = {
        "published": (published, data.train),
        "lowest": (lowest_ids(99, both, np.random.default_rng(0)), both),
    }
    arrays = {}
    for kind, (listed, exclude) in of_kind.items():
        found = faults(listed, data.held_out, data.n_items, data.train)
        table = uniformity(listed, exclude)
        arrays |= {f"{kind}_{key}": array for key, array in item_counts(listed, exclude).items()}
        arrays |= {f"{kind}_faults": (found > 0).sum().to_numpy(), "kinds": found.columns}
        arrays |= {f"{kind}_uniformity": table, "tests": table.index, "columns": table.columns}
    for name, recommender in RECOMMENDERS.items():
        fitted = recommender.fit(data.train)
        blocks = np.array_split(np.arange(data.n_users), 1 + data.n_users // 1000)
        scores = np.concatenate([fitted.scores(users) for users in blocks])
        for kind, (listed, _) in of_kind.items():
            among = given_ranks(scores, data.held_out, listed, data.train, drop=["relevant"])
            arrays |= {f"{kind}_rank_{name}": among.values, f"{kind}_ties_{name}": among.ties}
            arrays[f"{kind}_n_items"] = among.n_items
    names = ["kinds", "tests", "columns"]
    return {key: np.array(array, str if key in names else None) for key, array in arrays.items()}


def lowest_ids(m, exclude, rng):
    """Lists as WarpRec drew them: of 2 m draws the m lowest numbers that are not excluded.

    Where fewer are left, further ones are drawn one by one.
    """
    n_users, n_items = exclude.shape
    lists = np.empty((n_users, m), np.int64)
    for row, excluded in zip(lists, np.split(exclude.indices, exclude.indptr[1:-1])):
        candidates = np.delete(np.arange(n_items), excluded)
        drawn = np.unique(rng.integers(n_items, size=2 * m))
        lowest = np.intersect1d(drawn, candidates, assume_unique=True)[:m]
        others = np.setdiff1d(candidates, lowest, assume_unique=True)
        row[:] = np.append(lowest, rng.choice(others, m - len(lowest), replace=False))
    return lists


def item_counts(listed, exclude):
    """How often each item is listed, and the mean and spread of that for uniform draws.

    These are rounded: from the exact numbers one could tell who has rated a movie that few have.
    """
    n_users, n_items = exclude.shape
    share = listed.shape[1] / (n_items - np.diff(exclude.indptr))
    mean, variance = (each.sum() - exclude.T @ each for each in (share, share * (1 - share)))
    observed = np.bincount(listed.ravel(), minlength=n_items)
    return {"observed": observed, "expected": mean.round(1), "std": np.sqrt(variance).round(2)}
