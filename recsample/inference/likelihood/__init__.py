"""Limits of an exact metric, by the likelihood of the sampled ranks under a stated assumption.

`strata` groups the relevant items that share a law, `mixtures` fits distributions of their ranks,
`sampled_run` combines the fits into estimates and limits, and `limits` is the public function.
`plausible` has distributions to average over, `unlike` bounds the mean over users who are too few
for fits of their own.
Chapters: report, estimation.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
