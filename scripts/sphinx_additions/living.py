"""Figures that answer to the reader's hand, around the pictures that cells draw.

A cell with the option `living: NAME` has its picture put into an element <living-figure>, and the
page gets the scripts of that figure, book/_static/living/NAME.js and what all of them share. The
script shows the living figure in place of the picture; without scripts and on paper the picture
stays, and caption, number and name are those of the cell in any case.
"""

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

SCRIPTS = Path(__file__).parents[2] / "book/_static/living"
BY_SAMPLES = SCRIPTS.parents[1] / "data/metrics_by_samples.json"
SHARED = ["sampling", "element"]
NAMES = sorted({path.stem for path in SCRIPTS.glob("*.js")} - set(SHARED))


class LivingFigure(nodes.General, nodes.Element):
    """A living figure, with the picture that stands in its place."""


class WrapPictures(SphinxTransform):
    """Put the picture of a cell with the option `living` into the figure of that name."""

    default_priority = 10

    def apply(self):
        for cell in self.document.findall(nodes.container):
            name = cell.get("cell_metadata", {}).get("living")
            for figure in cell.findall(nodes.figure) if name else []:
                if name not in NAMES:
                    raise ExtensionError(f"living must be one of {', '.join(NAMES)}, got {name!r}")
                captions = [child for child in figure if isinstance(child, nodes.caption)]
                picture = [child for child in figure if child not in captions]
                figure.children = []
                figure += [LivingFigure("", *picture, living=name), *captions]


def given(name):
    """What a figure is given, besides its own formulas."""
    return json.loads(BY_SAMPLES.read_text(encoding="utf-8")) if name == "order" else None


def _visit(translator, node):
    name = node["living"]
    attribute = ""
    if data := given(name):
        attribute = f' data-given="{escape(json.dumps(data, separators=(",", ":")))}"'
    translator.body.append(f'<living-figure name="{name}"{attribute}>\n<div class="drawn">\n')


def _depart(translator, node):
    translator.body.append("</div>\n</living-figure>\n")


def _nothing(translator, node):
    """Elsewhere than in HTML the picture is all there is."""


def add_scripts(app, page, template, context, document):
    """Load the scripts of the living figures of a page, and none on other pages."""
    found = document.findall(LivingFigure) if document else []
    if names := sorted({node["living"] for node in found}):
        for name in [*SHARED, *names]:
            app.add_js_file(f"living/{name}.js", loading_method="defer")


def setup(app):
    plain = dict.fromkeys(["latex", "text", "man", "texinfo"], (_nothing, _nothing))
    app.add_node(LivingFigure, html=(_visit, _depart), **plain)
    app.add_transform(WrapPictures)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
