"""Metrics for item recommendation: exact, sampled and corrected."""

from recsample._support.rooms import opened

_found, __dir__, __all__ = opened(__name__, __file__)


def __getattr__(name):
    if name == "__version__":  # not at import: looking it up takes longer than all the rest
        from importlib.metadata import version

        return version("recsample")
    return _found(name)
