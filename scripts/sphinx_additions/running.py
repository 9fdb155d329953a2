"""Cells that run where they are read, in the reader's browser.

A page with cells gets their sources, also of those that it hides, and the scripts of
book/_static/running. What these load lies in the same folder of the built book: `recsample.zip`,
the package with what it needs of pure Python and the page's own modules, and `runtime.json`, which
says where Python itself comes from.

A cell that cannot run in a browser has the option `elsewhere`, with one of REASONS: there it keeps
the output of the book, and so do the cells that use what it would have made.
"""

import json
import re
import shutil
import sys
import zipfile
from base64 import b64encode
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path

import jupytext
from docutils import nodes
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
FOLDER = "_static/running"
OWN = 'id="own-numbers"'  # the page where readers paste their own
# Python for browsers: what `npm pack pyodide@314.0.7` has, with its hashes, and from the public
# distribution NumPy, SciPy, pandas and Matplotlib, whose hashes stand in pyodide-lock.json.
RUNTIME = {
    "runtime": "https://cdn.jsdelivr.net/npm/pyodide@314.0.7/",
    "wheels": "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/",
    "loads": "10 to 45 MB from cdn.jsdelivr.net, as much as cells need",
    "hashes": {
        "pyodide.mjs": "sha256-bx1g979Sm+swDw9HmDySHTmCNjZAuiCvDjjv3dvGYQk=",
        "pyodide.asm.mjs": "sha256-983I7OgGeM63EvjmXr5tOoMgOhgMOZhl9JYSoFFpNjU=",
        "pyodide.asm.wasm": "sha256-zDbjyrBP38mmP/E+tS6uK5Eb9GwCXMeygfOUvT3h1eY=",
        "python_stdlib.zip": "sha256-+hlX5XdwaPxPdDf5bYYK4vvpwZcyugbITgBOwW3X3Xo=",
        "pyodide-lock.json": "sha256-XcL8EZEIvBSMdFfchudnW1yH4cr9QgucNMHq73s2wBA=",
    },
}
# Pages with Python connect to nobody else, whatever a script in them tries. `file:` is the book on
# a disk, where pages stand, although nothing runs. What may be evaluated is not restricted.
OTHERS = f"{RUNTIME['runtime']} {RUNTIME['wheels']}"
POLICY = (
    "default-src 'self' file: data: blob: 'unsafe-inline'; "
    "script-src 'self' file: blob: 'unsafe-inline' 'unsafe-eval'; "
    f"connect-src 'self' {OTHERS}; object-src 'none'; base-uri 'none'; form-action 'self'"
)
# What the package and its chapters import beside that, of pure Python.
LIBRARIES = ["jinja2", "lazy_loader", "markupsafe", "narwhals", "tabulate", "tqdm"]
PARTS = [*RUNTIME["hashes"], "pyodide.asm.js"]  # the last in older versions
REASONS = {
    "compiled": "it needs a compiled library that there is not for browsers.",
    "project": "it reads files of the project that do not lie beside the book.",
}


def cells_of(text):
    """The cells of a page: whether each is seen, and what the page's script is told of it."""
    found = []
    for cell in jupytext.reads(text, fmt="md:myst").cells:
        if cell.cell_type == "code":
            tags = set(cell.metadata.get("tags", []))
            told = {"source": cell.source}
            if "remove-output" in tags:
                told["silent"] = True
            if reason := cell.metadata.get("elsewhere"):
                if reason not in REASONS:
                    names = ", ".join(REASONS)
                    raise ExtensionError(f"elsewhere must be one of {names}, got {reason!r}")
                told["elsewhere"] = REASONS[reason]
            hidden = "remove-cell" in tags or {"remove-input", "remove-output"} <= tags
            found.append((not hidden, told))
    return found


