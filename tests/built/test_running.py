"""Cells that run where they are read, in a browser: `make pages` after `make book`.

Python for browsers is a fixture, older than what the book loads: see `pyodide` in conftest.py.
"""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import browser
import numpy as np
import playwright.sync_api
import pytest
import record_running
from record_running import press, said
from sphinx_additions import running

import recsample as rs

SHORT, OWN = "book/sampled_metrics", "book/your_numbers"
LIMIT = 30_000 * 8  # milliseconds for a page, on a machine that has more to do
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?")

# What a cell shows: lines of text, rows of tables, and the shapes of pictures.
SHOWN = """() => runCells.cells.map(cell => {
    const place = cell.output ?? cell.box?.querySelector('.cell_output');
    if (!place || !cell.box || cell.elsewhere) return null;
    const seen = [...place.querySelectorAll('tr, pre')].filter(one => !one.closest('[hidden]'));
    const text = one => one.localName === 'tr'
        ? [...one.cells].map(part => part.textContent.trim()).join(' | ')
        : one.textContent.trim();
    const pictures = [...place.querySelectorAll('img')].filter(one => !one.closest('[hidden]'));
    return [seen.map(text).join('\\n'), pictures.map(one => one.naturalWidth / one.naturalHeight)];
})"""


@pytest.fixture(scope="module")
def site(pyodide, tmp_path_factory):
    """The built book with Python for browsers beside it."""
    folder = record_running.site(pyodide, tmp_path_factory.mktemp("site"))
    with browser.serve(folder) as address:
        yield folder, address


@pytest.fixture
def window(chromium):
    window = browser.open_window(chromium)
    window.set_default_timeout(LIMIT)
    yield window
    window.close()


def differences(before, after):
    """The numbers of the cells that show something else than before."""
    for number, (old, new) in enumerate(zip(before, after)):
        if old is not None and not alike(old, new):
            yield number


def alike(old, new):
    """Whether two cells show the same words, nearly the same numbers, and pictures as wide."""
    (text, shapes), (other, others) = old, new
    return (
        NUMBER.sub("", text).split() == NUMBER.sub("", other).split()
        and numbers(text) == pytest.approx(numbers(other), rel=1e-6, abs=1e-10)
        and shapes == pytest.approx(others, rel=0.1)
    )


def numbers(text):
    text = re.sub(r"[\d.]+ seconds", "", text)  # measured anew
    return [float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(text)]


@pytest.mark.running
@pytest.mark.parametrize("name", record_running.CHAPTERS)
def test_pages_print_in_the_browser_what_the_book_printed(window, site, name):
    page, errors, _ = browser.visit(window, f"{site[1]}{name}.html")
    record_running.leave_out_older(page, name)
    before = page.evaluate(SHOWN)
    press(page)
    assert said(page) == "Every cell of this page has run."
    assert page.locator(".run-error").all_text_contents() == errors == []
    page.wait_for_timeout(200)  # for pictures to be decoded
    assert list(differences(before, page.evaluate(SHOWN))) == []


def test_nothing_is_loaded_before_the_press_nor_without_a_yes(window, site):
    page, errors, addresses = browser.visit(window, f"{site[1]}{SHORT}.html")
    with page.expect_event("dialog") as asked:
        press(page, agree=False)
    assert "MB" in asked.value.message
    page.wait_for_function("!runCells.working")
    assert not [one for one in addresses if re.search("pyodide|worker|[.]zip|[.]whl", one)]
    assert not [one for one in addresses if not one.startswith((site[1], "data:"))]
    assert errors == []


def test_the_book_names_one_other_host_and_only_in_one_file():
    folder = record_running.HTML / running.FOLDER
    texts = {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix != ".zip"}
    assert b"https://cdn.jsdelivr.net/" in texts.pop("runtime.json")
    hosts = set().union(*(re.findall(rb"https?://[\w.-]+", text) for text in texts.values()))
    assert hosts <= {b"http://localhost"}


def test_a_page_that_is_opened_as_a_file_says_why_it_does_not_run(window):
    page, errors, _ = browser.visit(window, f"{record_running.HTML.as_uri()}/{SHORT}.html")
    press(page)
    assert "opened as a file" in said(page)
    assert errors == []


