"""What a reader downloads holds what the page shows, and none of the checks that it hides."""

import json
from pathlib import Path

from chapters import cells_without_checks, without_checks


def leave_out_checks(app, exception):
    if exception:
        return
    for path in (Path(app.outdir) / "_sources").rglob("*.md*"):
        path.write_text(without_checks(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (Path(app.outdir) / "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = cells_without_checks(notebook["cells"])
        path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def setup(app):
    app.connect("build-finished", leave_out_checks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
