"""Items that stand in a table of scores: counted one relevant item at a time, and by sorting."""

import numpy as np
import pytest

from recsample.ranks import sources


@pytest.mark.parametrize("count", [sources._by_comparing, sources._by_sorting])
@pytest.mark.parametrize("seed", range(5))
def test_items_above_and_tied(count, seed):
    rng = np.random.default_rng(seed)
    n_relevant, listed = rng.integers(0, 6, 8), rng.integers(0, 9, 8)
    n_relevant[0] = 1
    user, mine = (np.repeat(np.arange(8), lengths) for lengths in (listed, n_relevant))
    strength = rng.integers(-2, 3, len(user)) * 0.5
    own = np.where(rng.random(len(mine)) < 0.2, -np.inf, rng.integers(-3, 4, len(mine)) * 0.5)
    above, tied = count(user, strength, own, n_relevant)
    for which, u in enumerate(mine):
        assert above[which] == (strength[user == u] > own[which]).sum()
        assert tied[which] == (strength[user == u] == own[which]).sum()


def test_what_one_user_has_once_is_no_pile():
    scores = np.array([[0, 0, 2.0], [0, 1, 2], [1, 1, 2]])
    found = sources.Pile.of(scores, lambda some: some.sum(axis=1))
    assert found.lowest == 0 and found.sizes.tolist() == [2, 0, 0]
