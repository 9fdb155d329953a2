"""Pictures that are a part of the page.

Sphinx shows a picture as a file of its own, in which neither links nor the colours of the theme
work. Here an SVG picture of the class `inline` becomes a part of the page.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform


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


def setup(app):
    app.add_transform(InlinePictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
