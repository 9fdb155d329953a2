"""Checks of the built book as a reader sees it, with a headless browser.

python scripts/browser.py    is there a browser? Prints its path.

A check takes a page that `visit` opened and returns what is wrong with it, one line each. What it
has to ask the page itself is in browser.js. tests/test_browser.py tests the checks, on pages that
are broken on purpose; tests/built uses them.
"""

import io
import os
import re
import shutil
import sys
import threading
from contextlib import contextmanager
from functools import cache, partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, unquote, urlsplit

NAMES = ["chromium", "chromium-browser", "google-chrome"]
ABSENT = "There is no browser: install Chromium or Chrome, or name one in the variable CHROMIUM."
FLAGS = [
    "--no-sandbox",  # the sandbox refuses to run as root; only our own pages are opened
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no name resolves: we are offline
]
DESKTOP, PHONE = 1440, 375  # widths of windows in pixels
LOOKS = [("light", DESKTOP), ("dark", DESKTOP), ("dark", PHONE), ("light", PHONE)]
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


def open_window(browser):
    """A window of the browser on a desktop, with the light theme."""
    window = browser.new_context(
        viewport={"width": DESKTOP, "height": 900}, color_scheme="light", reduced_motion="reduce"
    )
    window.set_default_timeout(WAIT)
    window.add_init_script(path=Path(__file__).with_suffix(".js"))
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
    page.evaluate("reader.settled()")
    return page, errors, requests


def _error(said):
    return f"{said.text} {said.location['url']}".strip()


def set_look(page, theme, width):
    """Set the theme of the system, which the book follows, and the width of the window."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.evaluate("reader.still()")


def problems(browser, base, folder, name):
    """What is wrong with a page of the book in `folder`, seen at the address `base`, by check."""
    window = open_window(browser)
    page, errors, requests = visit(window, base + name)
    found = {"links": links(page, base, folder), "buttons": buttons(page, base)}
    # As files, pages look and react the same, once they are complete.
    served = base.startswith("http")
    found["keyboard"] = keyboard(page) if served else page.evaluate("reader.unfold()")
    found["formulas"] = formulas(page)
    drawn = {}
    for theme, width in LOOKS if served else LOOKS[:1]:
        set_look(page, theme, width)
        for check in (figures, scrolling, contrast):
            found[f"{check.__name__}, {theme}, {width} px"] = check(page)
        if served and width == DESKTOP:
            drawn[theme] = drawings(page)
    found["dark figures"] = dark_figures(*drawn.values()) if served else []
    found["outside"] = outside(page, requests, base)
    window.close()
    return {check: lines for check, lines in {**found, "console": errors}.items() if lines}


# Checks of one page.


def outside(page, requests, base):
    """Requests that leave the book, and connections that are prepared for it."""
    early = page.evaluate(
        "reader.all('link[rel~=preconnect], link[rel~=dns-prefetch]').map(link => link.href)"
    )
    here = (base, "data:", "blob:", "about:")
    return [f"request to {url}" for url in [*requests, *early] if not url.startswith(here)]


def formulas(page):
    """Formulas that are not rendered, and TeX that shows."""
    return page.evaluate("reader.formulas()")


def figures(page):
    """Pictures that are missing, invisible, wider than the text or without describing alt text."""
    return page.evaluate("reader.figures()")


def scrolling(page):
    """What makes the page wider than the window."""
    return page.evaluate("reader.scrolling()")


def contrast(page):
    """Text that is hard to read on its background."""
    return page.evaluate("reader.contrast()")


def drawings(page):
    """Every picture as it is displayed: its name, and its pixels' contrasts to the background."""
    from matplotlib.image import imread

    pictures = page.evaluate_handle("reader.pictures().filter(reader.shown)")
    drawn = []
    for picture in pictures.get_properties().values():
        shot = io.BytesIO(page.screenshot(clip=picture.evaluate("reader.centre")))
        drawn.append((picture.evaluate("reader.name"), _contrasts(imread(shot)[..., :3])))
    return drawn


def dark_figures(light, dark):
    """Pictures of which less stands out in the dark theme than in the light one."""
    found = []
    for (name, one), (_, other) in zip(light, dark):
        if not (one >= 4.5).any():
            found.append(f"{name} is empty")
        elif (kept := _kept(one, other)) < 0.95:
            found.append(f"{name} shows {kept:.0%} of its ink in the dark theme")
    return found


def _contrasts(pixels):
    """The contrast of pixels (red, green, blue, 0 to 1) to the background, the commonest colour."""
    import numpy as np

    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    luminance = (linear @ [0.2126, 0.7152, 0.0722]).round(4)
    values, counts = np.unique(luminance, return_counts=True)
    ground = values[counts.argmax()]
    return (np.maximum(luminance, ground) + 0.05) / (np.minimum(luminance, ground) + 0.05)


