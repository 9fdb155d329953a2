"""Whether a sampler draws as its law says, and expects what follows from it."""

import numpy as np

from recsample import RR, Ranks


def check_draws(sampler, n_items, rng, draws=10_000):
    """By twenty ranks and one that is tied; a right sampler fails once in a million times."""
    law = sampler.law(n_items)
    m = law.shape[1] - 1
    assert law.shape == (n_items, sampler.m + 1)
    assert (law >= 0).all() and abs(law.sum(axis=1) - 1).max() < 1e-9
    rank = np.unique(np.geomspace(1, n_items, 20).round().astype(int))
    ties = np.append(0 * rank, n_items - rank[len(rank) // 2])
    rank = np.append(rank, rank[len(rank) // 2])  # tied with all below it
    expected = np.array([law[r - 1 : r + t].mean(axis=0) for r, t in zip(rank, ties)])
    ranks = Ranks(rank, n_items, ties=ties)
    drawn = sampler.draw(ranks[np.repeat(np.arange(len(rank)), draws)], rng)
    assert (drawn.sizes == m + 1).all() and not drawn.rows.ties.any()
    above = drawn.rows.above.reshape(len(rank), draws)
    share = np.array([np.bincount(row, minlength=m + 1) / draws for row in above])
    assert not share[expected == 0].any()
    # By the inequality of Dvoretzky, Kiefer and Wolfowitz, for all ranks at once
    off = abs(np.cumsum(share - expected, axis=1)).max()
    assert off < np.sqrt(np.log(2 * len(rank) * 1e6) / (2 * draws))
    values = 1 / np.arange(1.0, m + 2)
    mean = expected @ values
    variance = expected @ values**2 - mean**2
    for found, wanted in (
        *zip(sampler.moments(RR, ranks), (mean, variance)),
        (sampler.expect(RR, ranks), mean),
        (sampler.variance(RR, ranks), variance),
    ):
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-12)
