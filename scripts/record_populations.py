"""Distributions of exact ranks, from which the studies draw users."""

import numpy as np
from scipy import special

import recsample as rs
from recsample._support.arrays import counted

# The shapes are functions of all ranks, 1 to n. Those below give chances, which add up to 1.


def over(weights):
    return weights / weights.sum()


def power(exponent, offset=0.0):
    return lambda r: over((r + offset) ** -exponent)


def log_normal(median, spread):
    return lambda r: over(np.exp(-((np.log(r / median) / spread) ** 2) / 2) / r)


def between(first, last):
    return lambda r: over(1.0 * ((first <= r) & (r <= last)))


def mixed(share, one, other):
    return lambda r: share * one(r) + (1 - share) * other(r)


def flat(r):
    return over(np.ones_like(r))


def at(rank):
    return between(rank, rank)


def upto(rank):
    return between(1, rank)


def behind(rank):
    return between(rank + 1, np.inf)


FALLING = {f"r^-{b:g}": power(b) for b in (0.3, 0.6, 0.9, 1.2, 1.5, 1.8)} | {
    "uniform": flat,
    "all at rank 1": at(1),
    "30 % at rank 1, flat": mixed(0.3, at(1), flat),
    "30 % r^-1.5, flat": mixed(0.3, power(1.5), flat),
    "half r^-0.9, flat": mixed(0.5, power(0.9), flat),
    "half r^-1.8, r^-0.3": mixed(0.5, power(1.8), power(0.3)),
    "(r + 100)^-1.5": power(1.5, 100),
    "P(x) = (x/n)^0.25": lambda r: np.diff(np.append(0, r / len(r)) ** 0.25),
    "steps": lambda r: np.where(r <= 0.06 * len(r), 5.0, 1) * np.where(r <= 0.01 * len(r), 4, 1),
    "two steps": lambda r: np.where(r <= 20, 30.0, 1) * np.where(r <= 300, 2, 1),
    "40 % up to 50, flat": mixed(0.4, upto(50), flat),
    "10 % up to 10, flat": mixed(0.1, upto(10), flat),
    "20 % up to 5, far": mixed(0.2, upto(5), lambda r: over(1.0 * (r > len(r) / 2))),
}
HUMPED = {
    "3 % at 3, far": mixed(0.03, at(3), at(1000)),
    "24 % at 11, far": mixed(0.24, at(11), at(1000)),
    "30 % in 11 to 30, flat": mixed(0.3, between(11, 30), flat),
    "all at rank 100": at(100),
}
# These were kept aside while the methods were chosen.
HELD_OUT = {"r^-0.9", "r^-1.5", "half r^-0.9, flat", "half r^-1.8, r^-0.3", "P(x) = (x/n)^0.25"}
HELD_OUT |= {"two steps", "10 % up to 10, flat", "24 % at 11, far", "all at rank 100", "Y"}
RECORDED = ["X", "Y", "Z"]  # their ranks on MovieLens, as a law
COVERAGE = [*FALLING, *HUMPED, *RECORDED]

# Where limits are most likely to fail, in one pool or in several.
FLAT_HEADS = {f"40 % up to {k}, flat": mixed(0.4, upto(k), flat) for k in (5, 20, 60)}
PILED = {
    "all at rank 10": at(10),
    "all at rank 11": at(11),
    "30 % at 11, flat behind": mixed(0.3, at(11), behind(11)),
}

AUDITS = {
    "1 % at 1, far": mixed(0.01, at(1), at(1000)),
    "12 % at 1, flat": mixed(0.12, at(1), behind(1)),
    "15 % at 12, far": mixed(0.15, at(12), at(1000)),
    "5 % at 2, far": mixed(0.05, at(2), at(1000)),
    "8 % up to 4, flat": mixed(0.08, upto(4), behind(4)),
    "35 % up to 25, flat": mixed(0.35, upto(25), behind(25)),
    "20 % up to 200, far": mixed(0.2, upto(200), at(1000)),
} | {f"hump at {rank}": log_normal(rank, 0.5) for rank in (8, 12, 25, 30, 80, 200)}
AUDITS |= {
    f"(r + {offset})^-{exponent:g}": power(exponent, offset)
    for offset, exponent in [(15, 1.15), (7, 1.3), (3, 1.2), (60, 1.4)]
} | {"(r + 0)^-0.8": power(0.8), "(r + 0)^-1.05": power(1.05)}

