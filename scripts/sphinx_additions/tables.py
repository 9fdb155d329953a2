"""Tables that cells compute, as those that are written by hand.

MyST-NB numbers every captioned output of a cell as a figure. Here an output whose name starts with
`tab-` is a table: numbered in one sequence with the tables written by hand. book.css shows its
caption above it.

A column of numbers is aligned to the right, of words to the left, but pandas does not say in its
HTML which is which. Here the cells of columns of words are marked.
"""

import re

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

_NUMBER = re.compile(r"\s*[-−+±]?[.\d]")


class TableFigure(nodes.figure):
    """A figure that Sphinx counts as a table."""


class NumberTables(SphinxTransform):
    """Turn the figures named `tab-...` into tables."""

    default_priority = 10

    def apply(self):
        for figure in list(self.document.findall(nodes.figure)):
            if any(name.startswith("tab-") for name in figure["names"]):
                table = TableFigure("", *figure.children, **figure.attributes)
                figure.replace_self(table)
                self.document.ids.update(dict.fromkeys(table["ids"], table))


def mark_words(app, document, page):
    """Mark in the tables of cells each column in which nothing starts with a number."""
    for output in document.findall(nodes.raw):
        if "text_html" in output["classes"] and "<table" in output.astext():
            html = BeautifulSoup(output.astext(), "html.parser")
            for table in html("table"):
                _mark_columns(table)
            output.children = [nodes.Text(str(html))]


def _mark_columns(table):
    columns = list(zip(*filter(None, [row("td") for row in table("tr")])))
    words = [not any(_NUMBER.match(cell.text) for cell in column) for column in columns]
    for row in table("tr"):
        cells = row(["th", "td"])
        if words and len(cells) >= len(words) and not row(colspan=True):
            for cell, word in zip(cells[-len(words) :], words):
                if word:
                    cell["class"] = ["words", *cell.get("class", [])]


def setup(app):
    translated = (HTML5Translator.visit_figure, HTML5Translator.depart_figure)
    app.add_enumerable_node(TableFigure, "table", html=translated)
    app.add_transform(NumberTables)
    app.connect("doctree-resolved", mark_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
