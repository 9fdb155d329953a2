"""The paper's tables and figures, a function for each.

Chapters: corrections_movielens, reproduction.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
