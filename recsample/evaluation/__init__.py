"""Tables in, tables out.

`evaluating` goes from scores and held-out items to a table in three phases: `matching`, ranking,
`saying`. `reporting` has sampled ranks for the last one. `command_line` does the same with files.
Chapters: evaluate, report.
"""

from recsample._support.rooms import opened

__getattr__, __dir__, __all__ = opened(__name__, __file__)
