"""The paper's tables and figures, and studies beyond them.

`paper` has those of the paper, `studies` compares the methods of this package.
Chapters: corrections_movielens, movielens, reproduction.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
