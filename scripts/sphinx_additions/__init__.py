"""Small additions to Sphinx, each an extension of its own, loaded together by _config.yml."""

NAMES = ["docstrings", "downloads", "formulas", "heads", "living"]
NAMES += ["repairs", "running", "sidebar", "tables", "typesetting", "weight"]


def setup(app):
    for name in NAMES:
        app.setup_extension(f"{__name__}.{name}")
    return {"parallel_read_safe": True}