def number(app, document):
    """Give the element of each cell its number, as a class."""
    path = Path(app.env.doc2path(app.env.docname))
    boxes = [
        node for node in document.findall(nodes.container) if node.get("nb_element") == "cell_code"
    ]
    if not boxes:
        return
    cells = cells_of(path.read_text(encoding="utf-8"))
    seen = [k for k, (visible, _) in enumerate(cells) if visible]
    if len(seen) != len(boxes):
        raise ExtensionError(f"{path}: {len(boxes)} cells on the page, {len(seen)} in the source")
    for k, node in zip(seen, boxes):
        node["classes"].append(f"run-{k}")


def add_scripts(app, page, template, context, document):
    """Add the sources of the cells and the scripts to a page that has anything to run."""
    body, scripts = context.get("body", ""), []
    if document is not None and re.search(r'class="[^"]*\brun-\d', body):
        cells = cells_of(Path(app.env.doc2path(page)).read_text(encoding="utf-8"))
        told = json.dumps([one for _, one in cells], ensure_ascii=False).replace("<", "\\u003c")
        body += f'\n<script type="application/json" id="run-cells">{told}</script>\n'
        scripts = ["python.js", "run.js"]
    elif 'class="doctest ' in body:
        scripts = ["python.js", "run.js"]
    elif OWN in body:
        scripts = ["python.js", "own.js"]
    if scripts:
        context["body"] = body
        policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        context["metatags"] = policy + context.get("metatags", "")
        app.add_css_file("running/run.css")
    for name in scripts:
        app.add_js_file(f"running/{name}", loading_method="defer")


def pack(app, exception):
    """Lay the package and its libraries beside the book, and say where Python comes from."""
    folder = Path(app.outdir) / FOLDER
    if exception or app.builder.name != "html" or not folder.is_dir():  # pages do not run
        return
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)  # of tests that import own.py
    with zipfile.ZipFile(folder / "recsample.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in sorted(files().items()):
            packed.write(path, name)
    say_runtime(folder, RUNTIME)


def files():
    """What is packed, by its place in a folder of libraries: without caches and compiled code."""
    project = (ROOT / "recsample").rglob("*")
    found = {path.relative_to(ROOT).as_posix(): path for path in project}
    found |= {path.name: path for path in (ROOT / "book" / FOLDER).glob("*.py")}
    for name in ["recsample", *LIBRARIES]:
        listed = [one for one in distribution(name).files if one.parts[0].startswith(name)]
        found |= {one.as_posix(): Path(one.locate()) for one in listed}
    unwanted = re.compile(r"__pycache__|direct_url|\.(so|pyd|c)$")
    return {k: path for k, path in found.items() if path.is_file() and not unwanted.search(k)}


def say_runtime(folder, told):
    """Say where Python comes from, its hashes, and in words how much of it is loaded."""
    (folder / "runtime.json").write_text(json.dumps(told), encoding="utf-8")


def lay_runtime(html, runtime):
    """Copy Python for browsers from a folder into a built book, which then asks no other host."""
    if not (runtime / "pyodide-lock.json").exists():
        return f"OFFLINE must name a folder with Pyodide, which holds pyodide-lock.json: {runtime}"
    folder = html / FOLDER
    shutil.copytree(runtime, folder / "pyodide", dirs_exist_ok=True)
    megabytes = sum(one.stat().st_size for one in runtime.iterdir()) / 1e6
    loads = f"what cells need of {megabytes:.0f} MB from this site"
    hashes = {one.name: hash_of(one) for one in map(runtime.joinpath, PARTS) if one.exists()}
    told = {"runtime": "pyodide/", "wheels": "pyodide/", "loads": loads, "hashes": hashes}
    say_runtime(folder, told)
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if OTHERS in text:
            page.unlink()  # it may be a link to the page of another book
            page.write_text(text.replace(OTHERS, ""), encoding="utf-8")


def hash_of(path):
    return f"sha256-{b64encode(sha256(path.read_bytes()).digest()).decode()}"


def setup(app):
    app.connect("doctree-read", number)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", pack)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.exit(lay_runtime(*map(Path, sys.argv[1:])))
