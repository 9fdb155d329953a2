"""The built book in a browser, page by page and as a whole: `make pages`, after `make book`."""

import json
from pathlib import Path

import browser
import chapters
import pytest

HTML = chapters.ROOT / "_build/html"
PAGES = chapters.pages()
EXECUTED = [page for page in PAGES if chapters.has_cells(page)]


@pytest.fixture(scope="module", params=["served", "file"])
def base(request):
    """The address of the book: on a server, or as files."""
    if request.param == "file":
        yield HTML.as_uri() + "/"
    else:
        with browser.serve(HTML) as address:
            yield address


@pytest.fixture
def window(chromium):
    """A window on a desktop."""
    window = browser.open_window(chromium)
    yield window
    window.close()


@pytest.mark.parametrize("page", [*PAGES, "search", "genindex"])
def test_page(chromium, page):
    with browser.serve(HTML) as address:
        assert browser.problems(chromium, address, HTML, f"{page}.html") == {}


# A page that is opened as a file may lack what it loads: one page of every kind shows that.
@pytest.mark.parametrize("page", ["book/index", "book/metrics", "book/api", "search"])
def test_page_as_a_file(chromium, page):
    assert browser.problems(chromium, HTML.as_uri() + "/", HTML, f"{page}.html") == {}


def test_the_book_opens_with_its_first_page(window, base):
    page = window.new_page()
    page.goto(f"{base}index.html")
    page.wait_for_url(f"{base}{PAGES[0]}.html")


def test_next_and_previous_walk_through_every_page(window, base):
    page = window.new_page()
    addresses = [f"{base}{name}.html" for name in PAGES]
    assert browser.walk(page, addresses, "a.right-next") == []
    assert browser.walk(page, addresses[::-1], "a.left-prev") == []


def test_search_leads_to_the_chapter(window, base):
    page, errors, _ = browser.visit(window, f"{base}search.html")
    assert browser.search(page, "bias-variance", "book/corrected_metrics.html") == []
    assert errors == []


def test_paper_is_light_and_the_page_stays_dark(window, base):
    page, errors, _ = browser.visit(window, f"{base}{PAGES[0]}.html")
    browser.set_look(page, "dark", browser.DESKTOP)
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {theme})")
    page.pdf()
    assert page.evaluate(f"[window.printed, {theme}]") == ["light", "dark"]
    assert errors == []


def test_downloaded_notebooks_hold_what_the_tests_execute(tmp_path):
    chapters.make_notebooks(tmp_path)
    for name in EXECUTED:
        downloaded, tested = HTML / f"_sources/{name}.ipynb", tmp_path / f"{Path(name).name}.ipynb"
        assert cells(downloaded) == cells(tested), name


def cells(notebook):
    """What is written in the cells of a notebook."""
    made = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], cell["source"]) for cell in made]


def test_a_downloaded_notebook_executes(window, tmp_path):
    with browser.serve(HTML) as address:
        page, _, _ = browser.visit(window, f"{address}{EXECUTED[0]}.html")
        assert browser.failures(browser.download(page, tmp_path)) == []