def _kept(light, dark):
    """How much of what stands out in one picture stands out in the other, about the same place."""
    import numpy as np
    from scipy.ndimage import maximum_filter

    height, width = np.minimum(light.shape, dark.shape)  # a fraction of a pixel may be rounded
    around = maximum_filter(dark, size=3)[:height, :width]
    return (around >= 3)[light[:height, :width] >= 4.5].mean()


def links(page, base, folder):
    """Links within the book that do not land, and references that were not resolved."""
    found = []
    for href, name in page.evaluate(
        "reader.all('a[href]').map(a => [reader.target(a), reader.name(a)])"
    ):
        if urlsplit(href)[:2] != urlsplit(base)[:2]:
            continue  # to another site
        address, _, anchor = href.partition("#")
        target = folder / unquote(urlsplit(address.removeprefix(base)).path or "index.html")
        if not address.startswith(base) or not target.is_file():
            found.append(f"dead link to {href}: {name}")
        elif anchor and unquote(anchor) not in _ids(target):
            found.append(f"dead anchor {href}: {name}")
    unresolved = ".problematic, .system-message, .xref:not(a, a *, .py)"
    for name in page.evaluate(f"reader.all('{unresolved}').map(reader.name)"):
        found.append(f"unresolved reference: {name}")
    return found


@cache
def _ids(path):
    return set(map(unescape, re.findall(r'\bid="([^"]+)"', path.read_text(encoding="utf-8"))))


def buttons(page, base):
    """What a page with code lacks: buttons to launch it and to download it as notebook and text."""
    if not page.evaluate("reader.all('article .cell').length"):
        return []
    name = page.url.removeprefix(base).partition(".html")[0]
    launched = page.evaluate("reader.all('.dropdown-launch-buttons a').map(a => a.href)")
    downloaded = page.evaluate("reader.all('.dropdown-download-buttons a').map(a => a.href)")
    opened = [parse_qs(urlsplit(href).query).get("urlpath", [""])[0] for href in launched]
    found = []
    if opened != [f"lab/tree/{name}.ipynb"]:
        found.append(f"the launch buttons open {opened}, not {name}.ipynb")
    for suffix in ("md", "ipynb"):
        if f"{base}_sources/{name}.{suffix}" not in downloaded:
            found.append(f"no button downloads {name}.{suffix}")
    return found


def keyboard(page):
    """What is folded, such as a solution, and does not open and close with Tab, Enter and Space.

    Leaves it open.
    """
    found = []
    for fold in page.query_selector_all("article details, article .dropdown"):
        name = fold.evaluate("reader.name")
        control = fold.query_selector("summary, button")
        if not (control and _reach(page, fold, control)):
            found.append(f"Tab does not reach the button of {name}")
            continue
        height = fold.evaluate("fold => fold.offsetHeight")
        for key in ("Enter", "Space", "Enter"):
            page.keyboard.press(key)
            before, height = height, fold.evaluate("fold => fold.offsetHeight")
            if height == before:
                found.append(f"{key} does not open or close {name}")
                break
    return found


def _reach(page, fold, control):
    """Whether Tab leads to the button of what is folded, past the links in its title."""
    fold.evaluate("reader.standBefore")
    for _ in range(3):
        page.keyboard.press("Tab")
        if control.evaluate("control => control === document.activeElement"):
            return True
    return False


# Checks of the whole book.


def walk(page, addresses, button):
    """Where a button, such as that to the next page, does not lead on through the addresses."""
    page.goto(addresses[0], wait_until="domcontentloaded")
    for here, there in zip(addresses, [*addresses[1:], None]):
        led = page.evaluate(f"reader.all('{button}').map(a => a.href)")
        if led != [there] * (there is not None):
            return [f"{here}: {button} leads to {led}, not to {there}"]
        if there:
            page.locator(button).click()
            page.wait_for_url(there, wait_until="domcontentloaded")
    return []


def search(page, words, wanted):
    """Whether the search page finds words and leads to the address that is wanted."""
    from playwright.sync_api import TimeoutError

    page.locator("input[name=q]:visible").fill(words)
    page.keyboard.press("Enter")
    result = page.locator("#search-results a").and_(page.locator(f"a[href*='{wanted}']"))
    try:
        result.first.click()
        page.wait_for_url(f"**/{wanted}*", wait_until="commit")
    except TimeoutError:
        hits = page.evaluate("reader.all('#search-results a').map(reader.name)")
        return [f"a search for {words} does not lead to {wanted}, but to {hits}"]
    return []


def download(page, folder):
    """The notebook that the download button of a page gives, saved in a folder."""
    page.locator(".dropdown-download-buttons > button").click()
    with page.expect_download() as waiting:
        page.locator(".btn-download-notebook-button").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def failures(notebook):
    """The error at which a notebook stops when it is executed away from the project."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        try:
            NotebookClient(nbformat.read(notebook, as_version=4), resources=where).execute()
        except CellExecutionError as error:
            return [str(error)]
    return []


if __name__ == "__main__":
    sys.exit(print(find()) if find() else ABSENT)
