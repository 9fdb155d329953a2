"""The sources of the book: what a build would let through, but a reader would miss.

The built pages are checked at the end of `make book`, by scripts/chapters.py.
"""

import ast
import json
import re
from collections import defaultdict
from functools import cache, cached_property
from importlib.metadata import version
from statistics import median
from typing import NamedTuple

import chapters
import pytest
import yaml
from packaging.version import Version

ROOT = chapters.ROOT
PAGES = [page for page in chapters.pages() if (ROOT / f"{page}.md").exists()]
NUMBERED = [
    chapter["file"]
    for part in yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    if part.get("numbered")
    for chapter in part["chapters"]
]
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


@cache  # asked for the same chapters again and again
def cells(text):
    """The cells in a text: pairs of options (a dictionary) and code (a list of non-blank lines)."""
    found = []
    for cell in re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text, re.M | re.S):
        block = re.match(r"---\n(.*?)\n---\n", cell, re.S)
        short = re.match(r"((?::.*\n)*)", cell)
        options = block[1] if block else re.sub("^:", "", short[1], flags=re.M)
        code = cell[(block or short).end() :].splitlines()
        found.append((yaml.safe_load(options) or {}, [line for line in code if line.strip()]))
    return found


def shown(text):
    """The code of the cells that a reader sees."""
    return [code for o, code in cells(text) if "remove-cell" not in o.get("tags", [])]


def captioned(text):
    """The figures and tables that cells in a text make: their `mystnb` options."""
    return [o["mystnb"] for o, _ in cells(text) if "figure" in o.get("mystnb", {})]


def test_every_page_of_the_contents_exists():
    assert [page for page in chapters.pages() if page not in PAGES] == []