def test_a_page_runs_again_edited_reset_and_stopped(window, site):
    folder, address = site
    page, errors, addresses = browser.visit(window, f"{address}{SHORT}.html")
    asked = []
    page.on("dialog", lambda one: asked.append(one.message))
    before = page.evaluate(SHOWN)
    last = page.evaluate("runCells.cells.findIndex(cell => cell.source.includes('exact = AP'))")
    box = page.locator(f".run-{last}")
    press(page, f"Run cell {last + 1}")
    assert said(page) == f"Cell {last + 1} has run."
    assert list(differences(before[: last + 1], page.evaluate(SHOWN))) == []
    ran = page.evaluate("runCells.cells.map(cell => Boolean(cell.ran))")
    assert all(ran[: last + 1]) and not any(ran[last + 1 :])

    # A second press loads nothing.
    loaded = len(addresses)
    press(page, f"Run cell {last + 1}")
    said(page)
    assert not [one for one in addresses[loaded:] if not one.startswith("blob:")]

    # An edited cell shows its own output, with an error where it has one, and is reset.
    box.get_by_role("button", name="Edit").click()
    area = box.locator("textarea")
    assert area.evaluate("area => area === document.activeElement")
    area.fill("print(6 * 7)\n1 / 0")
    page.keyboard.press("Control+Enter")
    assert "Change the code" in said(page)
    shown = box.locator(".cell_output").inner_text()
    assert "42" in shown and "ZeroDivisionError" in shown and "Line 2" in shown
    box.get_by_role("button", name="Reset").click()
    assert page.evaluate(SHOWN)[last] == before[last]

    # What a hidden check asserts fails visibly.
    first = page.evaluate("runCells.cells.findIndex(cell => cell.source.includes('r, n, m ='))")
    box = page.locator(f".run-{first}")
    box.get_by_role("button", name="Edit").click()
    box.locator("textarea").fill(page.evaluate(f"runCells.cells[{first}].source + '\\nr = 9'"))
    page.keyboard.press("Control+Enter")
    said(page)
    press(page)
    assert "A cell above was changed" in said(page) and page.locator(".run-error").count() == 1

    # What a skipped cell would have made is no longer there, and cells that use it are skipped too.
    def outputs(source, **how):
        task = {"source": source, "space": "test", **how}
        return page.evaluate("task => pagePython.run(task)", task)

    outputs("a = 0")
    outputs("import ranx\ndef ask(): pass\na, b = 1, 2", elsewhere="it cannot")
    assert outputs("print('begun')\nc = a + 1") == [["absent", "a"]]
    assert outputs("c") == [["absent", "c"]]
    assert outputs("ask()") == [["absent", "ask"]]
    assert outputs("a = 3\na") == [["text", "3\n"]]
    assert "mistyped" in outputs("a + mistyped")[0][1]

    # NumPy takes whole numbers of 64 bits as indices of 32, and leaves other arrays as they are.
    outputs("import numpy as np\nlong = np.array([0, 1, 1], np.int64)")
    assert outputs("np.bincount(long).tolist()") == [["text", "[1, 2]\n"]]
    assert outputs("np.repeat(long, long).dtype") == [["text", "dtype('int64')\n"]]

    # Stopped, Python forgets; the next press runs every cell above again, which is not asked for.
    box.locator("textarea").fill("while True:\n    pass")
    page.keyboard.press("Control+Enter")
    page.locator(".run-line").get_by_role("button", name="Stop").click()
    assert "forgot its variables" in said(page)
    assert not any(page.evaluate("runCells.cells.map(cell => Boolean(cell.ran))"))
    box.get_by_role("button", name="Reset").click()
    press(page, f"Run cell {first + 1}")
    assert said(page) == f"Cell {first + 1} has run." and len(asked) == 1
    assert errors == []

    # A lost network is said.
    next((folder / running.FOLDER / "pyodide").glob("sqlite3-*.whl")).unlink()
    box.get_by_role("button", name="Edit").click()
    box.locator("textarea").fill("import sqlite3")
    page.keyboard.press("Control+Enter")
    assert "Is there a network? Press again" in said(page)


