"""What scripts/sphinx_additions makes of a page, in a book of one page."""

import re
import sys
from html import escape, unescape

import chapters
import numpy as np
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx
from sphinx_additions import repairs, tables

PAGE = """\
# A title

```{figure} map.svg
---
class: inline
alt: A map of "one" box.
---
The map.
```

![A line, drawn.](line.svg)

One ($b = 1$; $n$-th), $\\alpha$ words, *($c$)*.

| | one |
|-|-----|
| a | 1 |

```{eval-rst}
.. automodule:: documented
   :members:
```
"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><a href="other.html"><text>{}</text></a></svg>'
MODULE = '''\
"""Two docstrings with references of their own, and a cut-off."""

from typing import NamedTuple


def one():
    """NDCG@10 of someone [1]_.

    References
    ----------
    .. [1] Someone, 2020.
    """


def other():
    """Of someone else [1]_.

    References
    ----------
    .. [1] Someone else, 2021.
    """


class Pair(NamedTuple):
    """Two numbers."""

    first: int
    second: int
'''


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    (folder / "index.md").write_text(PAGE)
    (folder / "documented.py").write_text(MODULE)
    (folder / "map.svg").write_text(SVG.format("There"))
    (folder / "line.svg").write_text(SVG.format("Line"))
    settings = {
        "extensions": ["myst_parser", "sphinx.ext.mathjax", "sphinx.ext.autodoc"]
        + ["numpydoc", "sphinx_additions"],
        "myst_enable_extensions": ["dollarmath"],
        "numpydoc_show_class_members": False,
        "html_theme": "basic",
    }
    html = folder / "html"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        app = Sphinx(
            folder, None, html, folder / "trees", "html", settings, status=None, warningiserror=True
        )
        app.build()
    del sys.modules["documented"]
    return (html / "index.html").read_text(encoding="utf-8")


def test_an_inline_picture_is_part_of_the_page_with_its_links_and_its_alternative_text(page):
    assert '<svg role="group" aria-label="A map of &quot;one&quot; box." xmlns=' in page
    assert '<a href="other.html"><text>There</text></a>' in page
    assert re.search(r"<figure[^>]*>\s*<div[^>]*><svg.*</svg></div>\s*<figcaption>", page)


def test_other_pictures_stay_files(page):
    assert re.search(r'<img [^>]*alt="A line, drawn."[^>]* src="_images/line.svg"', page)
    assert "<text>Line" not in page


def test_no_line_breaks_between_a_formula_and_its_punctuation(page):
    (line,) = re.findall(r"<p>(One .*)</p>", page)
    kept = re.findall(
        r'<span class="kept">(.*?)<span class="math[^>]*>(.*?)</span>(.*?)</span>', line
    )
    assert kept == [("(", r"\(b = 1\)", ";"), ("", r"\(n\)", "-"), ("(", r"\(c\)", ")")]
    text = re.sub(r"<[^>]*>", "", line)
    assert text == r"One (\(b = 1\); \(n\)-th), \(\alpha\) words, (\(c\))."


def test_citations_in_docstrings_are_short_and_no_id_comes_twice(page):
    assert re.findall(r'href="#r\w{12}-1"[^>]*><span>(.*?)</span>', page) == ["[1]", "[1]"]
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)


def test_a_cut_off_is_no_address_and_a_field_no_alias(page):
    assert "NDCG@10 of someone" in unescape(page)
    assert "Two numbers" in page and "Alias for field" not in page


def test_empty_heads_of_tables_and_references_have_the_role_that_they_play(page):
    assert re.search(r'<tr[^>]*><td class="head"><p></p></td>\s*<th class="head"><p>one</p>', page)
    assert page.count('role="listitem"') == 2 and "doc-biblioentry" not in page


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('<summary aria-label="Toggle hidden content">Show', "<summary>Show"),
        ('<section id="exercise-content">\n', "<section>\n"),
        ('<section id="solution-content">\n', "<section>\n"),
        ('<th class="blank level0">&nbsp;</th>', '<td class="blank level0">&nbsp;</td>'),
        ("<thead><tr><th></th><th>a</th>", "<thead><tr><td></td><th>a</th>"),
        ("<th> one</th>", "<th> one</th>"),
    ],
)
def test_repairs(wrong, right):
    context = {"body": wrong}
    repairs.repair(None, "page", "page.html", context, None)
    assert context["body"] == right


TABLES = {
    "a frame": pd.DataFrame({"is": ["AP@5", "not 1"], "value": ["0.5", "is not"]}),
    "a frame with a named index": pd.DataFrame(
        {"is": ["<b>", "x"], "value": [-0.5, np.nan]}, index=pd.Index(["p", "q"], name="one")
    ),
    "groups": pd.DataFrame(
        [["x", 1], ["y", 2]], columns=pd.MultiIndex.from_product([["g"], ["is", "value"]])
    ),
    "a styled frame": pd.DataFrame({"is": ["a", "b"], "value": [1, 2]}).style,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_columns_of_words_are_marked_and_nothing_else(table):
    html = str(BeautifulSoup(table._repr_html_(), "html.parser"))
    output = nodes.raw("", html, format="html", classes=["output", "text_html"])
    tables.mark_words(None, nodes.container("", output), "page")
    marked = re.findall(r'(?s)<t[hd][^>]*class="words[^>]*>(.*?)</t[hd]>', output.astext())
    data = getattr(table, "data", table)
    words = [escape(word) for word in data.iloc[:, 0]]
    assert [text for text in marked if text] == ["is", *words]
    assert re.sub(r'( class="words"|words )', "", output.astext()) == html


def test_the_book_names_pictures_that_exist_and_the_address_where_it_is_published():
    settings = yaml.safe_load((chapters.ROOT / "_config.yml").read_text())
    config = settings["sphinx"]["config"]
    served = {f"_static/{path.split('/')[-1]}": path for path in config["html_static_path"]}
    for picture in (settings["logo"], settings["html"]["favicon"], served[config["ogp_image"]]):
        assert (chapters.ROOT / picture).is_file()
    owner, name = settings["repository"]["url"].split("/")[-2:]
    assert settings["html"]["baseurl"] == f"https://{owner}.github.io/{name}/"
