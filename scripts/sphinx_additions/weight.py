"""What a page loads before it is seen: as little as it needs.

Scripts wait until the page is there, but for documentation_options.js, to which a script within the
page adds. The theme's stylesheet loses its 1,900 icons, and the book their fonts: book.css has the
few that are used.
"""

import re
import shutil
from pathlib import Path

AT_ONCE = "_static/documentation_options.js"
# A rule of Font Awesome, whose every selector begins with a class of its own, or its fonts.
ICONS = r"(?<=[}/])(?:\.fa[bsrl]?(?:-[\w-]+)?(?::{1,2}(?:before|after))?,?)+\{[^{}]*\}"
ICONS += r"|@font-face\{[^}]*Font Awesome[^}]*\}"
UNUSED = ["scripts/bootstrap.js", "scripts/bootstrap.js.LICENSE.txt", "scripts/fontawesome.js"]
UNUSED += ["scripts/fontawesome.js.LICENSE.txt", "vendor", "locales", "webpack-macros.html"]
UNUSED += ["sbt-webpack-macros.html"]


def defer(app, page, template, context, document):
    if page != "search":  # whose scripts follow each other within the page
        context["script_files"] = [_late(script) for script in context["script_files"]]


def _late(script):
    if script.filename in (None, AT_ONCE):  # text within the page has no file
        return script
    attributes = {**script.attributes, "defer": "defer"}
    return type(script)(script.filename, priority=script.priority, **attributes)


def without_icons(styles):
    """The theme's stylesheet without the rules of its icons."""
    return re.sub(ICONS, "", styles)


def leave_out(app, exception):
    static = Path(app.outdir, "_static")
    if exception or not (static / "styles").exists():
        return
    styles = static / "styles/pydata-sphinx-theme.css"
    styles.write_text(without_icons(styles.read_text(encoding="utf-8")), encoding="utf-8")
    for path in [*map(static.joinpath, UNUSED), *static.rglob("*.map")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def setup(app):
    app.connect("html-page-context", defer, priority=900)  # once all have added theirs
    app.connect("build-finished", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
