"""What undoes sampling: metrics for sampled ranks that estimate the exact metric.

`rank_estimate`, `minimal_bias` and `bias_variance` are those of the paper's section 5,
`constrained` never rises with the sampled rank, `by_pool` has a correction for each size of pool.
Chapters: corrected_metrics, minimal_bias, bias_variance, corrections_movielens.
"""

from recsample._support.rooms import opened

__getattr__, __dir__, __all__ = opened(__name__, __file__)
