"""Measure what it takes to run a page: book/data/benchmarks/running.json.

python scripts/record_running.py    after `make book` and `make running`, in some ten minutes

Python for browsers is that of the tests, laid beside the book: bytes are those of its files, which
a server would compress further, and seconds are without a network. Each press is in a window that
has kept nothing. First outputs are the least of several times, whole pages are run once.
"""

import datetime
import json
import shutil
import sys
import tempfile
from pathlib import Path

import browser
import chapters
from sphinx_additions import running

HTML = chapters.ROOT / "_build/html"
FILE = chapters.ROOT / "book/data/benchmarks/running.json"
PYODIDE = chapters.ROOT / "build/pyodide-0.27.7"
PARTS = chapters.parts()
VOLUME_ONE = [
    page
    for caption, pages in PARTS.items()
    if caption in ("", "The short way") or caption.startswith("Volume one")
    for page in pages
    if chapters.has_cells(page)
]
FIRST_PAGES = ["book/start", "book/sampled_metrics"]
REPEATED = 3
# Cells that the versions of the tests do not run, or print otherwise, by page and what the cell
# begins with, and why. Their chapters run with the versions that the book loads.
NNLS = "SciPy 1.14 ends nnls too soon"
OLDER = {
    "book/report": {"values = np.linspace(0, 0.22": NNLS},
    "book/corrections_movielens": {"versions = {": NNLS, "distance = table3": NNLS},
}
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
FIRST = """runCells.cells.findIndex(
    ({ press, box }) => press?.checkVisibility() && box.querySelector(".cell_output")
)"""
SINCE = """name => performance.getEntriesByName(name).at(-1).startTime
    - performance.getEntriesByName("press").at(-1).startTime"""


def site(pyodide, folder):
    """Copy the built book into a folder, with Python for browsers beside it; the site's folder."""
    html = Path(folder, "html")
    shutil.copytree(HTML, html)
    running.lay_runtime(html, pyodide)
    return html


def alone(chrome, address, libraries):
    """Seconds and megabytes of the runtime and some libraries by themselves."""
    window, page, loaded = opened(chrome, f"{address}book/start.html")
    runtime = f"{address}{running.FOLDER}/pyodide/"
    seconds = page.evaluate(ALONE, [runtime, libraries]) / 1000
    window.close()
    return seconds, sum(loaded) / 1e6


def first_output(chrome, address, name):
    """Seconds and megabytes from a press to the first output of a page."""
    window, page, loaded = opened(chrome, f"{address}{name}.html")
    cell = page.evaluate(FIRST)
    press(page, f"Run cell {cell + 1}")
    seconds = page.evaluate(SINCE, f"ran {cell}") / 1000
    window.close()
    return seconds, sum(loaded) / 1e6


def whole(chrome, address, name):
    """Seconds and megabytes from a press until the last cell of a page has run."""
    window, page, loaded = opened(chrome, f"{address}{name}.html")
    leave_out_older(page, name)
    press(page, "Run this page")
    told = page.locator(".run-line [role=status]").text_content()
    assert told == "Every cell of this page has run.", f"{name}: {told}"
    ran = "Math.max(...performance.getEntries().map(e => e.name.startsWith('ran ') && e.startTime))"
    start = "performance.getEntriesByName('press').at(-1).startTime"
    seconds = page.evaluate(f"{ran} - {start}") / 1000
    window.close()
    return seconds, sum(loaded) / 1e6


def press(page, button):
    """Press, agree, and wait until the page is done."""
    page.get_by_role("button", name=button, exact=True).first.click()
    page.get_by_role("button", name="Load and run").click()
    page.wait_for_function("!runCells.working")


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


def least(measure, *how):
    """The least time of several, and what was loaded."""
    return min(measure(*how) for _ in range(REPEATED))


def rows(chrome, address):
    for named in (LIBRARIES[:1], LIBRARIES):
        seconds = least(alone, chrome, address, named)
        yield f"Python with {', '.join(named)}, without the book", seconds
    for name in FIRST_PAGES:
        yield f"{name}, first output", least(first_output, chrome, address, name)
    for name in VOLUME_ONE:
        yield name, whole(chrome, address, name)


def main():
    if not (browser.find() and PYODIDE.is_dir() and HTML.is_dir()):
        sys.exit(
            "This needs a browser, the built book, and the runtime that `make running` fetches."
        )
    with (
        tempfile.TemporaryDirectory() as folder,
        browser.launch(browser.find()) as chrome,
        browser.serve(site(PYODIDE, folder)) as address,
    ):
        found = [
            json.dumps({"what": what, "seconds": round(seconds, 1), "megabytes": round(size, 1)})
            for what, (seconds, size) in rows(chrome, address)
        ]
        versions = {"Chromium": chrome.version, "Pyodide": PYODIDE.name.partition("-")[2]}
    told = {"date": str(datetime.date.today()), "versions": versions, "rows": []}
    text = json.dumps(told, indent=1).replace("[]", "[\n  " + ",\n  ".join(found) + "\n ]")
    FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
