"""How irrelevant items are drawn.

A `Sampler` gives ranks again (`uniform`, `pooled`, `popularity`, `given_lists`), a `Design` gives
an estimate (`inverse`, `early_stopping`, `two_phase`, `doubling`, `importance`); `base` says what
each must do. Designs work on ranks or on a `Scan` of real scores (`scanning`). `ranked_items` are
ranks that know their items, `list_checks` says whether given lists can be trusted, `consistency`
which metrics survive sampling.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
