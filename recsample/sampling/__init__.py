"""How irrelevant items are drawn, and the law of what is seen.

A `Sampler` gives ranks again (`uniform`, `pooled`, `popularity`, `given_lists`), a `Design` gives
an estimate (`importance` and those of `sequential`); `base` says what each must do. `list_checks`
says whether given lists can be trusted, `consistency` which metrics survive sampling.
Chapters: sampled_metrics, rank_distribution, expected_metrics, metrics_under_sampling,
several_items, popularity, sample_everyone_used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
