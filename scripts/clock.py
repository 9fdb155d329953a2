"""How long the book takes to read.

python scripts/clock.py          minutes of every chapter, and of every part of _toc.yml
python scripts/clock.py state    the same, rounded to five, into the box that opens each chapter

A minute for 150 words, captions included, and for ten lines of code in view, checks included; 45
seconds for a figure or table, 90 for a displayed equation, 3 for a formula in the text. What is
folded or removed counts for nothing, and neither do exercises, nor output without a caption.
"""

import re
import sys

import chapters
import jupytext
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

WORDS_A_MINUTE, LINES_A_MINUTE = 150, 10
FIGURE, EQUATION, FORMULA = 0.75, 1.5, 0.05  # minutes
MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin).use(colon_fence_plugin)
EXERCISE = re.compile(
    r"^(`{3,})\{exercise\}.*?^\1$|^```\{solution-start\}.*?^```\{solution-end\}\n```$", re.M | re.S
)
STATED = re.compile(r"\*\*(\d+) minutes\.\*\*")


def minutes(text):
    """The minutes that the text of a page takes."""
    cells = jupytext.reads(EXERCISE.sub("", text), fmt="md:myst").cells
    return sum(_of_cell(c) if c.cell_type == "code" else _of_prose(c.source) for c in cells)


def rounded(taken):
    """Minutes as a chapter states them."""
    return 5 * max(1, round(taken / 5))


def _of_cell(cell):
    tags = set(cell.metadata.get("tags", []))
    if tags & {"remove-cell", "hide-cell"}:
        return 0
    figure = cell.metadata.get("mystnb", {}).get("figure")
    seen = FIGURE + _of_words(figure["caption"]) if figure else 0
    return seen if tags & {"remove-input", "hide-input"} else seen + _of_code(cell.source)


def _of_code(code):
    return sum(bool(line.strip()) for line in code.splitlines()) / LINES_A_MINUTE


def _of_prose(text):
    return sum(map(_of_token, MARKDOWN.parse(text)))


def _of_token(token):
    if token.type.startswith("math_block"):
        return EQUATION
    if token.type == "table_open":
        return FIGURE
    if token.type == "inline":
        return _of_words(token.content)
    if token.type not in ("fence", "colon_fence"):
        return 0
    directive = re.match(r"\{(\S+)\}(.*)", token.info)
    if directive:
        return _of_directive(*directive.groups(), token.content)
    return _of_code(token.content)


def _of_directive(name, title, content):
    if name == "math":
        return EQUATION
    if name == "eval-rst":
        return 0
    body = re.sub(r"\A(---\n.*?^---\n|(:[^\n]*\n)*)", "", content, count=1, flags=re.M | re.S)
    return _of_words(title) + _of_prose(body) + FIGURE * (name == "figure")


def _of_words(text):
    """Of running text, in which a name in code is a word."""
    text, formulas = re.subn(r"\$.+?\$", " ", text, flags=re.S)
    words = re.sub(r"`.+?`", "x", text, flags=re.S).split()
    return len(words) / WORDS_A_MINUTE + FORMULA * formulas


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
