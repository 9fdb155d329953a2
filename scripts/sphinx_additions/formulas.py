"""No line that ends before a comma, or between a number and what it counts.

A browser breaks a line before or after any formula, be there a comma or not. Here a formula is held
together with the punctuation beside it, and so are 95 % and Table 4.
"""

import re
from itertools import groupby

from docutils import nodes

_WITHIN = re.compile(r"(?<=\d)\s(?=%)|\b(Table|Figure|equation)\s(?=\d)")
_VERBATIM = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


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


def keep_numbers(app, document):
    """Hold each number together with its percent sign, and with the name of what it numbers."""
    for line in list(document.findall(nodes.TextElement)):
        if _WITHIN.search(line.astext()) and not isinstance(line, _VERBATIM):
            children = []
            for is_text, run in groupby(line, lambda node: isinstance(node, nodes.Text)):
                parts = list(run)
                children += [nodes.Text(_held(_text(parts)))] if is_text else parts
            line[:] = children


def _held(text):
    return _WITHIN.sub(lambda found: f"{found[1] or ''}\N{NO-BREAK SPACE}", text)


def _text(found):
    """The text of nodes; of markup, nothing."""
    return "".join(node for node in found if isinstance(node, nodes.Text))


def setup(app):
    app.connect("doctree-read", keep_punctuation)
    app.connect("doctree-read", keep_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
