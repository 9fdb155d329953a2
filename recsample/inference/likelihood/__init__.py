"""Estimates and limits of an exact metric from sampled ranks, and the fit of what is stated.

`strata` groups the relevant items that share a law, `mixtures` fits distributions of their ranks,
`scores` bounds the metric of each user, `sampled_run` combines all of these, and `limits` is the
public function.
Chapters: report, estimation.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
