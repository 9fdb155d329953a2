"""The checks of the built book, on pages that are broken on purpose.

Each is the good page below with one change, and must be caught by the check that is for it.
"""

import importlib.util
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

GOOD = r"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ranks</title>
<link rel="icon" href="data:,">
<style>
  article { max-width: 700px }
  img { max-width: 100% }
  figcaption { color: #555 }
  @media (prefers-color-scheme: dark) {
    body { background: #14181e; color: #ced6dd }
    a, figcaption { color: #9ad }
    img { background: white }
  }
</style>
<script>window.MathJax = {options: {processHtmlClass: "math"}}</script>
<script defer src="mathjax/tex-chtml.js"></script>
</head>
<body class="mathjax_ignore">
<article>
<h1 id="top">Ranks</h1>
<p>The rank <span class="math">\(r\)</span> of an item, in <a href="#fig">Figure 1</a> and
<a href="other.html#there">elsewhere</a>. In LaTeX, <code>\frac{1}{r}</code>.</p>
<figure id="fig"><img src="curve.png" alt="A curve that falls from left to right.">
<figcaption>Figure 1. A metric.</figcaption></figure>
<pre><span>rank</span> = 1</pre>
<details><summary>Solution</summary><p>The rank is one, <a href="#top">as above</a>.</p></details>
</article>
</body>
</html>
"""
PLAIN = re.sub(r'<script.*?</script>|<span class="math">.*?</span>', "", GOOD)  # faster
OTHER = '<link rel="icon" href="data:,"><p id="there">There.</p>'
CELL = """<div class="cell"></div>
<div class="dropdown-launch-buttons">
<a href="https://example.org/v2?urlpath=lab/tree/page.ipynb">Launch</a></div>
<div class="dropdown-download-buttons"><button>Download</button>
<a class="btn-download-notebook-button" href="_sources/page.ipynb" download>Notebook</a>
<a href="_sources/page.md" download>Source</a></div>
"""
FOLD = '<div class="dropdown"><button onclick="{}">Solution</button><p hidden>One.</p></div>'
PART = "this.nextSibling.hidden"
ALT = "A curve that falls from left to right."

# By the check that is to catch it: what of the page is changed into what, and what the check says.
BROKEN = {
    "figures, light, 1440 px": [
        ("curve.png", "missing.png", "is not loaded"),
        ("<img", '<img style="opacity: 0"', "is not visible"),
        ("<img", '<img style="display: none"', "is not visible"),
        ("<img", '<img style="min-width: 900px"', "is wider than the text"),
        (f'alt="{ALT}"', "", "has no alt text"),
        (ALT, "", "has no alt text"),
        (ALT, "Figure 1", "has no alt text"),
        (ALT, "../_images/0123456789abcdef", "has the name of a file as alt text"),
        (ALT, "a/curve.png", "has the name of a file as alt text"),
        (ALT, "Figure 1. A metric.", "has alt text that repeats its caption"),
    ],
    "dark figures": [
        ("img { background: white }", "", "of its ink in the dark theme"),
        ("curve.png", "blank.png", "is empty"),
    ],
    "formulas": [
        ("of an item", r"of \frac{1}{2} items", "raw TeX"),
        ("of an item", r"of \(n\) items", "raw TeX"),
        ("of an item", "of $$n$$ items", "raw TeX"),
        ("of an item", "of $n$ items", "raw TeX"),
        ("Ranks</title>", r"\(r\)</title>", "raw TeX in the title"),
        ("<script defer", "<script type='text'", "formula not rendered"),
        (r"\(r\)", "r", "formula not rendered"),
        (r"\(r\)", r"\(\frac{1}\)", "formula with an error"),
        (r"\(r\)", r"\(\rank\)", "formula with an error"),
        ("</style>", "mjx-container { opacity: 0 }</style>", "formula not visible"),
    ],
    "links": [
        ("other.html#there", "nowhere.html", "dead link"),
        ("other.html#there", "/other.html", "dead link"),
        ("other.html#there", "_sources/ranks.ipynb", "dead link"),
        ("other.html#there", "other.html#here", "dead anchor"),
        ("<pre>", '<svg><a href="nowhere.html"><text>A</text></a></svg><pre>', "dead link"),
        ("#fig", "#tab", "dead anchor"),
        ("elsewhere", '</a><span class="xref std">fig-x</span><a>', "unresolved reference"),
    ],
    "buttons": [
        ("<pre>", CELL.replace(*case[:2]) + "<pre>", case[2])
        for case in [
            ("page.ipynb", "page.md", "the launch buttons open ['lab/tree/page.md']"),
            ("lab/tree/", "", "the launch buttons open ['page.ipynb']"),
            ("dropdown-launch-buttons", "", "the launch buttons open []"),
            ("_sources/page.ipynb", "_sources/other.ipynb", "no button downloads page.ipynb"),
            ("_sources/page.md", "page.md", "no button downloads page.md"),
        ]
    ],
    "outside": [
        ("<title>", '<script src="https://example.org/a.js"></script><title>', "example.org/a.js"),
        ("<title>", '<link rel="preconnect" href="https://example.org"><title>', "example.org"),
        ("<title>", "<script>fetch('https://example.org')</script><title>", "example.org"),
        ("<title>", "<script>new WebSocket('wss://example.org')</script><title>", "example.org"),
        ("</style>", "</style><style>@import 'https://example.org/a.css'</style>", "example.org"),
    ],
    "console": [
        ("<title>", "<script>console.error('wrong mode')</script><title>", "wrong mode"),
        ("<title>", "<script>none.of.this()</script><title>", "none is not defined"),
        ("<title>", '<link rel="stylesheet" href="a.css"><title>', "a.css"),
    ],
    "scrolling, light, 375 px": [
        ("rank</span>", "a_name_without_a_place_to_break" * 2, "a_name_without"),
        ("<pre>", '<pre style="width: 500px">', "rank = 1"),
    ],
    "contrast, light, 1440 px": [
        ("color: #555", "color: #aaa", "Figure 1. A metric."),
        ("<span>", '<span style="color: #00ff00">', "rank"),
        ("<pre>", '<pre style="opacity: 0.4">', "rank"),
        ("<pre>", '<pre style="background: #444">', "rank"),
        ("<p>The rank is", '<p style="color: #aaa">The rank is', "The rank is one"),
    ],
    "contrast, dark, 1440 px": [
        ("color: #ced6dd", "color: #333", "Ranks"),
        ("background: #14181e; color: #ced6dd", "", "the page stays light"),
        ("<pre>", '<pre style="background: white">', "rank"),
    ],
    "keyboard": [
        ("<details>", '<div class="dropdown">Solution</div><details>', "Tab does not reach"),
        ("<summary>", '<summary tabindex="-1">', "Tab does not reach"),
        ("<details>", FOLD.format("") + "<details>", "Enter does not open"),
        ("<details>", FOLD.format(f"{PART} = false") + "<details>", "Space does not open or close"),
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
    mathjax = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    (tmp_path / "mathjax").symlink_to(mathjax / "static/mathjax")
    for picture in pictures.iterdir():
        (tmp_path / picture.name).symlink_to(picture)
    (tmp_path / "other.html").write_text(OTHER)
    (tmp_path / "_sources").mkdir()
    (tmp_path / "_sources/page.md").write_text("# Ranks")
    (tmp_path / "_sources/page.ipynb").write_text("{}")
    return tmp_path


def problems(chromium, folder, text):
    (folder / "page.html").write_text(text, encoding="utf-8")
    with browser.serve(folder) as address:
        return browser.problems(chromium, address, folder, "page.html")


def test_good_page_is_accepted(chromium, folder):
    assert problems(chromium, folder, GOOD) == {}


def test_browser_is_the_one_that_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert browser.find() is None
    monkeypatch.setenv("CHROMIUM", sys.executable)
    assert browser.find() == sys.executable


def test_good_page_is_accepted_as_a_file(chromium, folder):
    (folder / "page.html").write_text(GOOD)
    assert browser.problems(chromium, f"{folder.as_uri()}/", folder, "page.html") == {}


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [(check, *case) for check in BROKEN for case in BROKEN[check]],
)
def test_broken_page_is_caught(chromium, folder, check, good, bad, message):
    page = GOOD if check == "formulas" else PLAIN
    assert good in page
    found = problems(chromium, folder, page.replace(good, bad, 1))
    assert any(message in line for line in found.get(check, [])), found


def test_buttons_are_accepted(chromium, folder):
    assert problems(chromium, folder, PLAIN.replace("<pre>", CELL + "<pre>")) == {}


def test_button_that_opens_and_closes_is_accepted(chromium, folder):
    text = PLAIN.replace("<details>", FOLD.format(f"{PART} = !{PART}") + "<details>")
    assert problems(chromium, folder, text) == {}


def test_large_text_may_be_paler(chromium, folder):
    text = PLAIN.replace("<h1", '<h1 style="color: #8a8a8a"')
    assert "contrast, light, 1440 px" not in problems(chromium, folder, text)
    assert "contrast, light, 1440 px" in problems(chromium, folder, text.replace("<h1", "<h6"))


# The whole book.

SEARCH = """
<form><input name="q"></form><div id="search-results"></div>
<script>
const asked = new URLSearchParams(location.search).get("q");
const found = '<a href="book/corrected_metrics.html?highlight=bias">Corrected metrics</a>';
if (asked === "bias-variance") document.querySelector("div").innerHTML = found;
</script>
"""


@pytest.fixture
def page(chromium, folder):
    """An empty page of a book, and the address of the book."""
    (folder / "page.html").write_text("")
    with browser.serve(folder) as address:
        window = browser.open_window(chromium)
        yield browser.visit(window, f"{address}page.html")[0], address
        window.close()


def write_chain(folder, pages):
    """Pages with links: each page and where its button to the next leads, if it has one."""
    for name, following in pages.items():
        button = f'<a class="right-next" href="{following}.html">next</a>' if following else ""
        (folder / f"{name}.html").write_text(f"<h1>{name}</h1>{button}")


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({"one": "two", "two": "three", "three": None}, None),
        ({"one": "three", "two": "three", "three": None}, "three.html'], not to"),
        ({"one": "one", "two": "three", "three": None}, "one.html'], not to"),
        ({"one": "two", "two": None, "three": None}, "leads to [], not to"),
        ({"one": "two", "two": "three", "three": "one"}, "one.html'], not to None"),
    ],
)
def test_walk(page, folder, pages, message):
    page, address = page
    write_chain(folder, pages)
    found = browser.walk(page, [f"{address}{name}.html" for name in pages], "a.right-next")
    assert message in found[0] if message else found == []


@pytest.mark.parametrize(
    ("words", "wanted", "caught"),
    [
        ("bias-variance", "book/corrected_metrics.html", False),
        ("bias-variance", "book/metrics.html", True),
        ("variance", "book/corrected_metrics.html", True),
    ],
)
def test_search(page, folder, words, wanted, caught):
    page, address = page
    (folder / "book").mkdir()
    (folder / "book/corrected_metrics.html").touch()
    (folder / "search.html").write_text(SEARCH)
    page.goto(f"{address}search.html")
    page.set_default_timeout(1000)
    assert bool(browser.search(page, words, wanted)) == caught


def test_download(page, folder):
    page, address = page
    page.set_content(f'<base href="{address}">{CELL}')
    assert browser.download(page, folder).read_text() == "{}"


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
    chapter = CHAPTER if request.param else CHAPTER.replace("0.5", "0.4")
    (tmp_path / "a.md").write_text(chapter)
    (tmp_path / "index.md").write_text("# A book")
    contents = {"root": "index", "parts": [{"caption": "A part", "chapters": [{"file": "a"}]}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", **contents}))
    return tmp_path, request.param


def run(folder, *command):
    """Whether a program of this environment succeeds, and what it says."""
    program = Path(sys.executable).with_name(command[0])
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(
        [program, *command[1:]], cwd=folder, env=plain, capture_output=True, text=True
    )
    return done.returncode == 0, done.stdout + done.stderr


def test_solution_that_fails_is_caught_by_make_test(solution):
    folder, right = solution
    chapters.make_notebooks(folder, folder)
    passed, said = run(folder, "pytest", "--nbval-lax", "--nbval-current-env", "a.ipynb")
    assert passed == right and ("AssertionError" in said) != right, said


def test_solution_that_fails_is_caught_by_make_book(solution):
    folder, right = solution
    settings = yaml.safe_load((chapters.ROOT / "_config.yml").read_text())["execute"]
    sphinx = {"extra_extensions": ["sphinx_exercise"]}
    (folder / "_config.yml").write_text(yaml.safe_dump({"execute": settings, "sphinx": sphinx}))
    passed, said = run(folder, "jupyter-book", "build", "-n", "-W", "--keep-going", ".")
    assert passed == right and ("AssertionError" in said) != right, said


def test_notebook_that_fails_is_caught_by_make_pages(solution):
    folder, right = solution
    chapters.make_notebooks(folder, folder)
    found = browser.failures(folder / "a.ipynb")
    assert found == [] if right else "AssertionError" in found[0]
