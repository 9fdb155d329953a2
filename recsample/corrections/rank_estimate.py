"""Section 5.1 of the paper: the metric at an unbiased estimate of the rank."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recsample._support.checks import one_of, true_or_false
from recsample._support.errors import InputError
from recsample._support.values import frozen
from recsample.corrections.base import Correction
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.sampling.uniform import UniformSampling


class RankEstimate(Correction):
    """The metric at an unbiased estimate of the rank, eq. (20).

    With s = r~ - 1 sampled items ahead of the relevant one, r^ = 1 + (n - 1) s / m has mean r under
    both sampling laws. The metric at r^ is still biased unless it is linear in the rank.

    Parameters
    ----------
    metric : Metric or str
    sampler : UniformSampling
    n_items : int
    rounding : {"floor", "linear"}, optional
        r^ is rounded down, as in the paper, or the metric is interpolated between the two ranks
        next to it, which keeps AUC unbiased.
    plus_one : bool, optional
        Divide by m + 1 instead of m, as for the paper's Table 3. That underestimates the rank.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RankEstimate(rs.AP, rs.UniformSampling(m=4), n_items=9).values.round(3)
    array([1.   , 0.333, 0.2  , 0.143, 0.111])
    """

    rounding: str
    plus_one: bool

    def __init__(
        self,
        metric: Metric | str,
        sampler: UniformSampling,
        n_items: int,
        *,
        rounding: Literal["floor", "linear"] = "floor",
        plus_one: bool = False,
    ) -> None:
        plus_one = true_or_false("plus_one", plus_one)
        super().__init__(metric, sampler, n_items, {"rounding": rounding, "plus_one": plus_one})
        if not isinstance(sampler, UniformSampling):
            allowed = "must be UniformSampling for a rank estimate, which scales its counts"
            raise InputError("sampler", allowed).got(repr(sampler))
        one_of("rounding", rounding, ("floor", "linear"))
        sampler.pmf(Ranks([1], self.n_items))  # refuses a pool that is too small to sample from
        m = sampler.m
        if (self.n_items - 1) * m >= 2**63:
            allowed = "must be below 2**63"
            raise InputError("n_items times m", allowed).got(f"n_items={n_items} and m={m}")
        options = [f"rounding={rounding}"] * (rounding != "floor") + ["plus_one"] * plus_one
        name = f"RankEstimate({', '.join([str(self.metric), *options])})"
        vars(self).update(name=name, values=frozen(self._values_of_all(1)[0]))

    def _values_of_all(self, n_relevant):
        def terms(above):
            return np.stack([self._exact(above, i + 1, n_relevant) for i in range(n_relevant)])

        pool = self.n_items - n_relevant
        denominator = self.sampler.m + self.plus_one
        # r^ - 1 of eq. (20), by whole numbers: a float quotient could fall just below the rank.
        scaled = pool * np.arange(self.sampler.m + 1, dtype=np.int64)
        whole, rest = np.divmod(scaled, denominator)
        values = terms(whole)
        if self.rounding == "linear":
            beyond = terms(np.minimum(whole + 1, pool))
            values += rest / denominator * (beyond - values)
        return values
