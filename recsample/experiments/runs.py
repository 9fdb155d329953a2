"""Estimators of a metric by what they read at each observation, and their means."""

from __future__ import annotations

import numpy as np

from recsample._support.checks import shown, whole_numbers
from recsample.datasets.recorded import recorded_ranks
from recsample.ranks.checks import check_recommenders
from recsample.sampling.base import check_readable, check_sampler


def given_or_recorded(ranks):
    """The given ranks, checked, or the recorded ones of X, Y and Z."""
    if ranks is None:
        return recorded_ranks()
    check_recommenders(ranks)
    return ranks


def checked_samples(samples):
    """Several numbers of samples, as a list."""
    checked = whole_numbers("samples", samples, lowest=1)
    if checked.ndim != 1 or not len(checked):
        raise ValueError(f"samples must be a list of at least one number, got {shown(samples)}")
    return checked.tolist()


def largest_sample(ranks):
    """How many items can be drawn without replacement for every instance."""
    return min(int(r.n_irrelevant.min()) for r in ranks.values())


def values_at(estimator, sampler):
    """What a metric or a correction reads at each of the m + 1 observations of a sampler."""
    estimator = check_readable(estimator, sampler)
    if estimator.sampler is not None:  # a correction for these observations
        return estimator.values
    m = check_sampler(sampler).m
    return estimator.of_rank(np.arange(1, m + 2), m + 1)


def values_of_estimators(targets, sampler):
    """Every estimator's value at every observation, shape (m + 1, estimators), and their keys."""
    keys = [(metric, estimator) for metric, found in targets.items() for estimator in found]
    values = [values_at(targets[metric][estimator], sampler) for metric, estimator in keys]
    return keys, np.stack(values, axis=1)


def mean_and_std(values, law):
    """Of each estimator's mean over the instances, from their laws, one row each."""
    each = law @ values
    variance = np.maximum(law @ values**2 - each**2, 0).sum(axis=0)
    return each.mean(axis=0), np.sqrt(variance) / len(law)
