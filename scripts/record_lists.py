"""Rank the held-out movies of MovieLens-1M among given lists of negatives, and record the result.

    python scripts/record_lists.py                  # data downloaded or from the cache
    python scripts/record_lists.py --data FOLDER    # with ratings.dat and ml-1m.test.negative
    python scripts/record_lists.py --pairs user_movie_pairs.npz --held-out ml-1m.test.rating \\
        --negatives ml-1m.test.negative

Writes recorded_lists.npz and recorded_lists.md to recsample/data. Takes about two minutes. The
recommenders are those of scripts/record_ranks.py.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from record_ranks import RECOMMENDERS, read_pairs, versions
from scipy import sparse

from recsample.datasets.movielens import load_movielens, load_negatives
from recsample.sampling.given_lists import given_ranks
from recsample.sampling.list_checks import faults, uniformity

PROVENANCE = """# X, Y and Z on given lists of negatives, MovieLens-1M

`recorded_lists.npz` is written by `python scripts/record_lists.py`, and this text with it.

It describes two sets of lists, one list of 99 movies for each of the {n_users:,} users:

- `published`: those of `datasets.load_negatives`, published with neural collaborative filtering
  (He et al., WWW 2017). {relevant} users have their own held-out movie in their list.
- `lowest`: those of a sampler that keeps the lowest numbers (`lowest_ids` in the script), with the
  training events and the held-out movies excluded.

What it holds of each, the name with the prefix `published_` or `lowest_`:

- `rank_X`, `rank_Y`, `rank_Z`: for each user, 1 + how many listed movies score higher than the
  held-out one; `ties_X`, `ties_Y`, `ties_Z`: how many others score exactly the same.
- `n_items`: for each user, how many movies are ranked. These are the held-out movie and the list; a
  held-out movie in the list does not count twice.
- `observed`, `expected`, `std`: for each movie, in how many lists it is, and the mean and the
  standard deviation of this number for uniform draws, rounded to one and two decimals.
- `faults`: by kind (array `kinds`), how many lists have the fault.
- `uniformity`: the two tests of `sampling.list_checks.uniformity` (arrays `tests`, `columns`).

Where it comes from:

- Data: MovieLens-1M (F. M. Harper, J. A. Konstan, "The MovieLens Datasets: History and Context",
  ACM TiiS 5(4), 2015), stars left aside. Held out is one event per user, from the split of
  He et al.; the other {n_train:,} events are for training.
- Recommenders:
{recommenders}
- Versions: {versions}.

Licence: MovieLens may be used for research and may not be redistributed. This file holds no rating,
says of no user which movies were rated, and holds no list.
"""


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


def item_counts(lists, exclude):
    """How often each item is listed, and the mean and spread of that for uniform draws."""
    n_users, n_items = exclude.shape
    share = lists.shape[1] / (n_items - np.diff(exclude.indptr))
    mean, variance = (each.sum() - exclude.T @ each for each in (share, share * (1 - share)))
    observed = np.bincount(lists.ravel(), minlength=n_items)
    return pd.DataFrame({"observed": observed, "expected": mean, "std": np.sqrt(variance)})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder, as load_movielens takes it")
    parser.add_argument("--pairs", type=Path, help="npz with user_id and movie_id of all ratings")
    parser.add_argument("--held-out", type=Path, help="with --pairs: the split's list")
    parser.add_argument("--negatives", type=Path, help="with --pairs: the published negatives")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parents[1] / "recsample" / "data"
    )
    args = parser.parse_args()
    given = [args.pairs, args.held_out, args.negatives]
    if len({path is None for path in given}) == 2 or (args.pairs and args.data):
        parser.error("give either --data, or --pairs, --held-out and --negatives, or none of them")
    if args.pairs:
        data, published = read_pairs(args.pairs, args.held_out), load_negatives(args.negatives)
    else:
        data, published = load_movielens(args.data), load_negatives(args.data)

    held_out = sparse.csr_matrix(
        (np.ones(data.n_users, bool), data.held_out, np.arange(data.n_users + 1)), data.train.shape
    )
    both = sparse.csr_matrix(data.train + held_out)
    # The published lists may hold the held-out movie, the others may not.
    lists = {
        "published": (published, data.train),
        "lowest": (lowest_ids(99, both, np.random.default_rng(0)), both),
    }
    arrays = {}
    for name, (listed, exclude) in lists.items():
        # Rounded, since from the exact numbers one could tell who has rated a movie that few have.
        counts = item_counts(listed, exclude).round({"expected": 1, "std": 2})
        arrays |= {f"{name}_{column}": counts[column].to_numpy() for column in counts}
        found = faults(listed, data.held_out, data.n_items, data.train)
        arrays[f"{name}_faults"] = (found > 0).sum().to_numpy()
        arrays["kinds"] = found.columns.to_numpy(str)
        table = uniformity(listed, exclude)
        arrays |= {f"{name}_uniformity": table.to_numpy(), "tests": table.index.to_numpy(str)}
        arrays["columns"] = table.columns.to_numpy(str)
    for name, recommender in RECOMMENDERS.items():
        print(f"{name} = {recommender}")
        scores = all_scores(recommender.fit(data.train), data.n_users)
        for key, (listed, _) in lists.items():
            ranks = given_ranks(scores, data.held_out, listed, data.train, drop=["relevant"])
            arrays |= {f"{key}_rank_{name}": ranks.values, f"{key}_ties_{name}": ranks.ties}
            arrays[f"{key}_n_items"] = ranks.n_items
    np.savez_compressed(
        args.output / "recorded_lists.npz", **{k: small(a) for k, a in arrays.items()}
    )
    relevant = int(arrays["published_faults"][list(arrays["kinds"]).index("relevant")])
    (args.output / "recorded_lists.md").write_text(provenance(data, relevant), encoding="utf-8")
    print(f"written to {args.output}")


def all_scores(recommender, n_users):
    """The scores of all users, a thousand at a time."""
    blocks = [np.arange(i, min(i + 1000, n_users)) for i in range(0, n_users, 1000)]
    return np.concatenate([recommender.scores(users) for users in blocks])


def small(array):
    """Whole numbers in the smallest type that holds them."""
    return array.astype(np.min_scalar_type(array.max())) if array.dtype.kind == "i" else array


def provenance(data, relevant):
    return PROVENANCE.format(
        n_users=data.n_users,
        n_train=data.train.nnz,
        relevant=relevant,
        recommenders="\n".join(f"  - {name}: `{r}`" for name, r in RECOMMENDERS.items()),
        versions=versions(),
    )


if __name__ == "__main__":
    main()
