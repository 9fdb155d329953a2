"""How irrelevant items are drawn, and the law of what is observed.

A `Sampler` returns sampled ranks (`uniform`, `pooled`), a `Design` returns an estimate (those in
`sequential`); `base` defines both. `given_lists` ranks among lists that were drawn before, and
`list_checks` tests whether these can be trusted.
Chapters: sampled_metrics, rank_distribution, traps, proofs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
