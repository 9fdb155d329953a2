"""The built book as a reader sees it, in a headless browser.

python scripts/browser.py    is there a browser? Prints its path.

`problems` lists what is wrong with a page; what it asks the page itself is in browser.js. It is
tried on broken pages in tests/tools/test_browser.py, and used in tests/built.
"""

import os
import shutil
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAMES = ["chromium", "chromium-browser", "google-chrome"]
ABSENT = "There is no browser: install Chromium or Chrome, or name one in the variable CHROMIUM."
FLAGS = [
    "--no-sandbox",  # the sandbox refuses to run as root; only our own pages are opened
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name resolves: we are offline
]
HEIGHT, DESKTOP, PHONE = 900, 1440, 375  # pixels; most phones are wider
CHECKS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
# Where the tests keep Python for browsers once they have fetched it.
PYODIDE = Path(__file__).parents[1] / "build/pyodide-0.27.7"
CONTRAST, LINKS = "color-contrast", "link-in-text-block"  # the rules of axe-core that need a theme
WAIT = 30_000  # milliseconds for a page to react, on a busy machine too


def find():
    """The path of the browser: $CHROMIUM, or the first of NAMES that is installed; None without."""
    return next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *NAMES])), None)


@contextmanager
def launch(path):
    """A running browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serve(folder):
    """The address of a folder: not at the root of its server, as on GitHub Pages."""
    handler = partial(_Quiet, directory=folder.parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{folder.name}/"
        finally:
            server.shutdown()


def open_window(browser, **options):
    """A window of the browser on a desktop, with the light theme."""
    size = {"width": DESKTOP, "height": HEIGHT}
    window = browser.new_context(
        **{"viewport": size, "color_scheme": "light", "reduced_motion": "reduce", **options}
    )
    window.set_default_timeout(WAIT)
    return window


def visit(window, address):
    """Open a page and wait until it is complete: the page, its errors, and what it asked for."""
    page = window.new_page()
    errors, requests = [], []
    page.on("console", lambda said: said.type == "error" and errors.append(_error(said)))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.on("websocket", lambda socket: requests.append(socket.url))
    page.goto(address)
    page.evaluate("document.fonts.ready.then(() => null)")
    return page, errors, requests


def _error(said):
    return f"{said.text} {said.location['url']}".strip()


def set_look(page, theme="light", width=DESKTOP):
    """Set the theme of the system, which the book follows, and the width of the window."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=theme)
    # The page takes notice before its next frame.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def problems(browser, base, name, figure_first=False):
    """What is wrong with a page at the address `base`, one line each, with all folds opened.

    With `figure_first` a figure, or a table with a caption, has to stand in the first screen.
    """
    window = open_window(browser)
    page, errors, requests = visit(window, base + name)
    page.add_style_tag(content="* { transition: none !important; animation: none !important }")
    found = []
    if figure_first:
        box = page.locator("article :is(figure, table:has(caption))").first.bounding_box()
        if box is None or box["y"] + box["height"] > HEIGHT:
            found.append("no figure or table in the first screen")
    found += [*ask(page, "folds"), *ask(page, "formulas"), *ask(page, "pictures")]
    for width in (PHONE, DESKTOP):
        set_look(page, width=width)
        found += ask(page, "widths")
    found += accessibility(page)
    found += [f"error: {error}" for error in errors]
    here = (base, "data:", "blob:")
    found += [f"request to {url}" for url in requests if not url.startswith(here)]
    window.close()
    return found


def ask(page, check):
    """What the page itself answers to a check of browser.js."""
    return page.evaluate(CHECKS, check)


def accessibility(page):
    """What axe-core finds, in the colours of both themes too."""
    from axe_playwright_python.sync_playwright import Axe

    def violations(where="", **chosen):
        options = {"resultTypes": ["violations"], "preload": False, **chosen}
        for rule in Axe().run(page, options=options).response["violations"]:
            yield from (f"{rule['id']}{where}: {one['html']}" for one in rule["nodes"])

    def in_both_themes(rule):
        for theme in ("light", "dark"):
            set_look(page, theme)
            yield from violations(f" in the {theme} theme", runOnly=[rule])

    ask(page, "simplify")
    found = [*violations(rules={rule: {"enabled": False} for rule in (CONTRAST, LINKS)})]
    found += in_both_themes(LINKS)  # of texts that are whole
    ask(page, "thin")
    return [*found, *in_both_themes(CONTRAST)]


if __name__ == "__main__":
    sys.exit(print(find()) if find() else ABSENT)
