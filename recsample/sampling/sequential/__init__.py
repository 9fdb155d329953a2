"""Designs that draw until they know enough.

`inverse` draws until irrelevant items are ahead, `stopping` at most so often, `two_phase` starts
small, `doubling` looks at twice as many. They work on ranks or on a `Scan` of real scores.
Chapters: sequential, your_study.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
