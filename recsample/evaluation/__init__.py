"""Tables in, tables out, in four phases: match, rank, infer, say.

`evaluating` goes through all of them, from scores and held-out items to a table. `reporting` begins
with sampled ranks, `published` with the numbers of a table. `command_line` does the same with files.
Chapters: evaluate, report, reread.
"""

from recsample._support.rooms import opened

__getattr__, __dir__, __all__ = opened(__name__, __file__)
