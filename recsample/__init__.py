"""Metrics for item recommendation: exact, sampled and corrected.

The core (`ranks`, `metrics`, `sampling`, `corrections`, `recommenders`, `datasets`, `experiments`)
never imports the second tier, `inference` and `evaluation`.
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    if name == "__version__":  # not at import: looking it up takes longer than all the rest
        from importlib.metadata import version

        return version("recsample")
    return _load(name)
