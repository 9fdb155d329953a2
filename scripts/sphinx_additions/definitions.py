"""Which page explains a term of the glossary: the first one that its entry leads to.

The search puts that page first, see search.js.
"""

from docutils import nodes
from sphinx import addnodes


def pages(app):
    """The page of each term, by the term in lower case."""
    found = {}
    for glossary in _glossaries(app.env):
        for entry in glossary.findall(nodes.definition_list_item):
            page = next(
                filter(None, map(_page(app.env), entry.findall(addnodes.pending_xref))), None
            )
            for term in entry.findall(nodes.term):
                found[term.astext().lower()] = page
    return {term: page for term, page in found.items() if page}


def _glossaries(env):
    for page in sorted(env.found_docs):
        if page.endswith("glossary"):
            yield from env.get_doctree(page).findall(addnodes.glossary)


def _page(env):
    labels, equations = env.domains["std"].anonlabels, env.domains["math"].equations

    def page(link):
        target = link["reftarget"]
        return (labels.get(target) or equations.get(target) or [None])[0]

    return page


def add(app, page, template, context, document):
    if page == "search":
        context["defined"] = pages(app)


def setup(app):
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
