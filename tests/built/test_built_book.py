"""The built book as readers see and use it: `make pages`, after `make book`."""

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import browser
import chapters
import numpy as np
import plain
import pytest
import yaml
from matplotlib.image import imread

HTML = chapters.ROOT / "_build/html"
FILES = HTML.as_uri() + "/"
PAGES = chapters.pages()
CHAPTERS = [*PAGES[:2], *chapters.parts()["The paper"], *chapters.parts()["Doing"]]
LANDING = f"{PAGES[0]}.html"
CONFIG = yaml.safe_load((chapters.ROOT / "_config.yml").read_text(encoding="utf-8"))
EXECUTED = [page for page in PAGES if chapters.has_cells(page)]
LIVING = [page for page in PAGES if re.search("^living: ", chapters.source(page), re.M)]
LYCHEE = Path(sys.executable).with_name("lychee")  # there is none for Linux on ARM


@pytest.fixture(scope="module")
def base():
    """The address of the book on a server."""
    with browser.serve(HTML) as address:
        yield address


@pytest.fixture
def window(chromium):
    """A window on a desktop that also has a touchscreen."""
    window = browser.open_window(chromium, has_touch=True)
    yield window
    window.close()


def size(page):
    return (HTML / f"{page}.html").stat().st_size


BY_SIZE = sorted([*PAGES, "search", "genindex"], key=size, reverse=True)


# The longest first: with the short ones at the end all workers end together.
@pytest.mark.parametrize("page", BY_SIZE)
def test_page(chromium, base, page):
    assert browser.problems(chromium, base, f"{page}.html", figure_first=page in CHAPTERS) == []


# A page that is opened as a file may lack what it loads: one page of every kind shows that.
@pytest.mark.parametrize("page", [PAGES[0], "book/metrics", "book/api", "search"])
def test_page_as_a_file(window, page):
    _, errors, requests = browser.visit(window, f"{FILES}{page}.html")
    assert errors == [] and all(url.startswith((FILES, "data:", "blob:")) for url in requests)


@pytest.mark.skipif(not LYCHEE.exists(), reason="lychee is not installed")
def test_links_land():
    options = ["--offline", "--include-fragments", "--no-progress", "--exclude-path=_static"]
    subprocess.run([LYCHEE, *options, "."], cwd=HTML, check=True)


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


def test_downloads_refer_to_the_numbers_of_the_book():
    """By links to places that there are, where the same number stands."""
    wrong = set()
    for label, target in plain.targets().items():
        path, _, anchor = target.address.removeprefix(CONFIG["html"]["baseurl"]).partition("#")
        text = (HTML / path).read_text(encoding="utf-8")
        if target.kind != "Chapter" and not label.startswith("ch-"):
            number = r'(?:caption-number">[A-Z][a-z]+\.? |eqno">\()([\d.]+)'
            found = re.search(rf'id="{anchor}".*?{number}', text, re.S)
            wrong |= set() if found and found[1].strip(".") == target.number else {label}
        elif anchor and f'id="{anchor}"' not in text:
            wrong.add(label)
    assert wrong == set()


# Pictures are left out, for they come later. Fonts are compressed as they are.
@pytest.mark.parametrize(("page", "limit"), [(PAGES[0], 190_000), (BY_SIZE[0], 300_000)])
def test_what_a_page_transfers_before_its_pictures(window, page, limit):
    _, _, requests = browser.visit(window, f"{FILES}{page}.html")
    paths = {HTML / url.removeprefix(FILES).split("?")[0] for url in requests}
    texts = [path.read_bytes() for path in paths if path.suffix in (".html", ".css", ".js")]
    fonts = [path.read_bytes() for path in paths if path.suffix == ".woff2"]
    assert len(texts) > 10 and len(fonts) > 1
    assert sum(len(gzip.compress(text)) for text in texts) + sum(map(len, fonts)) < limit


