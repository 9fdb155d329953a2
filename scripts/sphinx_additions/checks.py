"""A cell with the tag `check` is folded on its page, under the name Check."""

from docutils import nodes


def fold(app, document):
    for cell in document.findall(nodes.container):
        if "tag_check" in cell["classes"]:
            cell["hide_mode"] = "all"
            cell["prompt_show"] = cell["prompt_hide"] = "Check"


def setup(app):
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
