"""The sources of the book: what a build would let through, but a reader would miss.

The built pages are checked at the end of `make book`, by scripts/chapters.py.
"""

import ast
import re
import sys
from collections import defaultdict
from functools import cache, cached_property
from importlib.metadata import requires, version
from typing import NamedTuple

import chapters
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = chapters.ROOT
PAGES = [page for page in chapters.pages() if (ROOT / f"{page}.md").exists()]
EXECUTED = [page for page in PAGES if chapters.has_cells(page)]


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


def captioned(text):
    """The figures and tables that cells in a text make: their `mystnb` options."""
    return [o["mystnb"] for o, _ in cells(text) if "figure" in o.get("mystnb", {})]


def test_every_page_of_the_contents_exists():
    assert [page for page in chapters.pages() if page not in PAGES] == []


def test_every_page_is_in_the_contents():
    files = (ROOT / "book").rglob("*.md")
    assert {path.relative_to(ROOT).with_suffix("").as_posix() for path in files} == set(PAGES)


def test_readers_need_nothing_but_the_package_and_its_extras():
    """They run downloads in other folders, where `make binder` has tried some of them."""
    parts = map(Requirement, requires("recsample"))
    known = {"recsample", *sys.stdlib_module_names, *(one.name.replace("-", "_") for one in parts)}
    for page in EXECUTED:
        nodes = [n for code in codes(chapters.source(page)) for n in ast.walk(parsed(code))]
        names = [name.name for n in nodes if isinstance(n, ast.Import) for name in n.names]
        names += [n.module for n in nodes if isinstance(n, ast.ImportFrom)]
        assert {name.split(".")[0] for name in names} <= known, page
        assert not any(isinstance(n, ast.Attribute) and n.attr == "__file__" for n in nodes), page


@pytest.mark.thorough
def test_readers_can_do_without_the_hidden_checks():
    """They get copies without them, in which every name still has to be there."""
    needed = {}
    for page in EXECUTED:
        text = chapters.source(page)
        left = codes(chapters.without_checks(text))
        hidden = names_in(set(codes(text)) - set(left)).bound
        needed[page] = hidden & used_before_bound(left)
    assert {page: names for page, names in needed.items() if names} == {}


def used_before_bound(sources):
    """The names that cells use, in their order, and that no statement before has bound."""
    found, bound = set(), set()
    for code in sources:
        for one in parsed(code).body:
            # x = x + 1 uses the x before; what a loop or a function binds it uses itself.
            computed = one.value if isinstance(one, ast.Assign) else one
            names = names_in([ast.unparse(computed)])
            found |= names.used - names.bound - bound
            bound |= names_in([ast.unparse(one)]).bound
    return found


def codes(text):
    return ["\n".join(code) for _, code in cells(text)]


def parsed(code):
    """A cell's code without the commands of notebooks."""
    return ast.parse(re.sub(r"^\s*[%!].*$", "", code, flags=re.M))


def names_in(sources):
    """The names that code binds, and those that it uses."""
    bound, used = set(), set()
    for code in sources:
        for node in ast.walk(parsed(code)):
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


def test_captioned_output_has_a_name_a_caption_and_if_drawn_a_description():
    bad = []
    for options in captioned("".join(map(chapters.source, EXECUTED))):
        name, caption = options["figure"]["name"], options["figure"]["caption"]
        kind = re.match(r"(fig|tab)-[a-z0-9-]+$", name)  # by which tables are numbered as such
        described = options.get("image", {}).get("alt") or not name.startswith("fig-")
        bad += [] if kind and caption.strip() and described else [name]
    assert bad == []


# What returns nothing that a cell would show.
SILENT = re.compile(r"\.(label_lines|grid|invert_yaxis|minorticks_off|set_axisbelow)\(")


def shows_twice(options, code):
    """Whether a cell that draws also shows what its last line is worth, as a second figure."""
    is_drawn = options.get("mystnb", {}).get("figure", {}).get("name", "").startswith("fig-")
    is_shown = is_drawn and isinstance(ast.parse("\n".join(code)).body[-1], ast.Expr)
    return is_shown and not (code[-1].endswith(";") or SILENT.search(code[-1]))


def test_a_cell_that_draws_shows_its_figure_once():
    drawn = {"mystnb": {"figure": {"name": "fig-a"}}}
    assert shows_twice(drawn, ["ax.plot(x)"]) and not shows_twice(drawn, ["ax.plot(x);"])
    found = [(o, code) for page in EXECUTED for o, code in cells(chapters.source(page))]
    assert [code[-1] for o, code in found if shows_twice(o, code)] == []


