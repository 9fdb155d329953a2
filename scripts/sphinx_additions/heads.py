"""The head of a chapter: where in the book it stands, and the picture before its code.

Above the title stand the part of the book and the chapter's number. What draws a figure is offered
below it, on one line with what was imported and computed for it: here a cell with folded code that
draws a figure gets a box together with the folded cells right before it, which have no output. The
order stays in which they run; book.css shows the figure first.
"""

import re
from pathlib import Path

import chapters
from docutils import nodes


def picture_first(app, document):
    for cell in list(document.findall(_draws)):
        parent = cell.parent
        end = parent.index(cell) + 1
        first = end - 1
        while first and _prepares(parent[first - 1]):
            first -= 1
        parent[first:end] = [nodes.container("", *parent[first:end], classes=["picture-first"])]


def _folded(node):
    return isinstance(node, nodes.container) and node.get("hide_mode") in ("input", "all")


def _draws(node):
    return _folded(node) and node["hide_mode"] == "input" and any(node.findall(nodes.figure))


def _prepares(node):
    return _folded(node) and not any(
        part.get("nb_element") == "cell_code_output" for part in node.findall(nodes.container)
    )


def say_place(app, page, template, context, document):
    """Put part and number of a page above its title."""
    for part, pages in _parts(app.srcdir).items():
        if page in pages and "<h1>" in context.get("body", ""):
            number = re.search(r'<h1><span class="section-number">([\d.]+)\. ', context["body"])
            place = f"{part} · Chapter {number[1]}" if number else part
            place = place or app.config.html_title.split(": ")[-1].capitalize()
            line = f'<p class="place">{place}</p>\n<h1>'
            context["body"] = context["body"].replace("<h1>", line, 1)


def _parts(folder):
    listed = Path(folder, "_toc.yml").exists()
    return chapters.parts(Path(folder)) if listed else {}


def setup(app):
    app.connect("doctree-read", picture_first, priority=900)  # once cells are folded
    app.connect("html-page-context", say_place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
