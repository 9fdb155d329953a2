"""Files of the theme that no page asks for, such as maps for its developers, are not sent along."""

from pathlib import Path
from shutil import rmtree

UNUSED = ["scripts/fontawesome.js*", "**/*.map", "**/*.ttf", "**/*-macros.html"]


def remove(app, exception):
    if not exception:
        static = Path(app.outdir, "_static")
        for path in {path for pattern in UNUSED for path in static.glob(pattern)}:
            path.unlink()
        rmtree(static / "locales", ignore_errors=True)  # the book's language is in the pages


def setup(app):
    app.connect("build-finished", remove, priority=900)  # after the theme has put them there
    return {"parallel_read_safe": True, "parallel_write_safe": True}