def test_every_exercise_has_a_hidden_solution_with_a_cell():
    """But for those on the reader's own data, which have the class `own-data` and no solution."""
    unsolved = []
    for page in EXECUTED:
        text = chapters.source(page).replace("```{solution-end}", "\f")
        opened = r"^```\{solution-start\} (\S+)\n:class: dropdown\n```\n([^\f]*)"
        solved = {of for of, how in re.findall(opened, text, re.M) if cells(how)}
        exercise = r"^```\{exercise\}.*\n(:class: own-data\n)?:label: (\S+)"
        posed = {label for own, label in re.findall(exercise, text, re.M) if not own}
        assert len(re.findall(exercise, text, re.M)) == text.count("```{exercise}"), page
        unsolved += posed - solved
    assert unsolved == []


# ------------------------------------------------------------------- checks in view


def sections(text):
    """The parts of a page, without its solutions: each from its heading to the next like it."""
    text = re.sub(r"^```\{solution-start\}.*?^```\{solution-end\}", "", text, flags=re.M | re.S)
    # A comment in code looks like a heading.
    code = [range(*one.span()) for one in re.finditer(r"^```.*?^```$", text, re.M | re.S)]
    found = [
        (one.start(), len(one[1]))
        for one in re.finditer(r"^(#+) ", text, re.M)
        if not any(one.start() in block for block in code)
    ]
    for at, (start, level) in enumerate(found):
        after = (place for place, other in found[at + 1 :] if other <= level)
        yield text[start : next(after, len(text))]


def has_check_after(page, mark):
    """Whether a cell in view checks what a text marks: behind it, in its section."""
    part = min((part for part in sections(chapters.source(page)) if mark in part), key=len)
    options = [options for options, _ in cells(part.partition(mark)[2])]
    return any("check" in one.get("tags", []) and in_view(one) for one in options)


def in_view(options):
    return not any(tag.startswith(("remove-", "hide-")) for tag in options.get("tags", []))


@pytest.mark.parametrize("page", PAGES)
def test_each_theorem_has_a_check_in_view(page):
    marks = re.findall(
        r"^`+\{prf:(?:theorem|proposition)\}.*\n(?::.*\n)*", chapters.source(page), re.M
    )
    assert [mark for mark in marks if not has_check_after(page, mark)] == []


def test_checks_are_in_view_and_short():
    """And end in an expression or a call, by which both numbers are seen."""
    bad = []
    for page in EXECUTED:
        for options, code in cells(chapters.source(page)):
            if "check" in options.get("tags", []):
                shows = isinstance(ast.parse("\n".join(code)).body[-1], ast.Expr)
                if not (
                    in_view(options) and len(code) <= 10 and shows and not code[-1].endswith(";")
                ):
                    bad.append((page, code))
    assert bad == []


PAPER = chapters.parts()["The paper"]


def test_code_of_the_paper_is_in_view_or_folds_and_much_of_it_in_view():
    """But for assertions of what the prose says, and the style of figures."""
    lines = dict.fromkeys(["in view", "folded", "hidden"], 0)
    for options, code in (cell for page in PAPER for cell in cells(chapters.source(page))):
        tags, source = set(options.get("tags", [])), "\n".join(code)
        folded = {"hide-input", "hide-cell"} & tags
        if not chapters.is_check(tags, source) and not is_style(source):
            kind = "in view" if in_view(options) else "folded" if folded else "hidden"
            lines[kind] += len(code)
    total = sum(lines.values())
    assert lines["in view"] >= 0.45 * total, lines
    assert lines["hidden"] <= 0.05 * total, lines


def is_style(source):
    """Whether code only imports and sets how figures and progress look."""
    settings = ("import", "from", "os.environ", "rs.plotting.use_style", "pd.set_option")
    return all(ast.unparse(one).startswith(settings) for one in ast.parse(source).body)


def test_proofs_that_fold_are_boxes():
    """One of sphinx-proof has no title to click, and stops the script that folds what follows."""
    folds = r"\{prf:proof\}.*\n:class: dropdown"
    assert [page for page in PAGES if re.search(folds, chapters.source(page))] == []


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


def test_the_version_stands_in_one_place_and_the_changelog_has_it():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    now = version("recsample")
    assert "version" not in citation  # an archive takes that of the tag
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
        ("</h1>", "</h1><pre>Error in callback</pre>", "a picture that could not be drawn"),
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

    def test_each_equation_has_a_check_in_view(self):
        labels = [
            (row[0], label)
            for row in self.rows("tab-crosswalk-equations")
            for label in re.findall(r"\{eq\}`([a-z0-9-]+)`", row[2])
        ]
        assert {
            number: label
            for number, label in labels
            if not has_check_after(self.homes[label][0], f":label: {label}\n")
        } == {}

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
