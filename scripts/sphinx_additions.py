"""Two small additions to Sphinx, loaded by _config.yml.

MyST-NB numbers every captioned output of a cell as a figure. Here an output whose name starts with
`tab-` is a table: numbered in one sequence with the tables written by hand, its caption above it.

numpydoc makes the labels of references unique, [R7e27313415a3-1], and shortens them again before
they are shown, except where a docstring is included in Markdown. Here that is made up for.
"""

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator


class TableFigure(nodes.figure):
    """A figure that Sphinx counts as a table."""


class TableCaption(nodes.caption):
    """A caption that comes first."""


class NumberTables(SphinxTransform):
    """Turn the figures named `tab-...` into tables."""

    default_priority = 10

    def apply(self):
        for figure in list(self.document.findall(nodes.figure)):
            if any(name.startswith("tab-") for name in figure["names"]):
                table = TableFigure("", *_caption_first(figure), **figure.attributes)
                figure.replace_self(table)
                self.document.ids.update(dict.fromkeys(table["ids"], table))


def _caption_first(figure):
    first = [
        TableCaption(child.rawsource, "", *child.children, **child.attributes)
        for child in figure
        if isinstance(child, nodes.caption)
    ]
    return first + [child for child in figure if not isinstance(child, nodes.caption)]


def _depart_caption(translator, node):
    HTML5Translator.depart_caption(translator, node)
    translator.body.append("</figcaption>\n")


def _depart_figure(translator, node):
    translator.body.append("</figure>\n")


def shorten_citations(app, document):
    """Show [R7e27313415a3-1] as [1]."""
    for reference in document.findall(pending_xref):
        text = reference.astext()
        if reference["refdomain"] == "citation" and re.match(r"\[R\w{12}-", text):
            short = nodes.inline("", f"[{text.split('-', 1)[1]}")
            reference.children = []
            reference += short


def setup(app):
    app.add_enumerable_node(
        TableFigure, "table", html=(HTML5Translator.visit_figure, _depart_figure)
    )
    app.add_node(TableCaption, html=(HTML5Translator.visit_caption, _depart_caption))
    app.add_transform(NumberTables)
    app.connect("doctree-read", shorten_citations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
