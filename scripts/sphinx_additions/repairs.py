"""What others write into a page or a script, put right.

The checks of the built pages name all of it: what keeps a screen reader from a page (axe-core), and
what a search finds and marks. Each line here can go when its cause does.
"""

import json
import re
from pathlib import Path

import chapters
from sphinx.errors import ExtensionError

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


# Sphinx's search: a term of one or two letters marks half of a page, marks belong into its text, in
# a picture they are an error, and of equal results the first of the book comes first.
SCRIPTS = {
    "sphinx_highlight.js": {
        # The page of the search itself has no text.
        'document.querySelector("body")': (
            'document.querySelector("article") ?? new DocumentFragment()'
        ),
        '"button, select, textarea"': '"button, select, textarea, svg"',
    },
    "searchtools.js": {
        # An entry of the index marks a place without text: show how its page begins.
        "if (anchorContent) return": "if (anchorContent?.textContent) return",
        "highlightTerms.add(": "if (queryTermLower.length > 2) highlightTerms.add(",
        "const leftTitle = a[1].toLowerCase();": "const pages = PAGES;",
        "    const rightTitle = b[1].toLowerCase();\n": "",
        "    if (leftTitle === rightTitle) return 0;\n": "",
        "return leftTitle > rightTitle ? -1 : 1; // inverted is intentional": (
            "return pages.indexOf(b[0]) - pages.indexOf(a[0]); // shown from the last"
        ),
    },
}


def repair(app, page, template, context, document):
    for wrong, right in REPAIRS.items():
        context["body"] = re.sub(wrong, right, context.get("body", ""))


def repair_scripts(app, exception):
    for name, repairs in SCRIPTS.items():
        path = Path(app.outdir, "_static", name)
        if exception or not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        missing = [wrong for wrong in repairs if wrong not in text]
        if len(missing) == len(repairs):
            continue  # put right by an earlier build
        if missing:
            raise ExtensionError(f"{path} must hold {missing[0]!r}, which is put right here")
        for wrong, right in repairs.items():
            text = text.replace(wrong, right.replace("PAGES", json.dumps(chapters.pages())))
        path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("html-page-context", repair)
    app.connect("build-finished", repair_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
