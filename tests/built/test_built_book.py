"""The built book in a browser, page by page and as a whole: `make pages`, after `make book`."""

import gzip
import json
import re
import subprocess
import sys
from os.path import relpath
from pathlib import Path

import browser
import chapters
import pytest

HTML = chapters.ROOT / "_build/html"
PAGES = chapters.pages()
CHAPTERS = PAGES[:2] + [
    page for part, pages in chapters.parts().items() if part.startswith("Volume") for page in pages
]
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


def size(page):
    return -(HTML / f"{page}.html").stat().st_size


# The longest first: with the short ones at the end all workers end together.
@pytest.mark.parametrize("page", sorted([*PAGES, "search", "genindex"], key=size))
def test_page(chromium, page):
    with browser.serve(HTML) as address:
        found = browser.problems(chromium, address, f"{page}.html")
    if page not in CHAPTERS:
        found.pop("first_figure", None)  # a reference opens with words
    assert found == {}


# A page that is opened as a file may lack what it loads: one page of every kind shows that.
@pytest.mark.parametrize("page", ["book/index", "book/metrics", "book/api", "search"])
def test_page_as_a_file(chromium, page):
    assert browser.problems(chromium, HTML.as_uri() + "/", f"{page}.html") == {}


@pytest.mark.skipif(not browser.LYCHEE.exists(), reason="lychee is not installed")
def test_links_land():
    assert browser.links(HTML) == []


def test_previous_and_next_lead_through_every_page():
    step = r'class="(left-prev|right-next)"\s+href="([^"]+)"'
    for before, page, after in zip(["", *PAGES], PAGES, [*PAGES[1:], ""]):
        steps = {"left-prev": before, "right-next": after}
        folder = Path(page).parent
        wanted = {way: relpath(f"{there}.html", folder) for way, there in steps.items() if there}
        assert (
            dict(re.findall(step, (HTML / f"{page}.html").read_text(encoding="utf-8"))) == wanted
        ), page


def test_pages_with_code_have_buttons_to_launch_and_to_download_it():
    for page in EXECUTED:
        text = (HTML / f"{page}.html").read_text(encoding="utf-8")
        assert f'?urlpath=lab/tree/{page}.ipynb"' in text, page
        for suffix in ("ipynb", "md"):
            assert f'href="../_sources/{page}.{suffix}"' in text, page


def test_every_page_has_a_card_of_its_own():
    texts = [(HTML / f"{page}.html").read_text(encoding="utf-8") for page in PAGES]
    for tag in ("og:title", "og:description"):
        found = [re.findall(f'"{tag}" content="(.+?)"', text) for text in texts]
        assert len({card for (card,) in found}) == len(texts), tag


def test_the_book_opens_with_its_first_page(window, base):
    page = window.new_page()
    page.goto(f"{base}index.html")
    page.wait_for_url(f"{base}{PAGES[0]}.html")


@pytest.mark.parametrize("width", [browser.PHONE, browser.TABLET, browser.DESKTOP])
def test_menus_lead_to_sections_and_chapters(window, base, width):
    page, errors, _ = browser.visit(window, f"{base}book/metrics.html")
    browser.set_look(page, "light", width)
    menus = [
        (".secondary-toggle", ".page-toc > ul > :nth-child(3) > a"),
        (".primary-toggle", ".bd-docs-nav ul.current > :nth-child(4) > a"),
    ]
    for button, link in menus:
        if not page.locator(link).is_visible():
            page.locator(button).click()
        wanted = page.locator(link).evaluate("link => link.href")
        page.locator(link).click()
        page.wait_for_url(wanted)
        assert page.evaluate("reader.still().then(() => reader.seen('article :is(h1, h2)'))")
    assert errors == []


def test_the_head_of_the_sidebar_stays(window, base):
    page, _, _ = browser.visit(window, f"{base}{PAGES[-1]}.html")  # the end of the list
    for part in (".logo", ".search-button-field", ".bd-docs-nav .current > a"):
        assert page.evaluate(f"reader.seen('.bd-sidebar-primary {part}')"), part


@pytest.mark.parametrize("term", ["without replacement", "AP"])
def test_search_finds_the_glossary_first(window, term):
    with browser.serve(HTML) as address:
        page, errors, _ = browser.visit(window, f"{address}search.html?q={term}")
        first = page.locator("#search-results li a").first.get_attribute("href")
    assert first.startswith("book/glossary.html#term-") and errors == []


def test_search_leads_to_the_chapter(window, base):
    page, errors, _ = browser.visit(window, f"{base}search.html")
    page.locator("input[name=q]:visible").fill("bias-variance")
    page.keyboard.press("Enter")
    page.locator("#search-results a[href*='book/bias_variance.html']").first.click()
    page.wait_for_url("**/book/bias_variance.html*", wait_until="commit")
    assert errors == []


