"""What a reader downloads holds what the page shows, and none of the checks that it hides."""

from pathlib import Path

import chapters


def leave_out_checks(app, exception):
    sources = Path(app.outdir, "_sources")
    if exception or not sources.is_dir():
        return
    for path in sources.rglob("*.md*"):
        text = chapters.without_checks(path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    for folder in {path.parent for path in sources.rglob("*.ipynb")}:
        chapters.make_notebooks(folder, checks=False)


def setup(app):
    app.connect("build-finished", leave_out_checks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
