"""Corrections: metrics for sampled ranks that estimate the exact metric.

Section 5 of the paper: `rank_estimate` (5.1), `minimal_bias` and `constrained`, which never
rewards a worse sampled rank (5.2), and `bias_variance` (5.3).
Chapters: corrected_metrics, proofs, corrections_movielens.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