def test_paper_is_light_and_the_page_stays_dark(window, base):
    page, errors, _ = browser.visit(window, f"{base}{PAGES[0]}.html")
    browser.set_look(page, "dark", browser.DESKTOP)
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {theme})")
    page.pdf()
    assert page.evaluate(f"[window.printed, {theme}]") == ["light", "dark"]
    assert errors == []


LIVING = [page for page in PAGES if re.search("^living: ", chapters.source(page), re.M)]


def test_scripts_of_living_figures_are_loaded_where_there_are_any():
    script = re.compile("<script[^>]*_static/living/")
    found = [
        page for page in PAGES if script.search((HTML / f"{page}.html").read_text(encoding="utf-8"))
    ]
    assert found == LIVING != []


@pytest.mark.parametrize("page", LIVING)
def test_living_figures_answer_to_the_arrow_keys_and_are_pictures_on_paper(window, base, page):
    page, errors, _ = browser.visit(window, f"{base}{page}.html")
    for figure in page.locator("living-figure").all():
        said, picture = figure.locator("output"), figure.locator(".drawn img")
        before = said.text_content()
        figure.locator("[type=range]").last.focus()
        page.keyboard.press("ArrowRight")
        assert said.text_content() != before and not picture.is_visible()
        page.emulate_media(media="print")
        assert picture.is_visible() and not said.is_visible()
        page.emulate_media(media="screen")
    assert errors == []


LANDING = f"{PAGES[0]}.html"


def test_the_chart_of_the_landing_page_is_dragged(window, base):
    page, errors, _ = browser.visit(window, f"{base}{LANDING}")
    chart, said = page.locator("living-figure .handle svg"), page.locator("living-figure output")
    box = chart.bounding_box()
    before = said.text_content()

    def at(share):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        return said.text_content()

    assert at(0.3) == before  # nothing is held yet
    page.mouse.down()
    few, all_items = at(0.3), at(1)
    assert len({before, few, all_items}) == 3 and all_items.startswith("9,999 sampled: C")
    page.mouse.up()
    assert at(0.5) == all_items and errors == []


def test_the_landing_page_shows_claim_figure_and_ways_on_in_one_screen(window):
    page, _, _ = browser.visit(window, f"{HTML.as_uri()}/{PAGES[0]}.html")
    ways = page.locator(".ways a")
    bottoms = [way.bounding_box()["y"] + way.bounding_box()["height"] for way in ways.all()]
    assert len(bottoms) == 4 and max(bottoms) < 860  # of 900, whatever fonts stand in for ours


def text_of(page):
    return (HTML / f"{page}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_transfers_before_its_figures(page):
    """What a server sends compressed, as that of the book does, but for fonts."""
    text = text_of(page)
    named = re.findall(r'<script[^>]* src="([^"]+)"|<link href="([^"]+)" rel="stylesheet"', text)
    named += re.findall(r'(<link rel="stylesheet"[^>]* href=")([^"]+)"', text)
    files = {(HTML / page).parent / name[-1 if name[-1] else 0].split("?")[0] for name in named}
    assert len(files) > 15 and not any("bootstrap" in path.name for path in files)
    sent = len(gzip.compress(text.encode())) + sum(
        len(gzip.compress(path.read_bytes())) for path in files
    )
    fonts = sum(path.stat().st_size for path in (HTML / "_static/fonts").glob("*.woff2"))
    assert sent + fonts < 300_000


def test_downloads_hold_what_the_tests_execute_but_for_hidden_checks(tmp_path):
    chapters.make_notebooks(tmp_path, checks=False)
    for name in EXECUTED:
        downloaded, copy = HTML / f"_sources/{name}.ipynb", tmp_path / f"{Path(name).name}.ipynb"
        assert cells(downloaded) == cells(copy), name
        text = (HTML / f"_sources/{name}.md").read_text(encoding="utf-8")
        assert text == chapters.without_checks(chapters.source(name)), name


def cells(notebook):
    """What is written in the cells of a notebook."""
    made = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], cell["source"]) for cell in made]


def test_a_downloaded_notebook_executes(window, tmp_path):
    with browser.serve(HTML) as address:
        page, _, _ = browser.visit(window, f"{address}{EXECUTED[0]}.html")
        page.locator(".page-menu > summary").click()
        with page.expect_download() as waiting:
            page.locator(".page-menu a[href$='.ipynb']:not([href^=http])").click()
        waiting.value.save_as(tmp_path / "notebook.ipynb")
    jupyter = Path(sys.executable).with_name("jupyter-execute")
    subprocess.run([jupyter, "notebook.ipynb"], cwd=tmp_path, check=True)