ESTIMATES = {
    "log-normal, 90, 1.8": log_normal(90, 1.8),
    "log-normal, n^0.45, 1.6": lambda r: log_normal(len(r) ** 0.45, 1.6)(r),
    "log-normal, n/60, 1.7": lambda r: log_normal(len(r) / 60, 1.7)(r),
    "(r + 7)^-1.25": power(1.25, 7),
    "(r + 45)^-1.6": power(1.6, 45),
    "(r + n/200)^-1.35": lambda r: power(1.35, len(r) / 200)(r),
    "(r + 3)^-0.85": power(0.85, 3),
    "30 % (r + 16)^-1.45, flat": mixed(0.3, power(1.45, 16), flat),
    "half log-normal, (r + 15)^-0.7": mixed(0.5, log_normal(25, 1), power(0.7, 15)),
    "hump at 45, flat": mixed(0.2, log_normal(45, 0.6), flat),
    "9 % at rank 1, flat": mixed(0.09, at(1), flat),
    "12 % up to 14, flat": mixed(0.12, upto(14), flat),
    "ties, r^-1": power(1),
}
TRIED_LAST = {
    "22 % r^-1.1 up to 200, flat": mixed(
        0.22, lambda r: over(np.where(r <= 200, r**-1.1, 0)), flat
    ),
    "beta(0.35, 2.2)": lambda r: np.diff(special.betainc(0.35, 2.2, np.append(0.0, r / len(r)))),
}

PUBLISHED = {
    "power law, 0.5": power(0.5),
    "power law, 1": power(1),
    "power law, 2": power(2),
    "top five": lambda r: (r <= 5) + 0.01 / len(r),
    "second half": lambda r: np.where(r > len(r) / 2, 1, 0.01),
}
PUBLISHED_HUMPED = {
    "log-normal": lambda r: log_normal(len(r) / 50, 1)(r),
    "ranks 21 to 40": lambda r: ((r > 20) & (r <= 40)) + 0.05 / len(r),
}

SHAPES = FALLING | HUMPED | AUDITS | ESTIMATES | TRIED_LAST | PUBLISHED | PUBLISHED_HUMPED
SHAPES |= FLAT_HEADS | PILED | {"log-uniform": power(1)}


def chances(name, n):
    """The chances of the ranks 1 to n in a population."""
    if name not in RECORDED:
        return over(SHAPES[name](np.arange(1.0, n + 1)))
    ranks = rs.datasets.recorded_ranks()[name].break_ties("random", 0).values
    return counted(np.minimum(ranks, n) - 1, n) / len(ranks)


def kind_of(name):
    """Whether methods were chosen without it, and whether "decreasing" is true of it.

    That is: within the best fifth no rank is more frequent than a better one. What is recorded is a
    sample, which falls but for chance.
    """
    return {"held_out": name in HELD_OUT, "decreasing": name not in HUMPED | PILED}


def drawn(population, users, rng):
    """The ranks of users, from chances, from chances in several pools, or again from `Ranks`.

    In each of several pools there are as many users.
    """
    if isinstance(population, rs.Ranks):
        return population[rng.integers(0, len(population), users)]
    pools = population if isinstance(population, list) else [population]
    each = users // len(pools)
    ranks = [rng.choice(len(pool), each, p=pool) + 1 for pool in pools]
    return rs.Ranks(np.concatenate(ranks), np.repeat([len(pool) for pool in pools], each))


def mean_over_all(population, metric):
    """The mean of a metric over a population."""
    if isinstance(population, rs.Ranks):
        return float(metric(population).mean())
    if isinstance(population, list):
        return float(np.mean([mean_over_all(pool, metric) for pool in population]))
    n = len(population)
    return float(metric.of_rank(np.arange(1, n + 1), n) @ population)


def holds(low, high, exact):
    """Whether a number is between limits."""
    # Limits are found to four digits or so, which decides where there is no noise.
    room = 1e-4 * abs(exact) + 1e-9
    return low - room <= exact <= high + room