def test_every_page_is_in_the_contents():
    assert {f"book/{path.stem}" for path in (ROOT / "book").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("page", EXECUTED)
def test_header_names_the_kernel_and_no_version(page):
    assert chapters.source(page).startswith(HEADER)


@pytest.mark.parametrize("page", EXECUTED)
def test_cells_are_short(page):
    assert [code[0] for _, code in cells(chapters.source(page)) if len(code) > 12] == []


@pytest.mark.parametrize("page", EXECUTED)
def test_readers_can_do_without_the_hidden_checks(page):
    """They get copies without them, in which every name still has to be there."""
    text = chapters.source(page)
    left = chapters.without_checks(text)
    hidden, shown = (names_in(one) for one in (set(codes(text)) - set(codes(left)), codes(left)))
    assert "assert" in text or page not in NUMBERED
    assert hidden.bound & shown.used - shown.bound == set()


def codes(text):
    return ["\n".join(code) for _, code in cells(text)]


def names_in(sources):
    """The names that code binds, and those that it uses."""
    bound, used = set(), set()
    for code in sources:
        for node in ast.walk(ast.parse(re.sub(r"^\s*[%!].*$", "", code, flags=re.M))):
            if isinstance(node, ast.Name):
                (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.alias):
                bound.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                bound.add(node.name)
    return Names(bound, used)


class Names(NamedTuple):
    bound: set
    used: set


@pytest.mark.parametrize("page", EXECUTED)
def test_captioned_output_is_named_captioned_and_cited(page):
    for options in captioned(chapters.source(page)):
        name = options["figure"]["name"]
        assert re.match(r"(fig|tab)-[a-z0-9-]+$", name), name
        assert options["figure"]["caption"].strip(), name
        assert re.search(rf"\{{numref\}}`([^`]*<)?{name}>?`", chapters.source(page)), name


@pytest.mark.parametrize("page", EXECUTED)
def test_figures_have_alternative_text(page):
    for options in captioned(chapters.source(page)):
        if options["figure"]["name"].startswith("fig-"):
            assert options["image"]["alt"].strip(), options["figure"]["name"]


@pytest.mark.parametrize("page", EXECUTED)
def test_whatever_draws_is_a_figure(page):
    drawing = r"plt\.subplots|plotting\.(?!use_style)\w+\(|\.plot\("
    for options, code in cells(chapters.source(page)):
        drawn = re.search(drawing, "\n".join(code)) and "remove-cell" not in options.get("tags", [])
        assert not drawn or "figure" in options.get("mystnb", {}), code[0]


def lacking(text):
    """What a chapter lacks of the form that CONTRIBUTING.md describes, one line each."""
    head, *rest = re.split(r"^## (.*)\n", text, flags=re.M)
    sections = dict(zip(rest[::2], rest[1::2]))
    recap, exercises, reading = (
        sections.get(name, "") for name in ("Recap", "Exercises", "Further reading")
    )
    opening, _, objectives = head.partition("```{admonition} In this chapter\n:class: tip\n")
    if not re.search(r"^\(ch-[a-z0-9-]+\)=\n# ", opening, re.M):
        yield "a label, and a title after it"
    if not re.search(r"\?\s", opening):
        yield "the reader's question, before the objectives"
    box = objectives.partition("```\n")[0]
    said = re.match(r"\*\*(\d+) minutes\.\*\* You need .*For readers", box, re.S)
    if not said:
        yield "how long it takes, what it needs and for whom it is, at the head of the box"
    elif not abs(int(said[1]) - (needed := minutes(text))) <= 5:
        yield f"the right time (it takes about {needed:.0f} minutes)"
    if not any(made["figure"]["name"].startswith("fig-") for made in captioned(opening)):
        yield "its result as a picture, before the objectives"
    objectives = items(box)
    if objectives < 3:
        yield "three objectives in a box"
    if items(recap) != objectives:
        yield "a recap, an item for each objective"
    mistake = r"^```\{admonition\} Common mistake[^\n]*\n:class: warning\n.*?^```$(.*?)(?=^##|\Z)"
    after = re.findall(mistake, text, re.M | re.S)
    if not after:
        yield "a box with a common mistake"
    elif not any(map(shown, after)):
        yield "a cell after the box, with the numbers of the mistake"
    labels = re.findall(r"^```\{exercise\}.*\n:label: (\S+)", exercises, re.M)
    if len(labels) < 3:
        yield "three exercises"
    opened = r"^```\{solution-start\} (\S+)\n:class: dropdown\n```\n"
    hidden = re.split(opened, exercises.replace("```{solution-end}", "\f"), flags=re.M)
    solved = {of for of, how in zip(hidden[1::2], hidden[2::2]) if shown(how.partition("\f")[0])}
    for label in set(labels) - solved:
        yield f"a hidden solution of {label} that holds a cell"
    cited = re.split(r"^- (?=\{cite:t\})", reading, flags=re.M)[1:]
    if not 0 < len(cited) == items(reading) or any(len(words.split()) < 6 for words in cited):
        yield "further reading, with a sentence on each text"
    if list(sections)[-3:] != ["Recap", "Exercises", "Further reading"]:
        yield "recap, exercises and further reading as its end"
    if (lines := median(map(len, shown(text)))) > 4:
        yield f"short cells (half of them have more than 4 lines, the median is {lines:g})"


def without_solutions(text):
    hidden = r"^```\{solution-start\}.*?^```\{solution-end\}\n```"
    return re.sub(hidden, "", text, flags=re.M | re.S)


def prose(text):
    """A text without the code and the hidden solutions."""
    return re.sub(r"^```\{code-cell\}.*?^```$", "", without_solutions(text), flags=re.M | re.S)


def minutes(text):
    """How long it takes to read: 150 words a minute, and 20 seconds for a cell in view."""
    folded = {"remove-cell", "hide-cell", "hide-input"}
    options = [options for options, _ in cells(without_solutions(text))]
    seen = [one for one in options if not folded & set(one.get("tags", []))]
    return len(prose(text).split()) / 150 + len(seen) / 3


def items(text):
    """The number of items in a list."""
    return len(re.findall(r"^- ", text, re.M))


@pytest.mark.parametrize("page", PAGES)
def test_proofs_that_fold_are_boxes(page):
    """One of sphinx-proof has no title to click, and stops the script that folds what follows."""
    assert not re.search(r"\{prf:proof\}.*\n:class: dropdown", chapters.source(page))


@pytest.mark.parametrize("page", NUMBERED)
def test_a_chapter_is_read_in_one_sitting(page):
    assert minutes(chapters.source(page)) <= 40


def test_half_of_the_chapters_have_two_figures_per_thousand_words():
    texts = [chapters.source(page) for page in NUMBERED]
    figures = [len(re.findall("name: fig-", text)) for text in texts]
    density = [1000 * n / len(prose(text).split()) for n, text in zip(figures, texts)]
    assert median(density) >= 2


@pytest.mark.parametrize("page", NUMBERED)
def test_chapter_has_the_form(page):
    assert list(lacking(chapters.source(page))) == []


EXERCISE = """\
```{exercise} Again
:label: ex-one-NUMBER

How often?
```

```{solution-start} ex-one-NUMBER
:class: dropdown
```

Twice.

```{code-cell} ipython3
2
```

```{solution-end}
```

"""
CHAPTER = """\
(ch-one)=
# One

A rank is drawn. What is it worth?

```{code-cell} ipython3
---
mystnb:
  figure:
    name: fig-one-line
---
1
```

```{admonition} In this chapter
:class: tip
**1 minutes.** You need nothing. For readers of tests.

You will be able to

- draw,
- rank,
- read.
```

## By hand

```{admonition} Common mistake: `zero`
:class: warning
To count from `0`.
```

```{code-cell} ipython3
# from 0
0
```

## Recap

- draw
- rank
- read

## Exercises

EXERCISES
## Further reading

- {cite:t}`Someone`, section 1: where the line
  was drawn first.
""".replace("EXERCISES\n", "".join(EXERCISE.replace("NUMBER", n) for n in "abc"))


def test_form_accepts_a_good_chapter():
    assert list(lacking(CHAPTER)) == []


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("(ch-one)=\n", "", "a label"),
        ("# One\n", "", "a label"),
        ("What is it worth?", "That is what it is worth.", "the reader's question"),
        ("- draw,\n", "", "three objectives"),
        (":class: tip\n", "", "three objectives"),
        ("- draw\n", "", "a recap"),
        (":class: warning\n", "", "a box with a common mistake"),
        ("Common mistake", "A mistake", "a box with a common mistake"),
        ("ipython3\n# from 0", "ipython3\n:tags: [remove-cell]\n# from 0", "a cell after the box"),
        ("```{code-cell} ipython3\n# from 0\n0\n```", "", "a cell after the box"),
        ("fig-one-line", "tab-one-line", "its result as a picture"),
        ("**1 minutes.** You need nothing. For readers of tests.\n\n", "", "how long it takes"),
        ("**1 minutes.**", "**30 minutes.**", "the right time"),
        (EXERCISE.replace("NUMBER", "c"), "", "three exercises"),
        ("{solution-start} ex-one-b", "{solution-start} ex-one-d", "a hidden solution of ex-one-b"),
        ("ex-one-b\n:class: dropdown\n```", "ex-one-b\n```", "a hidden solution of ex-one-b"),
        ("Twice.\n\n```{code-cell} ipython3\n2\n```", "Twice.", "a hidden solution of ex-one-"),
        ("ipython3\n2", "ipython3\n:tags: [remove-cell]\n2", "a hidden solution of ex-one-"),
        (": where the line\n  was drawn first.", "", "further reading"),
        ("- {cite:t}`Someone`", "`Someone`", "further reading"),
        ("## Further reading", "## Reading", "further reading"),
        ("## Recap", "## Exercises again", "a recap"),
        ("\n2\n", "\n2\n2\n2\n2\n2\n", "short cells"),
    ],
)
def test_form_names_what_a_chapter_lacks(good, bad, message):
    assert good in CHAPTER
    assert any(found.startswith(message) for found in lacking(CHAPTER.replace(good, bad)))


