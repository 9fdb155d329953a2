"""Metrics: how good a ranking is.

Metrics of ranks are in `ranking`, their base class in `base` and `shapes`, their names in `names`,
and their means in `averages`. `graded`, `sets` and `ratings` have metrics of other data. `peers`
lists the metrics of other libraries that are the same.
Chapters: metrics, field_metrics, coming_from_elsewhere.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
