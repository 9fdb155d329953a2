"""How irrelevant items are drawn, and the law of what is seen.

A `Sampler` gives ranks again (`uniform`, `pooled`), a `Design` gives an estimate (those of
`sequential`); `base` says what each must do. `given_lists` ranks among lists that were drawn
before, `list_checks` says whether these can be trusted.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
