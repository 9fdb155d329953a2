"""What others write into a page that keeps a screen reader from it, put right.

The checks of the built pages (axe-core) name all of it; each line here can go when its cause does.
"""

import re

REPAIRS = {
    # MyST-NB: the label hides what the button says it does, "Show code cell source".
    r'<summary aria-label="Toggle hidden content">': "<summary>",
    # docutils: the role is deprecated, and not that of an item of the list which these are in.
    r'role="doc-biblioentry"': 'role="listitem"',
    # sphinx-exercise and sphinx-proof: the same id for every exercise or proof of a page.
    r' id="((exercise|solution|proof)-content|proof)"': "",
    # pandas and docutils: a head that names nothing is none.
    r"<th\b([^>]*)>((?:\s|&nbsp;|\xa0|<p></p>)*)</th>": r"<td\1>\2</td>",
}


def repair(app, page, template, context, document):
    for wrong, right in REPAIRS.items():
        context["body"] = re.sub(wrong, right, context.get("body", ""))


def setup(app):
    app.connect("html-page-context", repair)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
