"""From one run of sampled ranks to a claim.

`distribution` estimates how the ranks are distributed, `bounds` says what the data hold without an
assumption, `comparison` how sure an order is, `planning` how many samples it takes, `reporting`
puts all of it into a table and a sentence. `studies` compares the methods of this package.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
