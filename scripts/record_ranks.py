"""Train X, Y and Z on MovieLens-1M and record their ranks as the package's embedded default.

    python scripts/record_ranks.py                    # data downloaded or from the cache
    python scripts/record_ranks.py --data ml-1m.zip   # the archive, or a folder with ratings.dat
    python scripts/record_ranks.py --pairs user_movie_pairs.npz --held-out ml-1m.test.rating

Writes recorded_ranks.npz and recorded_ranks.md to recsample/data. Takes about a minute.
"""

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

from recsample.datasets.interactions import Interactions
from recsample.datasets.movielens import load_movielens
from recsample.recommenders import ItemKNN, MatrixFactorization

RECOMMENDERS = {
    "X": MatrixFactorization(rng=0),
    "Y": ItemKNN(exponent=3),
    "Z": ItemKNN(exponent=1, n_neighbors=10),
}

PROVENANCE = """# Recorded ranks of X, Y and Z on MovieLens-1M

`recorded_ranks.npz` is written by `python scripts/record_ranks.py`, and this text with it.

What it holds, for each of the {n_users:,} users in ascending order of user id:

| array | meaning |
|---|---|
| `rank_X`, `rank_Y`, `rank_Z` | 1 + how many ranked movies score higher than the held-out one |
| `ties_X`, `ties_Y`, `ties_Z` | how many others score exactly the same |
| `n_items` | how many movies are ranked: all {n_items:,} but the user's own training events |

Where it comes from:

- Data: MovieLens-1M (F. M. Harper, J. A. Konstan, "The MovieLens Datasets: History and Context",
  ACM TiiS 5(4), 2015), stars left aside. Held out is one event per user, from the split of
  He et al. (WWW 2017); the other {n_train:,} events are for training.
- Recommenders:
{recommenders}
- Versions: {versions}.

Licence: MovieLens may be used for research and may not be redistributed. This file holds no rating
and names no movie; from ranks and pool sizes alone none can be recovered.
"""


def arguments(description):
    """The interactions and the output folder that the command line names."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="archive or folder, as load_movielens takes it")
    parser.add_argument("--pairs", type=Path, help="npz with user_id and movie_id of all ratings")
    parser.add_argument("--held-out", type=Path, help="with --pairs: the split's list")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parents[1] / "recsample" / "data"
    )
    args = parser.parse_args()
    if (args.pairs is None) != (args.held_out is None) or (args.pairs and args.data):
        parser.error("give either --data, or --pairs and --held-out together, or none of them")
    data = read_pairs(args.pairs, args.held_out) if args.pairs else load_movielens(args.data)
    return data, args.output


def main():
    data, output = arguments(__doc__)
    arrays = {}
    for name, recommender in RECOMMENDERS.items():
        print(f"{name} = {recommender}")
        ranks = recommender.fit(data.train).ranks(data)
        arrays |= {f"rank_{name}": ranks.values, f"ties_{name}": ranks.ties}
        arrays["n_items"] = ranks.n_items
    arrays = {key: array.astype(np.min_scalar_type(array.max())) for key, array in arrays.items()}
    np.savez_compressed(output / "recorded_ranks.npz", **arrays)
    (output / "recorded_ranks.md").write_text(provenance(data), encoding="utf-8")
    print(f"written to {output}")


def read_pairs(pairs, held_out):
    """Interactions from (user, movie) pairs in the order of ratings.dat and the split's list."""
    with np.load(pairs) as arrays:
        user, movie = arrays["user_id"], arrays["movie_id"]
    # The split numbers movies by first appearance in the file.
    ids, first, inverse = np.unique(movie, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    return Interactions.from_pairs(
        user, place[inverse], np.loadtxt(held_out, dtype=np.int64, usecols=1)
    )


def provenance(data):
    return PROVENANCE.format(
        n_users=data.n_users,
        n_items=data.n_items,
        n_train=data.train.nnz,
        recommenders="\n".join(f"  - {name}: `{r}`" for name, r in RECOMMENDERS.items()),
        versions=versions(),
    )


def versions():
    packages = ("numpy", "scipy", "implicit")
    return ", ".join(
        [f"Python {platform.python_version()}"] + [f"{p} {version(p)}" for p in packages]
    )


if __name__ == "__main__":
    main()
