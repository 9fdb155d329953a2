"""The recorded comparison of estimators, against each one by itself on the same draws."""

import numpy as np
import pytest
import record_studies

from recsample import AP, BiasVariance, Ranks, UniformSampling
from recsample.inference import plug_in, rank_distribution

RANKS = {
    "A": Ranks([1, 4, 30, 100] * 30, 120),
    "B": Ranks([1, 2, 9] * 40, 120, ties=[0, 3, 5] * 40),
}


def test_estimators_read_the_same_runs():
    table = record_studies.compared_estimators(RANKS, m=10, repetitions=3, rng=7)
    sampler, rng = UniformSampling(10), np.random.default_rng(7)
    for name, r in RANKS.items():
        runs = [sampler.draw(r, rng) for _ in range(3)]
        learned = [rank_distribution(run, sampler, 120) for run in runs]
        priors = {
            "BV, learned prior": learned,
            "BV, averaged prior": [sum(learned) / 3] * 3,
            "BV, uniform prior": [None] * 3,
        }
        means = {
            key: [
                BiasVariance(AP, sampler, 120, gamma=0.1, prior=p)(run).mean()
                for p, run in zip(given, runs)
            ]
            for key, given in priors.items()
        }
        means["EM"] = [plug_in(AP, p) for p in learned]
        means["Sampled"] = [AP(run).mean() for run in runs]
        for key, found in means.items():
            exact, bias, std, error = table.loc["AP", name, key] / 100
            assert exact == pytest.approx(AP(r).mean())
            assert bias == pytest.approx(np.mean(found) - exact, abs=1e-12)
            assert std == pytest.approx(np.std(found), abs=1e-9)
            assert error == pytest.approx(np.hypot(bias, std), abs=1e-9)
