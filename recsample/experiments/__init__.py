"""The paper's tables and figures (`paper`), and studies beyond them (`studies`)."""

from recsample._support.rooms import opened

__getattr__, __dir__, __all__ = opened(__name__, __file__)
