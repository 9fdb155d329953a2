"""No line that ends before a comma.

A browser breaks a line before or after any formula, be there a comma or not. Here a formula is held
together with the punctuation beside it.
"""

import re

from docutils import nodes


def keep_punctuation(app, document):
    """Hold each formula together with the brackets, commas and the like that touch it."""
    for formula in list(document.findall(nodes.math)):
        line, place = formula.parent, formula.parent.index(formula)
        before, after = _text(line[:place][-1:]), _text(line[place + 1 :][:1])
        opening = re.search(r"[(\[“]*$", before)[0]
        closing = re.match(r"[^\w\s(\[“]*", after)[0]
        if opening:
            line[place - 1] = nodes.Text(before.removesuffix(opening))
        if closing:
            line[place + 1] = nodes.Text(after.removeprefix(closing))
        if opening or closing:
            kept = [nodes.Text(opening), formula.deepcopy(), nodes.Text(closing)]
            line[place] = nodes.inline("", "", *kept, classes=["kept"])


def _text(found):
    """The text of nodes; of markup, nothing."""
    return "".join(node for node in found if isinstance(node, nodes.Text))


def setup(app):
    app.connect("doctree-read", keep_punctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
