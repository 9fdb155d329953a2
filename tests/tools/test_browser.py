"""The checks of the built book, on pages that are broken on purpose.

Each is the good page below with one change, and must be caught by the check that is for it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import browser
import chapters
import matplotlib.pyplot as plt
import pytest
import yaml
from sphinx_additions.typesetting import FONTS, MATHJAX, STYLES, styles, typeset

GOOD = r"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ranks</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="formulas.css">
<style>
  article { max-width: 700px }
  img { max-width: 100% }
  figcaption { color: #555 }
  pre { background: linear-gradient(#eee, white) white }
  @media (prefers-color-scheme: dark) {
    body { background: #14181e; color: #ced6dd }
    a, figcaption { color: #9ad }
    img { background: white }
    pre { background: linear-gradient(#222, black) black }
  }
</style>
</head>
<body>
<header><button class="primary-toggle" onclick="list.showModal()">Chapters</button></header>
<dialog id="list"><nav class="bd-docs-nav"><a href="other.html">Two</a></nav></dialog>
<main><article>
<h1 id="top">Ranks</h1>
<p>The rank <span class="math">TYPESET[r]</span> of an item, in <a href="#fig">Figure 1</a> and
<a href="other.html#there">elsewhere</a>. In LaTeX, <code>\frac{1}{r}</code>.</p>
<figure id="fig"><img src="curve.png" alt="A curve that falls from left to right.">
<figcaption>Figure 1. A metric.</figcaption></figure>
<pre><span>rank</span> = 1</pre>
<details><summary>Solution</summary><p>The rank is one, <a href="#top">as above</a>.</p></details>
</article></main>
</body>
</html>
"""
OTHER = '<link rel="icon" href="data:,"><p id="there">There.</p>'
FOLD = '<div class="dropdown"><button onclick="{}">Solution</button><p hidden>One.</p></div>'
ANOTHER = "<details><summary>Before</summary><p>Two.</p></details>"
STOP = "document.querySelector('mjx-container').tabIndex = 0"
PART = "this.nextSibling.hidden"
ALT = "A curve that falls from left to right."
OPEN = "list.showModal()"
LINK = '<a href="other.html">Two</a>'

