"""The paper's tables and figures.

Chapters: corrections_movielens, movielens, reproduction.
"""

from recsample._support.rooms import opened

__getattr__, __dir__, __all__ = opened(__name__, __file__)