SHIFTS = """() => new Promise(done => {
    let total = 0;
    const add = list => list.getEntries().forEach(entry => (total += entry.value));
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(total), 1000);
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_form_for_ones_own_numbers_does_not_jump(chromium, base, width):
    window = browser.open_window(chromium, viewport={"width": width, "height": 844})
    page, _, _ = browser.visit(window, f"{base}book/your_numbers.html")
    assert page.locator(".own-form").count() == 1 and page.evaluate(SHIFTS) < 0.02
    window.close()


def test_the_menu_of_a_page_runs_it(window, base):
    page, _, _ = browser.visit(window, f"{base}book/start.html")
    page.locator(".page-menu summary").click()
    page.once("dialog", lambda asked: asked.dismiss())
    page.locator(".page-menu").get_by_role("button", name="Run this page").click()
    assert page.locator(".page-menu[open]").count() == 0


def test_the_book_opens_with_its_first_page(window):
    page = window.new_page()
    page.goto(f"{FILES}index.html")
    page.wait_for_url(f"{FILES}{LANDING}")


@pytest.mark.parametrize(("old", "new"), CONFIG["sphinx"]["config"].get("redirects", {}).items())
def test_an_old_address_leads_on(window, base, old, new):
    page = window.new_page()
    page.goto(f"{base}{old}.html", wait_until="commit")
    page.wait_for_url(f"{base}book/{new}")
    _, _, place = new.partition("#")
    assert not place or page.locator(f"[id='{place}']").count() == 1


def test_the_landing_page_shows_its_ways_on_in_one_screen(window):
    page, _, _ = browser.visit(window, FILES + LANDING)
    boxes = [way.bounding_box() for way in page.locator(".ways a").all()]
    assert len(boxes) == 4 and max(box["y"] + box["height"] for box in boxes) < browser.HEIGHT


@pytest.mark.parametrize("width", [browser.PHONE, browser.DESKTOP])
def test_menus_lead_to_sections_and_chapters(window, base, width):
    here, there = CHAPTERS[-1], CHAPTERS[-2]
    page, errors, _ = browser.visit(window, f"{base}{here}.html")
    browser.set_look(page, width=width)
    menus = [
        (".secondary-toggle", ".page-toc > ul > :nth-child(3) > a", "section:nth-of-type(3) > h2"),
        (".primary-toggle", f".bd-docs-nav a[href='{Path(there).name}.html']", "h1"),
    ]
    for button, link, heading in menus:
        if not page.locator(link).is_visible():
            page.locator(button).click()
        wanted = page.locator(link).evaluate("link => link.href")
        page.locator(link).click()
        page.wait_for_url(wanted)
        page.locator(f"article {heading}").first.click(trial=True)  # nothing lies over it
    assert errors == []


def test_the_list_of_chapters_opens_to_the_chapters(window, base):
    page, _, _ = browser.visit(window, f"{base}book/metrics.html")
    links = page.locator(".bd-docs-nav a")
    seen = {
        link.get_attribute("href").partition(".")[0] for link in links.all() if link.is_visible()
    }
    assert {"start", "crosswalk", "exact_about"} <= seen and not {"glossary", "api"} & seen
    page, _, _ = browser.visit(window, f"{base}book/glossary.html")
    assert page.locator(".bd-docs-nav a[href='bibliography.html']").is_visible()


@pytest.mark.parametrize("served", [True, False])
def test_search_leads_to_the_chapter(window, base, served):
    page, errors, _ = browser.visit(window, f"{base if served else FILES}search.html")
    page.locator("input[name=q]:visible").fill("bias-variance")
    page.keyboard.press("Enter")
    page.locator("#search-results a[href*='book/corrected_metrics.html']").first.click()
    page.wait_for_url("**/book/corrected_metrics.html*", wait_until="commit")
    assert errors == []


@pytest.mark.parametrize(
    ("words", "chapter"),
    [
        ("hit rate", "metrics"),
        ("leave one out", "corrections_movielens"),
        ("negative sampling", "sampled_metrics"),
        ("which m", "your_study"),
        ("popularity bias", "exact_about"),
        ("p-value", "evaluate"),
        ("MAP", "metrics"),
        ("confidence interval", "report"),
        ("popularity", "traps"),
        ("coverage", "estimation"),
    ],
)
def test_search_has_the_chapter_among_the_first_three(window, base, words, chapter):
    page, errors, _ = browser.visit(window, f"{base}search.html?q={quote(words)}")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    found = page.locator("#search-results li > a:first-child").all()
    places = [link.get_attribute("href").partition("#")[0] for link in found[:3]]
    assert f"book/{chapter}.html" in places and errors == []


def test_search_has_equal_results_in_the_order_of_the_book(window, base):
    page, _, _ = browser.visit(window, f"{base}search.html?q=recommender")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    js = "links => links.map(link => [link.getAttribute('href'), link.dataset.score])"
    found = page.locator("#search-results li > a:first-child").evaluate_all(js)
    hrefs = [href.partition(".html")[0] for href, score in found if score == "5"]
    equal = [PAGES.index(href) for href in hrefs]
    assert len(equal) > 10 and equal == sorted(equal)


def test_marks_of_a_search_stay_in_the_text(window, base):
    page, errors, _ = browser.visit(window, f"{base}{LANDING}?highlight=recommenders")
    page.locator("article .highlighted").first.wait_for(state="attached")
    assert page.locator(":is(svg, header, nav, .sidebar) .highlighted").count() == 0
    page, more, _ = browser.visit(window, f"{base}search.html?q=p-value")
    page.locator("#search-results a[href*='book/evaluate.html']").first.click()
    page.locator("article .highlighted").first.wait_for(state="attached")
    assert set(page.locator(".highlighted").all_text_contents()) <= {"value", "Value"}
    assert errors == more == []


def test_the_focus_of_the_keyboard_is_seen(window):
    page, _, _ = browser.visit(window, f"{FILES}book/metrics.html")
    look = "(({ outlineStyle, boxShadow }) => outlineStyle + boxShadow)"
    for _ in range(20):
        page.keyboard.press("Tab")
        seen = page.evaluate(f"{look}(getComputedStyle(document.activeElement)) !== 'nonenone'")
        assert seen, page.evaluate("document.activeElement.outerHTML")


def test_pictures_are_light_on_dark_in_the_dark_theme(window):
    page, _, _ = browser.visit(window, f"{FILES}book/metrics.html")
    browser.set_look(page, "dark")
    pictures = page.locator("article figure img:visible").all()
    assert len(pictures) > 1
    for picture in pictures:
        brightness = imread(io.BytesIO(picture.screenshot()))[..., :3].mean(axis=2)
        assert np.median(brightness) < 0.2 and brightness.max() > 0.7


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_cheat_sheet_is_one_light_sheet_and_the_page_stays_dark(window, paper):
    page, errors, _ = browser.visit(window, f"{FILES}book/cheat_sheet.html")
    browser.set_look(page, "dark")
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => window.printed = {theme})")
    assert page.pdf(format=paper).count(b"/Type /Page\n") == 1
    assert page.evaluate(f"[window.printed, {theme}]") == ["light", "dark"] and errors == []


@pytest.mark.parametrize("page", LIVING)
def test_living_figures_answer_to_the_arrow_keys_and_are_pictures_on_paper(window, base, page):
    page, errors, _ = browser.visit(window, f"{base}{page}.html")
    for figure in page.locator("living-figure").all():
        for button in figure.locator("button").all():
            button.click()
        said, picture = figure.locator("output"), figure.locator(".drawn img")
        before = said.text_content()
        figure.locator("[type=range]").last.focus()
        page.keyboard.press("ArrowLeft")
        assert said.text_content() != before and not picture.is_visible()
        page.emulate_media(media="print")
        assert picture.is_visible() and not said.is_visible()
        page.emulate_media(media="screen")
    assert errors == []


def test_the_chart_of_the_landing_page_is_dragged_and_touched(window, base):
    page, errors, _ = browser.visit(window, base + LANDING)
    page.locator(".guess button").first.click()
    chart, said = page.locator(".guess .handle svg"), page.locator(".guess-answer")
    page.locator(".guess [type=range]").press("Home")  # what was pressed begins with all films
    box = chart.bounding_box()
    before = said.text_content()

    def at(share, point=page.mouse.move):
        point(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        return said.text_content()

    assert at(0.3) == before  # nothing is held yet
    page.mouse.down()
    few, all_items = at(0.3), at(1)
    assert len({before, few, all_items}) == 3 and "all films the order is Z" in all_items
    page.mouse.up()
    assert at(0.5) == all_items and at(0.3, page.touchscreen.tap) == few and errors == []
