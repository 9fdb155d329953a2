"""How long the book takes to read.

python scripts/clock.py          minutes of every chapter, and of every part of _toc.yml
python scripts/clock.py state    the same, rounded to five, into the box that opens each chapter

A minute for 200 words, captions and solved exercises included. Half a minute for a cell that is
shown, and again for every twelve lines more; its output counts for nothing, nor do cells that are
folded or removed. A minute and a half for a derivation: a displayed equation, or a proof.
"""

import re
import sys

import chapters
import jupytext
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

WORDS_A_MINUTE, CELL, LINES, DERIVATION = 200, 0.5, 12, 1.5
MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin).use(colon_fence_plugin)
STATED = re.compile(r"\*\*(\d+) minutes\.\*\*")


def minutes(text):
    """The minutes that the text of a page takes."""
    cells = jupytext.reads(text, fmt="md:myst").cells
    return sum(_of_cell(c) if c.cell_type == "code" else _of_prose(c.source) for c in cells)


def rounded(taken):
    """Minutes as a chapter states them."""
    return 5 * max(1, round(taken / 5))


def _of_cell(cell):
    tags = set(cell.metadata.get("tags", []))
    if tags & {"remove-cell", "hide-cell", "check"}:
        return 0
    caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
    shown = not tags & {"remove-input", "hide-input"}
    return _of_words(caption) + shown * CELL * -(-len(cell.source.splitlines()) // LINES)


def _of_prose(text):
    return sum(map(_of_token, MARKDOWN.parse(text)))


def _of_token(token):
    if token.type.startswith("math_block"):
        return DERIVATION
    if token.type == "inline":
        return _of_words(token.content)
    directive = re.match(r"\{(\S+)\}(.*)", token.info)
    return _of_directive(*directive.groups(), token.content) if directive else 0


def _of_directive(name, title, content):
    if name == "math":
        return DERIVATION
    if name == "eval-rst":
        return 0
    body = re.sub(r"\A(---\n.*?^---\n|(:[^\n]*\n)*)", "", content, count=1, flags=re.M | re.S)
    return _of_words(title) + _of_prose(body) + DERIVATION * (name == "prf:proof")


def _of_words(text):
    """Of running text, in which a formula, or a name in code, is a word."""
    return len(re.sub(r"\$.+?\$|`.+?`", "x", text, flags=re.S).split()) / WORDS_A_MINUTE


def main(*command):
    for part, pages in chapters.parts().items():
        each = {page: minutes(chapters.source(page)) for page in pages}
        for page, taken in each.items():
            print(f"{taken:6.0f}  {page}")
            if command:
                state(chapters.ROOT / f"{page}.md", taken)
        print(f"{sum(each.values()):6.0f}  {part or 'the first page'}\n")


def state(path, taken):
    """Write the minutes into the box of a chapter."""
    text = path.read_text(encoding="utf-8")
    path.write_text(STATED.sub(f"**{rounded(taken)} minutes.**", text), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
