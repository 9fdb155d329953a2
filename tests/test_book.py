"""The sources of the book: what a build would let through, but a reader would miss.

The built pages are checked at the end of `make book`, by scripts/chapters.py.
"""

import json
import re
from importlib.metadata import version

import chapters
import pytest
import yaml

ROOT = chapters.ROOT
PAGES = [page for page in chapters.pages() if (ROOT / f"{page}.md").exists()]
PAPER = [page for page in chapters.parts()["The paper"] if page in PAGES]
EXECUTED = [page for page in PAGES if chapters.has_cells(page)]
HEADER = """\
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
"""


def cells(page):
    """The cells of a page: pairs of options (a dictionary) and code (a list of non-blank lines)."""
    cell = r"^```\{code-cell\}[^\n]*\n(.*?)^```$"
    for text in re.findall(cell, chapters.source(page), re.M | re.S):
        block = re.match(r"---\n(.*?)\n---\n", text, re.S)
        short = re.match(r"((?::.*\n)*)", text)
        options = block[1] if block else re.sub("^:", "", short[1], flags=re.M)
        code = text[(block or short).end() :].splitlines()
        yield yaml.safe_load(options) or {}, [line for line in code if line.strip()]


def captioned(page):
    """The figures and tables that cells of a page make: their `mystnb` options."""
    return [o["mystnb"] for o, _ in cells(page) if "figure" in o.get("mystnb", {})]


def test_every_page_of_the_contents_exists():
    assert [page for page in chapters.pages() if page not in PAGES] == []


def test_every_page_is_in_the_contents():
    assert {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("page", EXECUTED)
def test_header_names_the_kernel_and_no_version(page):
    assert chapters.source(page).startswith(HEADER)


@pytest.mark.parametrize("page", EXECUTED)
def test_cells_are_short(page):
    assert [code[0] for _, code in cells(page) if len(code) > 15] == []


@pytest.mark.parametrize("page", EXECUTED)
def test_captioned_output_is_named_captioned_and_cited(page):
    for options in captioned(page):
        name = options["figure"]["name"]
        assert re.match(r"(fig|tab)-[a-z0-9-]+$", name), name
        assert options["figure"]["caption"].strip(), name
        assert re.search(rf"\{{numref\}}`([^`]*<)?{name}>?`", chapters.source(page)), name


@pytest.mark.parametrize("page", EXECUTED)
def test_figures_have_alternative_text(page):
    for options in captioned(page):
        if options["figure"]["name"].startswith("fig-"):
            assert options["image"]["alt"].strip(), options["figure"]["name"]


@pytest.mark.parametrize("page", EXECUTED)
def test_whatever_draws_is_a_figure(page):
    drawing = r"plt\.subplots|plotting\.(?!use_style)\w+\(|\.plot\("
    for options, code in cells(page):
        drawn = re.search(drawing, "\n".join(code)) and "remove-cell" not in options.get("tags", [])
        assert not drawn or "figure" in options.get("mystnb", {}), code[0]


@pytest.mark.parametrize("page", PAPER)
def test_chapter_opens_with_objectives_and_closes_with_exercises(page):
    marks = ["{admonition} In this chapter", "## Recap", "## Exercises", "## Further reading"]
    places = [chapters.source(page).find(mark) for mark in marks]
    assert -1 not in places and places == sorted(places), dict(zip(marks, places))


@pytest.mark.parametrize("page", PAPER)
def test_every_exercise_has_a_hidden_solution(page):
    text = chapters.source(page)
    exercises = re.findall(r"```\{exercise\}.*\n:label: (\S+)", text)
    solutions = re.findall(r"```\{solution(?:-start)?\} (\S+)\n:class: dropdown", text)
    assert exercises and sorted(exercises) == sorted(solutions)


def test_the_address_of_the_repository_is_that_of_the_configuration():
    address = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    owner, name = address.split("/")[-2:]
    here = re.compile(rf"(?:github\.com|/gh)/([\w.-]+)/({name}|recsample)\b")
    published = re.compile(rf"([\w-]+)\.github\.io/({name}|recsample)\b")
    for path in project_files():
        text = path.read_text(encoding="utf-8", errors="ignore")
        for found in here.findall(text) + published.findall(text):
            assert found == (owner, name), path.relative_to(ROOT)


def project_files():
    """What is written by hand, as far as it could name the repository."""
    folders = [".", ".binder", ".ci", ".github/workflows", "book", "recsample", "scripts", "tests"]
    paths = [path for folder in folders for path in (ROOT / folder).iterdir()]
    return [path for path in paths if path.is_file() and path.suffix != ".ipynb"]


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version("recsample")


def test_binder_installs_what_the_book_is_built_with():
    def pins(name):
        return set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.M))

    assert pins(".binder/requirements.txt") <= pins("requirements.txt")


@pytest.fixture
def built(tmp_path):
    """A book of one page, built well."""
    (tmp_path / "_toc.yml").write_text("root: book/index\nparts: []\n")
    (tmp_path / "book").mkdir()
    (tmp_path / "book/index.md").write_text("```{code-cell}\n1\n```\n")
    html = tmp_path / "html"
    (html / "book").mkdir(parents=True)
    (html / "index.html").touch()
    (html / "book/index.html").write_text(
        '<h1>A</h1><a href="lab/tree/book/index.ipynb">'
        '<figure><img alt="A line." src="../_images/1.png"><figcaption></figcaption></figure>'
    )
    return tmp_path


def test_check_accepts_a_good_book(built):
    assert chapters.problems(built / "html", built) == []


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("<h1>A</h1>", "", "no heading"),
        ('alt="A line."', 'alt="_images/1.png"', "a picture without alt text"),
        ('alt="A line."', 'alt="../_images/1.png"', "a picture without alt text"),
        ('alt="A line."', 'alt=""', "a picture without alt text"),
        ('alt="A line." ', "", "a picture without alt text"),
        ("figure>", "div>", "a picture without a caption"),
        ("index.ipynb", "index.md", "its launch button does not open a notebook"),
        ("</h1>", "</h1><pre><b>np</b>.<i>float64</i>(0.5)</pre>", "a NumPy scalar shown as code"),
    ],
)
def test_check_names_what_is_wrong_with_a_page(built, good, bad, message):
    page = built / "html/book/index.html"
    page.write_text(page.read_text().replace(good, bad))
    (problem,) = chapters.problems(built / "html", built)
    assert problem.startswith(f"book/index: {message}")


def test_check_names_a_missing_page(built):
    (built / "html/book/index.html").unlink()
    assert chapters.problems(built / "html", built) == ["book/index: not built"]


def test_notebooks_hold_the_cells_of_their_chapters(tmp_path):
    chapters.make_notebooks(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {page.split("/")[-1] for page in EXECUTED}
    for page in EXECUTED:
        notebook = json.loads((tmp_path / f"{page.split('/')[-1]}.ipynb").read_text())
        made = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert len(made) == len(list(cells(page)))