def test_examples_of_the_api_are_tried_where_they_stand(window, site):
    page, errors, _ = browser.visit(window, f"{site[1]}book/api/metrics.html")
    answered = r"/\n(?!>>>|\.\.\.)./"  # by Python
    number = page.evaluate(
        f"runCells.cells.findIndex(({{ box }}) => {answered}.test(box.firstChild.textContent))"
    )
    source, printed = page.evaluate(
        f"(({{ source, box }}) => [source, box.textContent])(runCells.cells[{number}])"
    )
    assert ">>>" not in source
    press(page, f"Run example {number + 1}")
    assert said(page) == f"Example {number + 1} has run."
    output = page.evaluate(f"runCells.cells[{number}].output.textContent").strip()
    assert output and set(output.splitlines()) <= set(printed.splitlines()) and errors == []


PASTED = """(area, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", text);
    const taken = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    area.select();
    if (!area.dispatchEvent(taken)) return;
    area.value = text;
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
}"""


def asked(page, text, **settings):
    """Fill in the form and press: the rows of the first table, or why there are none."""
    for name, value in settings.items():
        control = page.locator(f"#own-{name}")
        if name in ("kind", "drawn", "replace"):
            control.select_option(value)
        else:
            control.fill(value)
    # A paste: what Playwright types as text, Chromium lays out line by line.
    page.locator("#own-text").evaluate(PASTED, text)
    press(page, "Answer")
    page.wait_for_function("!ownNumbers.working && document.querySelector('.own-answer > *')")
    if refused := page.locator(".own-refusal").all_text_contents():
        return refused[0]
    return (
        page.locator(".own-answer table")
        .first.locator("tbody tr")
        .evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.textContent))")
    )


def samples(users):
    """A column of sampled ranks, with m = 20 of 500 items, from long-tailed exact ones."""
    rng = np.random.default_rng(users)
    exact = np.minimum(np.ceil(rng.pareto(0.5, users) + 1e-9), 500).astype(int)
    return rs.UniformSampling(20).draw(rs.Ranks(exact, 500), rng).values


@pytest.fixture(scope="module")
def own(chromium, site):
    """The page for one's own numbers, on which Python is loaded once, and what it asked for."""
    window = browser.open_window(chromium)
    window.set_default_timeout(LIMIT)
    sent = []
    window.on("request", lambda request: sent.append((request.method, request.url)))
    page, errors, _ = browser.visit(window, f"{site[1]}{OWN}.html")
    yield page, sent, errors
    assert errors == []
    window.close()


def test_own_numbers_are_answered_as_by_the_package_and_go_nowhere(own, site):
    page, sent, _ = own
    sampled, metrics = samples(300), ["Recall@10", "AUC"]
    text = "\n".join(map(str, sampled))
    stated = {"kind": "ranks", "m": "20", "items": "500", "drawn": "uniform"}
    found = asked(page, text, **stated, metrics=", ".join(metrics))
    wanted = rs.report(sampled, m=20, n_items=500, drawn="uniform", metrics=metrics).table
    assert [row[0] for row in found] == list(wanted.index)
    numbers = [[float(one) for one in (row[1], *row[2].split(" to "))] for row in found]
    wanted = wanted[["value", "low", "high"]].to_numpy(float)
    assert np.allclose(numbers, wanted, atol=3e-4, equal_nan=True)
    assert asked(page, "1\nx", m="9").startswith(
        "pasted.tsv, column 'column 1', line 2, must be a whole number"
    )
    assert "replace must be" in asked(page, "1\n2", drawn="unknown")
    assert {method for method, _ in sent} == {"GET"}
    assert all(url.startswith((site[1], "data:", "blob:")) for _, url in sent)
    assert not [url for _, url in sent if "?" in url and "?v=" not in url]

    # A link carries the settings.
    page.get_by_role("button", name="Copy a link").click()
    address = page.evaluate("location.href")
    assert "m=9" in address and "drawn=unknown" in address and "text" not in address
    other = page.context.new_page()
    other.goto("about:blank")
    other.goto(address)
    assert other.locator("#own-m").input_value() == "9"