def test_hidden_cells_do_not_shorten_a_chapter():
    hidden = "```{code-cell} ipython3\n:tags: [remove-cell]\n\nassert True\n```\n"
    long = CHAPTER.replace("\n2\n", "\n2\n2\n2\n2\n2\n")
    assert any(found.startswith("short cells") for found in lacking(long + 9 * hidden))


def entries(text):
    """The entries of a glossary: pairs of names (a list) and meaning."""
    for entry in re.search(r"```\{glossary\}\n(.*?)\n```", text, re.S)[1].split("\n\n"):
        lines = entry.splitlines()
        names = [line for line in lines if not line.startswith(" ")]
        yield names, " ".join(line.strip() for line in lines[len(names) :])


def unfit(text, labels):
    """What is wrong with a glossary, one line each; `labels` are those that it may link to."""
    listed = [names[0] for names, _ in entries(text)]
    for before, after in zip(listed, listed[1:]):
        if before.lower() > after.lower():
            yield f"{after} stands after {before}"
    for (name, *_), meaning in entries(text):
        linked = re.findall(r"\{(?:ref|eq|numref)\}`([^`]+)`", meaning)
        if not linked or not labels.issuperset(linked):
            yield f"{name} does not lead into the book"
        if not 1 <= len(re.findall(r"[.?](?:\s|$)", meaning.split("See {")[0])) <= 3:
            yield f"{name} is not one to three sentences"