# By the check that is to catch it: what of the page is changed into what, and what the check says.
BROKEN = {
    "layout": [
        ("curve.png", "missing.png", "is not loaded"),
        ("<img", '<img style="display: none"', "is not visible"),
        ("<img", '<img style="min-width: 900px"', "is wider than the text"),
        (f'alt="{ALT}"', "", "has no alt text"),
        (ALT, "../_images/0123456789abcdef", "has no alt text that describes it"),
        (ALT, "Figure 1. A metric.", "has alt text that repeats its caption"),
        ("rank</span>", "a_name_without_a_place_to_break" * 2 + "</span>", "a_name_without"),
        ("<pre>", '<pre style="width: 500px">', 'pre "rank = 1" at 375 px'),
    ],
    "themes": [
        ("img { background: white }", "", "of its ink in the dark theme"),
        ("curve.png", "blank.png", "is empty"),
        ("background: #14181e; color: #ced6dd", "", "the page stays light"),
    ],
    "formulas": [
        ("of an item", r"of \frac{1}{2} items", "raw TeX"),
        ("of an item", r"of \(n\) items", "raw TeX"),
        ("of an item", "of $n$ items", "raw TeX"),
        ("Ranks</title>", r"\(r\)</title>", "raw TeX in the title"),
        ("TYPESET[r]", r"\(r\)", "formula not rendered"),
        ("TYPESET[r]", r"TYPESET[\frac{1}]", "formula with an error"),
        ("TYPESET[r]", r"TYPESET[\rank]", "formula with an error"),
        ("</style>", "mjx-container { opacity: 0 }</style>", "formula not visible"),
        ("<title>", f"<script>onload = () => {STOP}</script><title>", "stops the Tab key"),
    ],
    "outside": [
        ("<title>", '<script src="https://example.org/a.js"></script><title>', "example.org/a.js"),
        ("<title>", "<script>fetch('https://example.org')</script><title>", "example.org"),
        ("<title>", "<script>new WebSocket('wss://example.org')</script><title>", "example.org"),
    ],
    "console": [
        ("<title>", "<script>console.error('wrong mode')</script><title>", "wrong mode"),
        ("<title>", "<script>none.of.this()</script><title>", "none is not defined"),
        ("<title>", '<link rel="stylesheet" href="a.css"><title>', "a.css"),
    ],
    "accessibility": [
        ("color: #555", "color: #aaa", 'color-contrast: figcaption "Figure 1. A metric.", light'),
        ("<span>rank", '<span style="color: #0f0">rank', 'color-contrast: span "rank", light'),
        ("color: #ced6dd", "color: #333", 'color-contrast: h1#top "Ranks", dark'),
        ("<summary>Solution", "<summary>", "summary-name"),
        ("<summary>", '<summary aria-label="More">', "label-content-name-mismatch: summary"),
        ("<figure id=", '<div id="top"></div><figure id=', "duplicate-id"),
        ("</main>", "</main><p>Elsewhere.</p>", "region"),
        (" = 1", " = 1" * 60 + "<style>pre { overflow: auto }</style>", "scrollable-region-focus"),
    ],
    "focus": [("</style>", ":focus { outline: 0 }</style>", "no focus to be seen on summary")],
    "menus": [
        (OPEN, "", ".primary-toggle neither shows nor hides .bd-docs-nav a at 375 px"),
        (OPEN, f"innerWidth > 800 || {OPEN}", "neither shows nor hides .bd-docs-nav a at 1440 px"),
        (OPEN, "list.show()", ".primary-toggle cannot be undone at 375 px"),
        ("<button", "<button hidden", "nothing shows .bd-docs-nav a at 375 px"),
        (
            LINK,
            f'{LINK}<div class="current" style="height: 0; overflow: auto"><br>{LINK}</div>',
            "neither shows nor hides .bd-docs-nav .current > a",
        ),
    ],
    "first_figure": [
        ("<figure", '<figure style="margin-top: 900px"', "ends at 1"),
        ("<figure", "<figure hidden", "no first figure is seen"),
    ],
    "keyboard": [
        ("<details>", '<div class="dropdown">Solution</div><details>', "Tab does not reach"),
        ("<summary>", '<summary tabindex="-1">', "Tab does not reach"),
        ("<details>", FOLD.format("") + "<details>", "Enter does not open"),
        ("<details>", FOLD.format(f"{PART} = false") + "<details>", "Space does not open or close"),
        (
            "<details>",
            f"{ANOTHER}<details onclick='return false'>",
            "a click does not open details",
        ),
    ],
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A picture of a curve, and an empty one."""
    pictures = tmp_path_factory.mktemp("pictures")
    figure, axes = plt.subplots(figsize=(3, 2))
    plt.close(figure)
    axes.plot([1, 2, 3], color="black", linewidth=3)
    figure.savefig(pictures / "curve.png", transparent=True)
    axes.remove()
    figure.savefig(pictures / "blank.png")
    return pictures


@pytest.fixture
def folder(tmp_path, pictures):
    """A folder with everything that the good page needs."""
    (tmp_path / "mathjax").symlink_to(MATHJAX / FONTS)
    (tmp_path / STYLES).write_text(styles([_typeset(GOOD)]), encoding="utf-8")
    for picture in pictures.iterdir():
        (tmp_path / picture.name).symlink_to(picture)
    (tmp_path / "other.html").write_text(OTHER, encoding="utf-8")
    return tmp_path


def _typeset(page):
    """The page with the formulas typeset that it marks so."""
    return re.sub(r"TYPESET\[(.*?)\]", lambda marked: typeset(marked[1], display=False), page)


def problems(chromium, folder, text):
    (folder / "page.html").write_text(_typeset(text), encoding="utf-8")
    with browser.serve(folder) as address:
        return browser.problems(chromium, address, "page.html")


def problems_of(check, chromium, folder, text):
    """What one check alone finds: with all of them a page takes four times as long."""
    (folder / "page.html").write_text(_typeset(text), encoding="utf-8")
    window = browser.open_window(chromium)
    with browser.serve(folder) as address:
        page, _, _ = browser.visit(window, f"{address}page.html")
        if check in ("formulas", "accessibility"):
            browser.keyboard(page)  # opens what is folded
        found = getattr(browser, check)(page)
    window.close()
    return found


def test_good_page_is_accepted(chromium, folder):
    assert problems(chromium, folder, GOOD) == {}


def test_browser_is_the_one_that_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert browser.find() is None
    monkeypatch.setenv("CHROMIUM", sys.executable)
    assert browser.find() == sys.executable


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [(check, *case) for check in BROKEN for case in BROKEN[check]],
)
def test_broken_page_is_caught(chromium, folder, check, good, bad, message):
    assert good in GOOD
    text = GOOD.replace(good, bad, 1)
    if check in ("outside", "console"):  # what is heard while the page loads
        found = problems(chromium, folder, text).get(check, [])
    else:
        found = problems_of(check, chromium, folder, text)
    assert any(message in line for line in found), found


def test_pale_formula_is_caught(chromium, folder):
    pale = GOOD.replace("</style>", ".math { color: #ccc }</style>")
    found = problems_of("accessibility", chromium, folder, pale)
    assert 'color-contrast: span "xy", light at 1440 px' in found


def test_button_that_opens_and_closes_is_accepted(chromium, folder):
    text = GOOD.replace("<details>", FOLD.format(f"{PART} = !{PART}") + "<details>")
    assert problems(chromium, folder, text) == {}


def test_menu_beside_the_page_is_accepted(chromium, folder):
    text = GOOD.replace("dialog", "div").replace("list.showModal()", "list.hidden ^= true")
    assert problems(chromium, folder, text) == {}


@pytest.mark.skipif(not browser.LYCHEE.exists(), reason="lychee is not installed")
@pytest.mark.parametrize(
    ("link", "caught"),
    [
        ('<a href="other.html#there">', False),
        ('<a href="nowhere.html">', "nowhere.html"),
        ('<a href="other.html#here">', "other.html#here"),
        ('<svg><a href="nowhere.html"><text>A</text></a></svg>', "nowhere.html"),
    ],
)
def test_links(tmp_path, link, caught):
    (tmp_path / "other.html").write_text(OTHER, encoding="utf-8")
    (tmp_path / "page.html").write_text(link, encoding="utf-8")
    found = browser.links(tmp_path)
    assert caught in "\n".join(found) if caught else found == []


# No browser is needed for a solution that fails: it is caught wherever it is executed.

CHAPTER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A chapter

```{exercise}
:label: ex-a

What is one half?
```

```{solution-start} ex-a
:class: dropdown
```

```{code-cell} ipython3
assert 1 / 2 == 0.5
```

```{solution-end}
```
"""


@pytest.fixture(params=[True, False], ids=["right", "wrong"])
def solution(request, tmp_path):
    """A book of one chapter, whose exercise has a solution that is right or wrong."""
    write_book(tmp_path, CHAPTER if request.param else CHAPTER.replace("0.5", "0.4"))
    return tmp_path, request.param


def write_book(folder, chapter):
    """A book of one chapter, with the settings of this one for what is executed."""
    (folder / "a.md").write_text(chapter, encoding="utf-8")
    (folder / "index.md").write_text("# A book", encoding="utf-8")
    contents = {"root": "index", "parts": [{"caption": "A part", "chapters": [{"file": "a"}]}]}
    (folder / "_toc.yml").write_text(
        yaml.safe_dump({"format": "jb-book", **contents}), encoding="utf-8"
    )
    settings = yaml.safe_load((chapters.ROOT / "_config.yml").read_text(encoding="utf-8"))
    sphinx = {"extra_extensions": ["sphinx_exercise"]}
    (folder / "_config.yml").write_text(
        yaml.safe_dump({"execute": settings["execute"], "sphinx": sphinx}), encoding="utf-8"
    )


def run(folder, *command):
    """Whether a program of this environment succeeds, and what it says."""
    program = Path(sys.executable).with_name(command[0])
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(
        [program, *command[1:]], cwd=folder, env=plain, capture_output=True, encoding="utf-8"
    )
    return done.returncode == 0, done.stdout + done.stderr


def test_solution_that_fails_is_caught_by_make_test(solution):
    folder, right = solution
    chapters.make_notebooks(folder, folder)
    passed, said = run(folder, "pytest", "--nbval-lax", "--nbval-current-env", "a.ipynb")
    assert passed == right and ("AssertionError" in said) != right, said


def test_solution_that_fails_is_caught_by_make_book(solution):
    folder, right = solution
    passed, said = run(folder, "jupyter-book", "build", "-n", "-W", "--keep-going", ".")
    assert passed == right and ("AssertionError" in said) != right, said


def test_a_picture_that_cannot_be_drawn_is_caught_by_make_book(tmp_path):
    draws = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.xlabel(r'$\\bad{$');"
    write_book(tmp_path, CHAPTER.replace("assert 1 / 2 == 0.5", draws))
    run(tmp_path, "jupyter-book", "build", "-n", "-W", "--keep-going", ".")
    found = chapters.problems(tmp_path / "_build/html", tmp_path)
    assert "a: a picture that could not be drawn" in found
