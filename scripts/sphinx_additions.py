"""Small additions to Sphinx, loaded by _config.yml.

MyST-NB numbers every captioned output of a cell as a figure. Here an output whose name starts with
`tab-` is a table: numbered in one sequence with the tables written by hand, its caption above it.

numpydoc makes the labels of references unique, [R7e27313415a3-1], and shortens them again before
they are shown, except where a docstring is included in Markdown. Here that is made up for.

Sphinx shows a picture as a file of its own, in which neither links nor the colours of the theme
work. Here an SVG picture of the class `inline` becomes a part of the page.

Other sites show a title, a description and a picture beside a link to a page, taken from its Open
Graph tags. Here every page gets them.

Jupyter Book loads Thebe even where it is switched off: scripts that name another server, one of
which stops with an error. Here they are left out.

A browser breaks a line before or after any formula, be there a comma or not. Here a formula is held
together with the punctuation beside it.

A column of numbers is aligned to the right, of words to the left, but pandas does not say in its
HTML which is which. Here the cells of columns of words are marked.

autodoc lists every field of a named tuple as an "Alias for field number 0". Here it is left to the
docstring of the tuple to say what they are.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

_NUMBER = re.compile(r"\s*[-−+±]?[.\d]")


class TableFigure(nodes.figure):
    """A figure that Sphinx counts as a table."""


class TableCaption(nodes.caption):
    """A caption that comes first."""


class NumberTables(SphinxTransform):
    """Turn the figures named `tab-...` into tables."""

    default_priority = 10

    def apply(self):
        for figure in list(self.document.findall(nodes.figure)):
            if any(name.startswith("tab-") for name in figure["names"]):
                table = TableFigure("", *_caption_first(figure), **figure.attributes)
                figure.replace_self(table)
                self.document.ids.update(dict.fromkeys(table["ids"], table))


def _caption_first(figure):
    first = [
        TableCaption(child.rawsource, "", *child.children, **child.attributes)
        for child in figure
        if isinstance(child, nodes.caption)
    ]
    return first + [child for child in figure if not isinstance(child, nodes.caption)]


def _depart_caption(translator, node):
    HTML5Translator.depart_caption(translator, node)
    translator.body.append("</figcaption>\n")


def _depart_figure(translator, node):
    translator.body.append("</figure>\n")


def shorten_citations(app, document):
    """Show [R7e27313415a3-1] as [1]."""
    for reference in document.findall(pending_xref):
        text = reference.astext()
        if reference["refdomain"] == "citation" and re.match(r"\[R\w{12}-", text):
            short = nodes.inline("", f"[{text.split('-', 1)[1]}")
            reference.children = []
            reference += short


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


def add_card(app, page, template, context, document):
    """Add the Open Graph tags of a page, unless Sphinx made it, such as the search."""
    if document is None:
        return
    config = app.config
    tags = {
        "og:type": "article",
        "og:site_name": config.html_title,
        "og:title": re.sub(r"<[^>]+>", "", context.get("title", "")) or config.html_title,
        "og:description": config.card_description,
        "og:url": f"{config.html_baseurl}{page}.html",
        "og:image": f"{config.html_baseurl}_static/{config.card_image}",
        "og:image:alt": config.card_alt,
        "twitter:card": "summary_large_image",  # its name where the picture may be large
    }
    context["metatags"] = context.get("metatags", "") + "".join(
        f'<meta property="{name}" content="{escape(text)}">\n' for name, text in tags.items()
    )


def leave_thebe_out(app, config):
    """Do not add Thebe's scripts to the pages."""
    for event in ("env-before-read-docs", "doctree-resolved"):
        for listener in list(app.events.listeners[event]):
            if listener.handler.__module__ == "sphinx_thebe":
                app.disconnect(listener.id)


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
    """The text of a list of at most one node; of markup, nothing."""
    return "".join(node for node in found if isinstance(node, nodes.Text))


def mark_words(app, document, page):
    """Mark in the tables of cells each column in which nothing starts with a number."""
    for output in document.findall(nodes.raw):
        if "text_html" in output["classes"]:
            marked = re.sub(r"(?s)<table.*?</table>", _mark_columns, output.astext())
            output.children = [nodes.Text(marked)]


def _mark_columns(table):
    rows = [re.findall(r"(?s)<td.*?</td>", row) for row in table[0].split("</tr>")]
    columns = zip(*filter(None, rows))
    words = [not any(map(_NUMBER.match, map(_without_tags, cells))) for cells in columns]

    def mark_row(row):
        cells = re.split(r"(?=<t[hd][ >])", row[0])
        if "colspan" in row[0] or len(cells) <= len(words):
            return row[0]
        first = len(cells) - len(words)
        return "".join(cells[:first]) + "".join(map(_mark_cell, cells[first:], words))

    return re.sub(r"(?s)<tr.*?</tr>", mark_row, table[0])


def _mark_cell(cell, words):
    if not words:
        return cell
    if 'class="' in cell:
        return cell.replace('class="', 'class="words ', 1)
    return f'{cell[:3]} class="words"{cell[3:]}'


def _without_tags(html):
    return re.sub(r"<[^>]*>", "", html)


def skip_tuple_fields(app, what, name, member, skip, options):
    """Do not list the fields of a named tuple; None leaves the choice to others."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app):
    for name in ("card_description", "card_image", "card_alt"):
        app.add_config_value(name, "", "html")
    app.add_enumerable_node(
        TableFigure, "table", html=(HTML5Translator.visit_figure, _depart_figure)
    )
    app.add_node(TableCaption, html=(HTML5Translator.visit_caption, _depart_caption))
    app.add_transform(NumberTables)
    app.add_transform(InlinePictures)
    app.connect("config-inited", leave_thebe_out)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("doctree-read", shorten_citations)
    app.connect("doctree-read", keep_punctuation)
    app.connect("doctree-resolved", mark_words)
    app.connect("html-page-context", add_card)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
