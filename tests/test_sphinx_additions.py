"""What scripts/sphinx_additions.py makes of a page, in a book of one page."""

import re
from html import escape

import chapters
import numpy as np
import pandas as pd
import pytest
import yaml

sphinx = pytest.importorskip("sphinx.application")
nodes = pytest.importorskip("docutils.nodes")
sphinx_additions = pytest.importorskip("sphinx_additions")

PAGE = """\
# A *title*

```{figure} map.svg
---
class: inline
alt: A map of "one" box.
---
The map.
```

![A line, drawn.](line.svg)

One ($b = 1$; $n$-th), $\\alpha$ words, *($c$)*.
"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><a href="other.html"><text>{}</text></a></svg>'


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    (folder / "index.md").write_text(PAGE)
    (folder / "map.svg").write_text(SVG.format("There"))
    (folder / "line.svg").write_text(SVG.format("Line"))
    settings = {
        "extensions": [
            "myst_parser",
            "sphinx.ext.autodoc",
            "sphinx_additions",
            "sphinx.ext.mathjax",
        ],
        "myst_enable_extensions": ["dollarmath"],
        "html_theme": "basic",
        "html_title": "The book",
        "html_baseurl": "https://example.org/book/",
        "card_description": 'About "it".',
        "card_image": "card.png",
        "card_alt": "A card.",
    }
    html = folder / "html"
    app = sphinx.Sphinx(
        folder, None, html, folder / "trees", "html", settings, status=None, warningiserror=True
    )
    app.build()
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
    html = table._repr_html_()
    output = nodes.raw("", html, format="html", classes=["output", "text_html"])
    sphinx_additions.mark_words(None, nodes.container("", output), "page")
    marked = re.findall(r'(?s)<t[hd][^>]*class="words[^>]*>(.*?)</t[hd]>', output.astext())
    data = getattr(table, "data", table)
    words = [escape(word) for word in data.iloc[:, 0]]
    assert [text for text in marked if text] == ["is", *words]
    assert re.sub(r'( class="words"|words )', "", output.astext()) == html


def test_every_page_has_a_card(page):
    tags = dict(re.findall(r'<meta property="([^"]+)" content="([^"]*)">', page))
    assert tags == {
        "og:type": "article",
        "og:site_name": "The book",
        "og:title": "A title",
        "og:description": "About &quot;it&quot;.",
        "og:url": "https://example.org/book/index.html",
        "og:image": "https://example.org/book/_static/card.png",
        "og:image:alt": "A card.",
        "twitter:card": "summary_large_image",
    }


def test_the_book_names_pictures_that_exist_and_the_address_where_it_is_published():
    settings = yaml.safe_load((chapters.ROOT / "_config.yml").read_text())
    config = settings["sphinx"]["config"]
    (card,) = [path for path in config["html_static_path"] if path.endswith(config["card_image"])]
    for picture in (settings["logo"], settings["html"]["favicon"], card):
        assert (chapters.ROOT / picture).is_file()
    owner, name = settings["repository"]["url"].split("/")[-2:]
    assert settings["html"]["baseurl"] == f"https://{owner}.github.io/{name}/"
