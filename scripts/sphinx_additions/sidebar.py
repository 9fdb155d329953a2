"""The list of chapters opens to the short way, the paper and doing.

The parts behind them are folded, but for the one that holds the page.
"""

import re

OPEN = "The short way", "The paper", "Doing"
PART = re.compile(r'(?P<caption><p[^>]*class="caption".*?</p>)\s*(?P<pages><ul.*?</ul>)', re.DOTALL)


def fold_parts(html):
    """The list of chapters with its parts folded."""
    return PART.sub(_fold_part, html)


def _fold_part(part):
    name = re.sub("<.*?>", "", part["caption"]).strip()
    if name in OPEN:
        return part[0]
    state = " open" if "current" in part["pages"] else ""
    return (
        f'<details class="part"{state}><summary>{part["caption"]}</summary>'
        f"{part['pages']}</details>"
    )


def fold(app, page, template, context, document):
    listed = context.get("generate_toctree_html")

    def folded(kind, *args, **options):
        html = listed(kind, *args, **options)
        return fold_parts(str(html)) if kind == "sidebar" else html

    if listed:
        context["generate_toctree_html"] = folded


def setup(app):
    app.connect("html-page-context", fold, priority=900)  # once the theme has given its functions
    return {"parallel_read_safe": True, "parallel_write_safe": True}
