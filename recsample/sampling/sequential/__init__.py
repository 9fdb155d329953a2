"""Sequential sampling: designs that draw until they know enough.

`inverse` draws until one irrelevant item outranks the relevant one, `stopping` until k of them do.
Both work on ranks, or on real scores by `scanning`.
Chapters: sequential.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