def test_examples_are_answered(own):
    page, *_ = own
    for kind in ("ranks", "scores", "printed"):
        page.locator("#own-kind").select_option(kind)
        page.get_by_role("button", name="Fill in an example").click()
        press(page, "Answer")
        page.wait_for_function("!ownNumbers.working && document.querySelector('.own-answer > *')")
        assert "is between" in page.locator(".own-verdict").text_content()


def test_a_form_with_gaps_loads_nothing(window, site):
    page, errors, addresses = browser.visit(window, f"{site[1]}{OWN}.html")
    page.get_by_role("button", name="Answer", exact=True).click()  # nothing is filled in
    assert page.evaluate("document.activeElement.id") == "own-text"
    assert not [one for one in addresses if re.search("pyodide|worker|[.]zip|runtime", one)]
    assert errors == []


class Another(BaseHTTPRequestHandler):
    """Another host, which answers everybody."""

    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_nobody_else_is_reached_from_a_page_nor_from_its_python(own, site):
    with ThreadingHTTPServer(("127.0.0.1", 0), Another) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        other = f"http://127.0.0.1:{server.server_port}/"
        page, sent, errors = own
        page.evaluate(
            """url => new Promise(done => {
                for (const name of ["script", "img"]) {
                    const made = document.createElement(name);
                    document.body.append(Object.assign(made, { src: url + name }));
                }
                navigator.sendBeacon(url + "beacon", "numbers");
                fetch(url + "fetch").finally(done);
            }).catch(() => {})""",
            other,
        )
        asked(page, "1\n2", kind="ranks", m="20", items="500", drawn="uniform")  # Python is there
        source = f"from pyodide.http import open_url\nopen_url({other + 'python'!r})"
        with pytest.raises(playwright.sync_api.Error, match="NetworkError"):
            page.evaluate("source => pagePython.run({ source })", source)
        # Without Python there is no policy.
        page, _, _ = browser.visit(page.context, f"{site[1]}search.html")
        page.evaluate("url => fetch(url)", f"{other}free")
        server.shutdown()
    assert Another.asked == ["/free"] and len(errors) > 2
    errors.clear()  # what was refused is no fault of other tests
    sent.clear()


@pytest.mark.parametrize("name", ["pyodide.mjs", "pyodide.asm.js", "python_stdlib.zip"])
def test_a_python_that_is_not_the_recorded_one_does_not_run(window, site, name):
    def changed(route):
        route.fulfill(body=route.fetch().body() + b" ", content_type="text/javascript")

    window.route(f"**/{name}", changed)
    page, _, _ = browser.visit(window, f"{site[1]}{OWN}.html")
    page.fill("#own-text", "1\n2")
    page.fill("#own-items", "500")
    press(page, "Answer")
    page.wait_for_function("!ownNumbers.working")
    assert "This did not work" in page.locator(".run-line [role=status]").text_content()
    assert page.locator(".own-answer > *").count() == 0


@pytest.mark.running
def test_a_million_rows_are_answered_within_seconds(window, site):
    page, _, _ = browser.visit(window, f"{site[1]}{OWN}.html")
    asked(page, "1\n2", m="20", items="500")  # loads
    text = "\n".join(map(str, samples(1_000_000)))
    found = asked(page, text)
    assert len(found) == 4
    start, end = page.evaluate(
        "['press', 'answered'].map(name => performance.getEntriesByName(name).at(-1).startTime)"
    )
    print(f"{(end - start) / 1000:.1f} seconds")
    heap = "import pyodide_js; print(pyodide_js._module.HEAP8.length)"
    outputs = page.evaluate("source => pagePython.run({ source })", heap)
    assert int(outputs[0][1]) < 1e9  # bytes
    assert end - start < 10_000 * 6  # on a machine that has more to do


@pytest.mark.running
def test_the_first_output_comes_soon_after_the_libraries_themselves(chromium, site):
    measures = record_running.first_outputs(chromium, site[1], record_running.FIRST_PAGES)
    alone, *first = (found["seconds"] for found in record_running.least(*measures))
    assert max(first) < 1.3 * alone
