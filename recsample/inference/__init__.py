"""From one run of sampled ranks to a claim.

`distribution` estimates how the ranks are distributed, `bounds` and `likelihood` say what the data
hold without an assumption, `comparison` how sure an order is, `planning` how many samples it takes,
`published` what printed numbers leave possible, `coverage` how often limits hold what they say.
Chapters: estimation, bounds, inference, coverage, audit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
