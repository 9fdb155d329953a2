"""Where the relevant items stand, and which item outranks which: only here scores are compared.

`base` holds ranks, `predicted` finds them in scores, `counts` keeps how many of each there are.
Chapters: metrics, ties.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
