"""Docstrings on the API page as they read in the source.

numpydoc makes the labels of references unique, [R7e27313415a3-1], and shortens them again before
they are shown, except where a docstring is included in Markdown; their places are numbered anew in
each docstring, so that several have one id. Here that is made up for. A metric with a cut-off, such
as NDCG@10, is no address of mail. autodoc lists every field of a named tuple as an "Alias for field
number 0": what they are is left to the docstring of the tuple.
"""

import re

from docutils import nodes
from sphinx.addnodes import pending_xref


def shorten_citations(app, document):
    """Show [R7e27313415a3-1] as [1]."""
    for reference in document.findall(pending_xref):
        text = reference.astext()
        if reference["refdomain"] == "citation" and re.match(r"\[R\w{12}-", text):
            reference.children = []
            reference += nodes.inline("", f"[{text.split('-', 1)[1]}")
            reference["ids"] = []  # nothing leads back to it


def unlink_mail(app, document):
    """Leave what only looks like an address of mail as text."""
    for reference in list(document.findall(nodes.reference)):
        if reference.get("refuri", "").startswith("mailto:"):
            reference.replace_self(reference.children)


def skip_tuple_fields(app, what, name, member, skip, options):
    """Do not list the fields of a named tuple; None leaves the choice to others."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app):
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("doctree-read", shorten_citations)
    app.connect("doctree-read", unlink_mail)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
