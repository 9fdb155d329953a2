"""Record how much popularity stands above the held-out movies, for X, Y and Z on MovieLens-1M.

    python scripts/record_popularity.py               # data and options as for record_ranks.py

Writes recorded_popularity.npz and recorded_popularity.md to recsample/data. Takes about a minute.
"""

import numpy as np
from record_ranks import RECOMMENDERS, arguments, versions

import recsample as rs

PROVENANCE = """# Popularity above the held-out movies of X, Y and Z on MovieLens-1M

`recorded_popularity.npz` is written by `python scripts/record_popularity.py`, and this text with
it. Users, split and recommenders are those of `recorded_ranks.npz`; `recorded_ranks.md` says what
they are.

The candidates are the N ranked movies but the held-out one. A movie's popularity is the number of
its training events plus 1. For each of the {n_users:,} users in ascending order of user id:

| array | meaning |
|---|---|
| `rank_X`, `rank_Y`, `rank_Z` | 1 + the popularity of all movies with a higher score |
| `ties_X`, `ties_Y`, `ties_Z` | the popularity of all others with exactly the same score |
| `n_items` | 1 + the popularity of all candidates |
| `popular_X`, `popular_Y`, `popular_Z` | sum of 1 / (N^2 q) over the movies with a higher score |
| `mixed_X`, `mixed_Y`, `mixed_Z` | the same for another q |

Here q is a movie's share of the weight of all candidates. The weight is the popularity, and for
`mixed` that plus the mean popularity of the catalogue. A tied movie counts half, and so adds a
quarter of its 1 / (N^2 q).

Versions: {versions}.

Licence: MovieLens may be used for research and may not be redistributed. This file holds no rating
and names no movie; from these sums none can be recovered.
"""


def main():
    data, output = arguments(__doc__)
    popularity = 1 + np.bincount(data.train.indices, minlength=data.n_items)
    weightings = {"popular": popularity, "mixed": popularity + popularity.mean()}
    arrays = {}
    for name, recommender in RECOMMENDERS.items():
        print(f"{name} = {recommender}")
        scores = recommender.fit(data.train).scores(np.arange(data.n_users))
        ranked = rs.ranked_items(scores, data.held_out, data.train)
        total = popularity.sum() - ranked.excluded @ popularity
        arrays |= {
            "n_items": (1 + total).astype(np.uint32),
            f"rank_{name}": (1 + ranked.above @ popularity).astype(np.uint32),
            f"ties_{name}": (ranked.tied @ popularity).astype(np.uint32),
        }
        pool = ranked.n_irrelevant.astype(float)
        for key, weights in weightings.items():
            squares = (ranked.above + 0.25 * ranked.tied) @ (1 / weights)
            total = weights.sum() - ranked.excluded @ weights
            arrays[f"{key}_{name}"] = (squares * total / pool**2).astype(np.float32)
    np.savez_compressed(output / "recorded_popularity.npz", **arrays)
    text = PROVENANCE.format(n_users=data.n_users, versions=versions())
    (output / "recorded_popularity.md").write_text(text, encoding="utf-8")
    print(f"written to {output}")


if __name__ == "__main__":
    main()