GLOSSARY = """\
```{glossary}
AP
average precision
  Mean. See {eq}`eq-ap`.

AUC
  Area. See {ref}`auc`.
```
"""


def test_glossary_is_sorted_and_leads_into_the_book():
    others = "".join(chapters.source(page) for page in PAGES if page != "book/glossary")
    labels = re.findall(r"^\((\S+)\)=$|^:label: (\S+)$|^ *:?name: (\S+)$", others, re.M)
    assert list(unfit(chapters.source("book/glossary"), {a or b or c for a, b, c in labels})) == []


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("", "", None),
        ("AP", "WAP", "AUC stands after WAP"),
        ("eq-ap", "eq-no", "AP does not lead into the book"),
        ("{eq}`eq-ap`", "the book", "AP does not lead into the book"),
        ("Mean. See", "A. Mean. Of. Four. See", "AP is not one to three sentences"),
    ],
)
def test_glossary_check_names_what_is_wrong(good, bad, message):
    text = GLOSSARY.replace(good, bad, 1)
    assert list(unfit(text, {"eq-ap", "auc"})) == ([message] if message else [])


def test_the_address_of_the_repository_is_that_of_the_configuration():
    address = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"][
        "url"
    ]
    owner, name = address.split("/")[-2:]
    here = re.compile(rf"(?:github(?:usercontent)?\.com|/gh)/([\w.-]+)/({name}|recsample)\b")
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
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    now = version("recsample")
    assert citation["version"] == now
    # Between releases it is the next one's with .dev0, and what is new stands under "Unreleased".
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == ("Unreleased" if ".dev" in now else now)
    assert all(Version(earlier) < Version(now) for earlier in headings[1:])


