"""The picture before its code.

What draws a figure is offered below it, on one line with what was imported and computed for it: a
cell with folded code that draws a figure gets a box together with the folded cells right before it,
which have no output. The order stays in which they run; book.css shows the figure first.
"""

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


def setup(app):
    app.connect("doctree-read", picture_first, priority=900)  # once cells are folded
    return {"parallel_read_safe": True, "parallel_write_safe": True}
