"""Statistical inference: what sampled ranks tell about the exact metrics.

`distribution` estimates the distribution of the ranks, `likelihood` has limits of a metric,
`comparison` the probability of an order, `audit` limits from exact ranks of some users and how
many these should be, `published` limits from printed numbers, and `blind` what limits cannot see.
Chapters: estimation, evaluate, report, audit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
