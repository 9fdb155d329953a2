"""What a ranking is worth.

Of ranks: the metrics of the field (`ranking`), what makes a metric (`base`, `shapes`), their names
and their means. Of grades, sets and ratings: `graded`, `sets`, `ratings`. Which metrics of other
libraries are the same: `peers`.
Chapters: metrics, field_metrics, judgements, conformance.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
