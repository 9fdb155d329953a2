"""Designs that draw until they know enough.

`inverse` draws until an irrelevant item is ahead, `stopping` until k of them are. They work on
ranks or on a `Scan` of real scores.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
