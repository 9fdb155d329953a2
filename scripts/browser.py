"""Checks of the built book as a reader sees it, with a headless browser.

python scripts/browser.py    is there a browser? Prints its path.

A check takes a page that `visit` opened and returns what is wrong with it, one line each. What it
has to ask the page itself is in browser.js. tests/tools/test_browser.py tests the checks, on pages
that are broken on purpose; tests/built uses them.
"""

import io
import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

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
DESKTOP, TABLET, PHONE = 1440, 800, 375  # widths of windows in pixels
MENUS = {".primary-toggle": ".bd-docs-nav", ".secondary-toggle": ".page-toc"}  # button, list
LYCHEE = Path(sys.executable).with_name("lychee")  # there is none for Linux on ARM
# Where the tests keep Python for browsers once they have fetched it.
PYODIDE = Path(__file__).parents[1] / "build/pyodide-0.27.7"
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
    ask(page, "settled")
    return page, errors, requests


def _error(said):
    return f"{said.text} {said.location['url']}".strip()


def set_look(page, theme, width):
    """Set the theme of the system, which the book follows, and the width of the window."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    ask(page, "still")


def problems(browser, base, name):
    """What is wrong with a page at the address `base`, by check.

    As a file a page looks and reacts as it does when it is served, once it is complete.
    """
    window = open_window(browser)
    page, errors, requests = visit(window, base + name)
    checks = [layout, formulas]
    if base.startswith("http"):  # `keyboard` opens what is folded, the last takes the page apart
        checks = [first_figure, menus, keyboard, focus, themes, *checks, accessibility]
    found = {check.__name__: check(page) for check in checks}
    found |= {"outside": outside(page, requests, base), "console": errors}
    window.close()
    return {check: lines for check, lines in found.items() if lines}


def ask(page, check):
    """What the page itself answers to a check of browser.js."""
    return page.evaluate(f"reader.{check}()")


# Checks of one page.


def outside(page, requests, base):
    """Requests that leave the book, and connections that are prepared for it."""
    early = page.evaluate(
        "reader.all('link[rel~=preconnect], link[rel~=dns-prefetch]').map(link => link.href)"
    )
    here = (base, "data:", "blob:", "about:")
    return [f"request to {url}" for url in [*requests, *early] if not url.startswith(here)]


def formulas(page):
    """Formulas that are not rendered or stop the Tab key, and TeX that shows."""
    return ask(page, "formulas")


def layout(page):
    """Pictures that are missing, too wide or poorly described; what is wider than the window."""
    found = []
    for width in (PHONE, DESKTOP):
        set_look(page, "light", width)
        lines = ask(page, "figures") + ask(page, "scrolling")
        found += [f"{line} at {width} px" for line in lines]
    return found


def first_figure(page):
    """A first figure that is missing or ends, with its caption, below the first screen."""
    set_look(page, "light", DESKTOP)
    figure = page.query_selector("article figure")
    box = figure and figure.bounding_box()
    if not box:
        return ["no first figure is seen"]
    end = box["y"] + box["height"]
    return [f"the first figure ends at {end:.0f} px"] if end > 900 else []


def accessibility(page):
    """What axe-core finds: contrast, names, roles, structure."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    ask(page, "simplify")
    found = []
    for theme, width in product(("light", "dark"), (PHONE, DESKTOP)):
        set_look(page, theme, width)
        found += [f"{line}, {theme} at {width} px" for line in ask(page, "accessibility")]
    return found


def focus(page):
    """What looks the same with the focus of the keyboard as without."""
    page.keyboard.press("Tab")  # for the browser to show the focus
    return ask(page, "focus")


def themes(page):
    """Pictures of which less stands out in the dark theme, and a page that has no such theme."""
    (ground, light), (other, dark) = [_drawings(page, theme) for theme in ("light", "dark")]
    found = ["the page stays light"] if ground == other else []
    for (name, one), (_, two) in zip(light, dark):
        if not (one >= 4.5).any():
            found.append(f"{name} is empty")
        elif (kept := _kept(one, two)) < 0.95:
            found.append(f"{name} shows {kept:.0%} of its ink in the dark theme")
    return found


def _drawings(page, theme):
    """The ground of a page, and of every picture its name and the contrasts of its pixels."""
    from matplotlib.image import imread

    set_look(page, theme, DESKTOP)
    pictures = page.evaluate_handle("reader.pictures().filter(reader.shown)")
    drawn = []
    for picture in pictures.get_properties().values():
        shot = io.BytesIO(page.screenshot(clip=picture.evaluate("reader.centre")))
        drawn.append((picture.evaluate("reader.name"), _contrasts(imread(shot)[..., :3])))
    return ask(page, "ground"), drawn


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


def menus(page):
    """The first button of a menu that is dead, or list that cannot be reached, at any width."""
    for width in (PHONE, TABLET, DESKTOP):
        set_look(page, "light", width)
        page.mouse.move(width / 2, 600)  # away from buttons, whose hints lie over others
        for button, menu in MENUS.items():
            if problem := _menu(page, button, menu):
                page.keyboard.press("Escape")
                return [f"{problem} at {width} px"]
    return []


def _menu(page, button, menu):
    """What is wrong with a menu that lists anything: the link to the page itself has to be seen."""
    links = f"{menu} a"
    if not page.locator(links).count():
        return None
    if page.locator(f"{menu} .current > a").count():
        links = f"{menu} .current > a"
    control = page.locator(button).locator("visible=true")
    before = _seen(page, links)
    if not control.count():
        return None if before else f"nothing shows {links}"
    control.click()
    if _seen(page, links) == before:
        return f"{button} neither shows nor hides {links}"
    if before:  # beside the page: the button shows again what it has hidden
        control.click()
    else:  # over the page
        page.keyboard.press("Escape")
    return None if _seen(page, links) == before else f"{button} cannot be undone"


def _seen(page, selector):
    return page.evaluate("selector => reader.still().then(() => reader.seen(selector))", selector)


def keyboard(page):
    """What is folded, such as a solution, and does not open and close with Enter and Space.

    One of each kind is tried with keys, all others with a click. Leaves them open.
    """
    found = []
    for fold in page.evaluate_handle("reader.folds()").get_properties().values():
        name = fold.evaluate("reader.name")
        fold.as_element().query_selector("summary, button").focus()
        height = fold.evaluate("fold => fold.offsetHeight")
        for key in ("Enter", "Space", "Enter"):
            page.keyboard.press(key)
            before, height = height, fold.evaluate("fold => fold.offsetHeight")
            if height == before:
                found.append(f"{key} does not open or close {name}")
                break
    return found + ask(page, "folded")


# Checks of the whole book.


def links(folder):
    """Links within the pages of a folder that do not land, found by lychee."""
    options = ["--offline", "--include-fragments", "--no-progress", "--exclude-path=_static"]
    done = subprocess.run(
        [LYCHEE, *options, "."], cwd=folder, capture_output=True, encoding="utf-8"
    )
    return (done.stdout + done.stderr).splitlines() if done.returncode else []


if __name__ == "__main__":
    sys.exit(print(find()) if find() else ABSENT)