@pytest.fixture
def built(tmp_path):
    """A book of one page, built well."""
    (tmp_path / "_toc.yml").write_text("root: book/index\nparts: []\n", encoding="utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "book/index.md").write_text("```{code-cell}\n1\n```\n", encoding="utf-8")
    html = tmp_path / "html"
    (html / "book").mkdir(parents=True)
    (html / "index.html").touch()
    (html / "book/index.html").write_text(
        '<h1>A</h1><a href="lab/tree/book/index.ipynb">'
        '<figure><img alt="A line." src="../_images/1.png"><figcaption></figcaption></figure>',
        encoding="utf-8",
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
    page.write_text(page.read_text(encoding="utf-8").replace(good, bad), encoding="utf-8")
    (problem,) = chapters.problems(built / "html", built)
    assert problem.startswith(f"book/index: {message}")


def test_check_names_a_missing_page(built):
    (built / "html/book/index.html").unlink()
    assert chapters.problems(built / "html", built) == ["book/index: not built"]


def test_notebooks_hold_the_cells_of_their_chapters(tmp_path):
    chapters.make_notebooks(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {page.split("/")[-1] for page in EXECUTED}
    for page in EXECUTED:
        notebook = json.loads(
            (tmp_path / f"{page.split('/')[-1]}.ipynb").read_text(encoding="utf-8")
        )
        made = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert len(made) == len(cells(chapters.source(page)))


@pytest.mark.parametrize("page", EXECUTED)
def test_a_chapter_that_is_saved_in_jupyter_does_not_change(page):
    assert chapters.as_saved(chapters.source(page)) == chapters.source(page)


def test_chapters_are_brought_into_the_form_in_which_they_are_saved(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```{code-cell}\n:tags: [b]\n:living: a\n\n1\n```\n", encoding="utf-8")
    (tmp_path / "prose.md").write_text("*  no cells  \n", encoding="utf-8")
    chapters.save(tmp_path)
    saved = page.read_text(encoding="utf-8")
    assert saved.endswith(":living: a\n:tags: [b]\n\n1\n```\n")
    chapters.save(tmp_path)
    assert page.read_text(encoding="utf-8") == saved
    assert (tmp_path / "prose.md").read_text(encoding="utf-8") == "*  no cells  \n"


class TestCrosswalk:
    """The page from the paper to the book leads to all of it, and each chapter back."""

    TEXT = chapters.source("book/crosswalk")

    def rows(self, name):
        """The rows of a table, as lists of cells."""
        table = re.search(rf":name: {name}\n\n(.*?)\n```", self.TEXT, re.S)[1].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]

    @cached_property
    def homes(self):
        """Each label of the book, and the pages that hold it."""
        found = defaultdict(list)
        for page in PAGES:
            label = r"^\((.+)\)=$|:label: (.+)$|name: (.+)$"
            for names in re.findall(label, chapters.source(page), re.M):
                found["".join(names)].append(page)
        return found

    def home(self, cell):
        """The chapters that hold what a cell refers to."""
        labels = re.findall(r"\{(?:ref|eq|numref)\}`([a-z0-9-]+)`", cell)
        found = [page for label in labels for page in self.homes.get(label, [])]
        assert labels and len(found) == len(labels), cell
        return found

    def test_holds_everything(self):
        assert [int(row[0]) for row in self.rows("tab-crosswalk-equations")] == list(range(1, 31))
        results = [row[0] for row in self.rows("tab-crosswalk-results")]
        assert results == [f"Table {i}" for i in range(1, 5)] + [f"Figure {i}" for i in range(1, 7)]
        parts = {3: "12", 4: "1234", 5: "12345", 6: "123"}
        sections = [
            one
            for i in range(1, 10)
            for one in (f"{i}", *(f"{i}.{part}" for part in parts.get(i, "")))
        ]
        where = sections.index("4.4") + 1
        sections[where:where] = [f"4.4.{i}" for i in range(1, 5)]
        assert [row[0] for row in self.rows("tab-crosswalk-sections")] == sections

    def test_says_what_computes_it(self):
        for row in self.rows("tab-crosswalk-equations") + self.rows("tab-crosswalk-results"):
            assert re.search(r"`.+`", row[-1]), row

    def test_leads_back(self):
        back = {}
        for chapter, *taken in self.rows("tab-crosswalk-back"):
            for kind, cell in zip(("section", "equation", "result"), taken):
                for one in filter(None, cell.split(", ")):
                    first, _, last = one.partition(" to ")
                    several = range(int(first), int(last) + 1) if last else [one]
                    for each in several:
                        back.setdefault((kind, str(each)), set()).update(self.home(chapter))
        there = {("section", row[0]): row[3] for row in self.rows("tab-crosswalk-sections")}
        there |= {("equation", row[0]): row[2] for row in self.rows("tab-crosswalk-equations")}
        there |= {("result", row[0]): row[3] for row in self.rows("tab-crosswalk-results")}
        assert back == {key: set(self.home(cell)) for key, cell in there.items()}
