"""Pictures that are a part of the page, and pictures as small as they can be.

Sphinx shows a picture as a file of its own, in which neither links nor the colours of the theme
work. Here an SVG picture of the class `inline` becomes a part of the page. Those that cells draw
lose what nobody sees, such as the sixth decimal of a coordinate, half of their bytes.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from scour import scour
from sphinx.transforms import SphinxTransform

SMALL = scour.parse_args(
    ["--remove-metadata", "--enable-comment-stripping", "--strip-xml-prolog", "--indent=none"]
    + ["--no-line-breaks", "--enable-id-stripping", "--shorten-ids", "--create-groups"]
)
_FINE = re.compile(r"(?<!scale\()-?\d+\.\d{3,}")  # of a point; glyphs are scaled by a small number


class InlinePictures(SphinxTransform):
    """Put the SVG files of the class `inline` into the page, with their alternative text."""

    default_priority = 10

    def apply(self):
        for image in list(self.document.findall(nodes.image)):
            if "inline" in image["classes"]:
                _, path = self.env.relfn2path(image["uri"])
                self.env.note_dependency(path)
                opening = f'<svg role="group" aria-label="{escape(image["alt"])}" '
                svg = Path(path).read_text(encoding="utf-8").replace("<svg ", opening, 1)
                image.replace_self(nodes.raw("", svg, format="html"))


def shrink(app, document):
    """Make the SVG files smaller that the cells of a page have drawn."""
    for image in document.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if "jupyter_execute" in path.parts and path.suffix == ".svg":
            svg = _FINE.sub(_round, path.read_text(encoding="utf-8"))
            path.write_text(scour.scourString(svg, SMALL), encoding="utf-8")


def _round(number):
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def setup(app):
    app.add_transform(InlinePictures)
    app.connect("doctree-read", shrink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
