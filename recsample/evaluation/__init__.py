"""Tables in, tables out, in four phases: match, rank, infer, say.

`evaluating` goes through all of them, from scores and held-out items to a table. `reporting`
begins with sampled ranks, `published` with printed numbers. `command_line` does this with files.
What each kind of study finds, and its words, stand in a module: `exact` and `runs`, `sampled`,
`audited`, `printed_study`.
Chapters: evaluate, report, audit, reread.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
