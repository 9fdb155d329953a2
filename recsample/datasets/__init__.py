"""Data sets: MovieLens, results recorded on it, and your own data.

Every data set is split leave-one-out: one item of each user is held out, and the rest is for
training. The ranks that the paper's three recommenders predict on MovieLens-1M ship with the
package, so you need no download to work with them.
Chapters: corrections_movielens, reproduction.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
