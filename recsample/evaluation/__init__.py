"""Tables in, tables out.

`evaluating` goes from scores and held-out items to a table in three phases: `matching`, ranking,
`saying`. `reporting` has sampled ranks for the last one, `published` the numbers of a table.
`command_line` does the same with files.
Chapters: evaluate, report, reread.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
