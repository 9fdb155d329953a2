"""Where the relevant items stand, and who outranks whom: two scores are compared here alone.

`base` holds ranks, `predicted` finds them in scores, `items` knows which items they are, `counts`
keeps how many of each there are, `engines` finds them where tables are too large for the memory.
Chapters: metrics, ties, scale.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
