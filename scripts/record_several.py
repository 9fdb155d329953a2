"""Hold out ten movies of each MovieLens-1M user and record where X, Y and Z rank them.

    python scripts/record_several.py                    # data downloaded or from the cache
    python scripts/record_several.py --data ml-1m.zip   # the archive, or a folder with ratings.dat
    python scripts/record_several.py --pairs user_movie_pairs.npz --held-out ml-1m.test.rating

Writes recorded_several.npz and recorded_several.md to recsample/data. Takes about two minutes. The
recommenders are those of scripts/record_ranks.py.
"""

import numpy as np
from record_ranks import RECOMMENDERS, arguments, versions
from scipy import sparse

from recsample import predicted_ranks

PROVENANCE = """# Recorded ranks of ten held-out movies per user, MovieLens-1M

`recorded_several.npz` is written by `python scripts/record_several.py`, and this text with it.

What it holds, for each of the {n_users:,} users in ascending order of user id:

- `rank_X`, `rank_Y`, `rank_Z`, shape ({n_users}, {n_held_out}): the ranks of the held-out movies,
  best first. Held-out movies count in the ranks of each other; irrelevant ones with the same score
  do not.
- `ties_X`, `ties_Y`, `ties_Z`, the same shape: how many irrelevant movies score exactly the same.
- `n_items`: how many movies are ranked: all {n_items:,} but the user's own training events.

Where it comes from:

- Data: MovieLens-1M (F. M. Harper, J. A. Konstan, "The MovieLens Datasets: History and Context",
  ACM TiiS 5(4), 2015), stars left aside. Each user has at least 20 events. Held out are
  {n_held_out} of them, drawn with `numpy.random.default_rng({seed})`: one uniform number per event
  in the order of user and movie index, and of each user the {n_held_out} events with the smallest.
  The other {n_train:,} events are for training.
- Recommenders:
{recommenders}
- Versions: {versions}.

Licence: MovieLens may be used for research and may not be redistributed. This file holds no rating
and names no movie; from ranks and pool sizes alone none can be recovered.
"""

N_HELD_OUT = 10
SEED = 0


def main():
    data, output = arguments(__doc__)
    train, held_out = split(data)
    arrays = {}
    for name, recommender in RECOMMENDERS.items():
        print(f"{name} = {recommender}")
        scores = recommender.fit(train).scores(np.arange(data.n_users))
        ranks = predicted_ranks(scores, held_out, exclude=train)
        arrays |= {f"rank_{name}": np.stack(ranks.values), f"ties_{name}": np.stack(ranks.ties)}
        arrays["n_items"] = ranks.n_items
    arrays = {key: array.astype(np.uint16) for key, array in arrays.items()}
    np.savez_compressed(output / "recorded_several.npz", **arrays)
    (output / "recorded_several.md").write_text(provenance(data, train), encoding="utf-8")
    print(f"written to {output}")


def split(data):
    """The training events and the held-out ones, as matrices."""
    users = np.arange(data.n_users)
    last = sparse.csr_matrix((np.ones(data.n_users), (users, data.held_out)), data.train.shape)
    events = sparse.csr_matrix(data.train + last)
    events.sort_indices()
    user, item = events.nonzero()
    in_random_order = np.lexsort((np.random.default_rng(SEED).random(len(user)), user))
    place = np.arange(len(user)) - events.indptr[user]
    chosen = in_random_order[place < N_HELD_OUT]
    held_out = sparse.csr_matrix(
        (np.ones(len(chosen), bool), (user[chosen], item[chosen])), events.shape
    )
    rest = np.ones(len(user), bool)
    rest[chosen] = False
    train = sparse.csr_matrix((np.ones(rest.sum(), bool), (user[rest], item[rest])), events.shape)
    return train, held_out


def provenance(data, train):
    return PROVENANCE.format(
        n_users=data.n_users,
        n_items=data.n_items,
        n_held_out=N_HELD_OUT,
        seed=SEED,
        n_train=train.nnz,
        recommenders="\n".join(f"  - {name}: `{r}`" for name, r in RECOMMENDERS.items()),
        versions=versions(),
    )


if __name__ == "__main__":
    main()
