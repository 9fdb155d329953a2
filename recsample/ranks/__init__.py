"""Ranks of the relevant items; the only package that compares scores.

`base` has the class `Ranks`, `predicted` computes ranks from scores, `engines` does so where tables
lie, `counts` has the number of instances with each rank, and `provenance` how the ranked items were
drawn.
Chapters: metrics, traps.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
