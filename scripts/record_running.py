"""Measure what it takes to run a page: running_*.json.

python scripts/record_running.py

After `make book` and `make running`, in some ten minutes on a machine with nothing else to do.

Python for browsers is that of the tests, laid beside the book: bytes are those of its files, which
a server would compress further, and seconds are without a network. Each press is in a window that
has kept nothing. First outputs are the least of several times, whole pages are run once.
"""

import datetime
import json
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import browser
import chapters
from sphinx_additions import running
from sphinx_additions.sidebar import OPEN

HTML = chapters.ROOT / "_build/html"
FOLDER = chapters.ROOT / "recsample/data/records"
CHAPTERS = [
    page
    for caption, pages in chapters.parts().items()
    if caption in ("", *OPEN)
    for page in pages
    if chapters.has_cells(page)
]
FIRST_PAGES = ["book/start", "book/sampled_metrics"]
REPEATED = 4
# Cells that the versions of the tests do not run, or print otherwise, by page and what the cell
# begins with, and why. Their chapters run with the versions that the book loads.
NNLS = "SciPy 1.14 ends nnls too soon"
OLDER = {"book/corrections_movielens": {"published = ": NNLS, "assert whole": NNLS}}
LIBRARIES = ["numpy", "pandas", "matplotlib"]  # what first outputs need

# Milliseconds until the runtime has imported libraries, without the page's help.
ALONE = """([runtime, libraries]) => new Promise((done, failed) => {
    const source = `import { loadPyodide } from "${runtime}pyodide.mjs";
        const [indexURL, env] = ["${runtime}", { MPLBACKEND: "agg" }];
        const python = await loadPyodide({ indexURL, env, packages: ${JSON.stringify(libraries)} });
        python.runPython("import ${libraries.join(", ").replace("plotlib", "plotlib.pyplot")}");
        postMessage("done");`;
    const file = new Blob([source], { type: "text/javascript" });
    const start = performance.now();
    const worker = new Worker(URL.createObjectURL(file), { type: "module" });
    worker.onerror = event => failed(event.message);
    worker.onmessage = () => { worker.terminate(); done(performance.now() - start); };
})"""
# The first cell whose output the page shows; its folds are opened so that it can be pressed.
FIRST = """(() => {
    const seen = ({ box }) => box?.querySelector(".cell_output")?.checkVisibility();
    const first = runCells.cells.findIndex(seen);
    for (const fold of runCells.cells[first].box.querySelectorAll("details")) fold.open = true;
    return first;
})()"""
# Milliseconds from the press to the end of the last cell that ran.
SINCE = """(() => {
    const marks = performance.getEntriesByType("mark");
    const at = begun => marks.findLast(mark => mark.name.startsWith(begun)).startTime;
    return at("ran ") - at("press");
})()"""


def site(pyodide, folder):
    """The built book in a folder, by links, with Python for browsers beside it."""
    html = Path(folder, "html")
    shutil.copytree(HTML, html, copy_function=os.symlink)
    (html / running.FOLDER / "runtime.json").unlink()  # to write it would change the built book
    running.lay_runtime(html, pyodide)
    return html


def alone(chrome, address, libraries):
    """Seconds and megabytes of the runtime and some libraries by themselves."""
    window, page, loaded = opened(chrome, f"{address}book/start.html")
    runtime = f"{address}{running.FOLDER}/pyodide/"
    seconds = page.evaluate(ALONE, [runtime, libraries]) / 1000
    window.close()
    return {"seconds": seconds, "megabytes": sum(loaded) / 1e6}


def pressed(chrome, address, name, first=False):
    """Seconds and megabytes from a press to the end of a page, or to its first output."""
    window, page, loaded = opened(chrome, f"{address}{name}.html")
    leave_out_older(page, name)
    press(page, f"Run cell {page.evaluate(FIRST) + 1}" if first else "Run this page")
    told = said(page)
    assert told.endswith(" has run."), f"{name}: {told}"
    seconds = page.evaluate(SINCE) / 1000
    window.close()
    return {"seconds": seconds, "megabytes": sum(loaded) / 1e6}


def press(page, name="Run this page", agree=True):
    """Press a button, and answer what the page asks, if it asks."""
    page.once("dialog", lambda asked: asked.accept() if agree else asked.dismiss())
    page.get_by_role("button", name=name, exact=True).first.click()


def said(page):
    """What the page says once Python is done."""
    page.wait_for_function("!runCells.working")
    return page.locator(".run-line [role=status]").text_content()


def leave_out_older(page, name):
    """Let the cells of OLDER keep the output of the book."""
    for begun, why in OLDER.get(name, {}).items():
        page.evaluate(
            "([begun, why]) => { runCells.cells.find("
            "cell => cell.source.startsWith(begun)).elsewhere = why }",
            [begun, why],
        )


def opened(chrome, address):
    """A new window with a page, and the sizes of what it loads from then on."""
    window, loaded = browser.open_window(chrome), []
    window.set_default_timeout(240_000)
    page, _, _ = browser.visit(window, address)
    window.on("response", lambda got: loaded.append(int(got.headers.get("content-length", 0))))
    return window, page, loaded


def least(*measures):
    """What each of some measures found in its least time, in turns: a machine has slow minutes."""
    turns = [[measure() for measure in measures] for _ in range(REPEATED)]
    return [min(found, key=lambda one: one["seconds"]) for found in zip(*turns)]


def first_outputs(chrome, address, names):
    """Measures of the libraries by themselves, and of pages to their first output."""
    yield partial(alone, chrome, address, LIBRARIES)
    for name in names:
        yield partial(pressed, chrome, address, name, first=True)


def first(chrome, address):
    runtime = partial(alone, chrome, address, LIBRARIES[:1])
    found = least(runtime, *first_outputs(chrome, address, FIRST_PAGES))
    some = [", ".join(one) for one in (LIBRARIES[:1], LIBRARIES)]
    stages = [f"Python with {one}, without the book" for one in some]
    stages += [f"{name}, first output" for name in FIRST_PAGES]
    return dict(zip(stages, found))


def pages(chrome, address):
    return {name: pressed(chrome, address, name) for name in CHAPTERS}


def record(part, chrome, address):
    rows = [
        {"what": what} | {name: round(value, 1) for name, value in one.items()}
        for what, one in part(chrome, address).items()
    ]
    versions = {"Chromium": chrome.version, "Pyodide": browser.PYODIDE.name.partition("-")[2]}
    told = {"date": str(datetime.date.today()), "versions": versions, "rows": rows}
    file = FOLDER / f"running_{part.__name__}.json"
    file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if not (browser.find() and browser.PYODIDE.is_dir() and HTML.is_dir()):
        sys.exit("This needs a browser, the built book, and what `make running` fetches.")
    with (
        tempfile.TemporaryDirectory() as folder,
        browser.launch(browser.find()) as chrome,
        browser.serve(site(browser.PYODIDE, folder)) as address,
    ):
        for part in (first, pages):
            record(part, chrome, address)
