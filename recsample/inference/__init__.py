"""From one run of sampled ranks to a claim.

`distribution` estimates how the ranks are distributed, `likelihood` says between which numbers a
metric lies, `comparison` how sure an order is, `audit` what exact ranks of some users add,
`planning` how many users to rank exactly, `published` what printed numbers leave possible, `blind`
what limits cannot see.
Chapters: estimation, inference, coverage, audit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
