"""How probable the counts are, whatever the ranks: limits without an assumption on them.

`strata` are the instances that one law holds for, `mixtures` the ranks that fit best, `evidence`
what they say of a metric, `limits` what follows for a reader.
Chapters: report.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
