"""What scripts/sphinx_additions makes of a page, in a book of one page."""

import re
import sys
from html import escape, unescape
from io import StringIO
from types import SimpleNamespace

import chapters
import numpy as np
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document
from sphinx.application import Sphinx
from sphinx.builders.html import _JavaScript
from sphinx_additions import heads as chapter_heads
from sphinx_additions import repairs, tables, typesetting, weight

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

$$
\\frac{a}{b} &= 1 , \\\\ c &= \\sum_{i=1}^n i
$$ (eq-two-lines)

By {eq}`eq-two-lines`:

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


def build(folder, page):
    """The folder with the page that Sphinx makes of one, and its warnings."""
    (folder / "index.md").write_text(page, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_additions"],
        "myst_enable_extensions": ["dollarmath"],
        "numpydoc_show_class_members": False,
        "html_theme": "basic",
    }
    said = StringIO()
    Sphinx(folder, None, folder / "html", folder / "trees", "html", settings, None, said).build()
    return folder / "html", said.getvalue()


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    (folder / "documented.py").write_text(MODULE, encoding="utf-8")
    (folder / "map.svg").write_text(SVG.format("There"), encoding="utf-8")
    (folder / "line.svg").write_text(SVG.format("Line"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        html, warnings = build(folder, PAGE)
    del sys.modules["documented"]
    assert warnings == ""
    return html


@pytest.fixture(scope="module")
def page(html):
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
    kept = re.findall(r'<span class="kept">(.*?)<span class="math.*?</span>(.*?)</span>', line)
    assert kept == [("(", ";"), ("", "-"), ("(", ")")]
    text = re.sub(r"<[^>]*>", "", line)  # of the formulas their MathML
    assert text == "One (b=1; n-th), α words, (c)."


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


FORMULAS = [
    r"\frac{a}{b} \le \hat{M}_{\tilde r}",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
    r"\operatorname{Var}[x \mid r] = \sum_{i=1}^{n} \binom{n}{i} \sqrt{\alpha^2} \text{ if }",
    r"\left( \int_0^1 x \, dx \right)^{1/2} \mathbb{R} \mathcal{L} \mathbf{p}",
]


IS_SAME = """([tex, made]) => {
    const look = ({ localName, classList, style, children }) =>
        [localName, ...classList, style.cssText, [...children].map(look)];
    const formula = (root) => JSON.stringify(look(root.querySelector("mjx-math")));
    const parsed = new DOMParser().parseFromString(made, "text/html");
    return formula(MathJax.tex2chtml(tex, { display: true })) === formula(parsed);
}"""


def test_formulas_are_those_that_mathjax_shows_in_a_browser(chromium):
    page = chromium.new_page()
    page.goto((typesetting.MATHJAX / "latest.js").as_uri())  # a page that may load files
    page.set_content(f"<script src='{(typesetting.MATHJAX / 'tex-chtml.js').as_uri()}'></script>")
    page.wait_for_function("() => Boolean(window.MathJax?.tex2chtml)")
    for tex in FORMULAS:
        made = typesetting.typeset(tex, display=True)
        assert page.evaluate(IS_SAME, [tex, made]), tex
    page.close()


def test_an_equation_has_its_number_and_is_referred_to_by_it(page):
    (equation,) = re.findall(r'(?s)<div class="math.*?</div>', page)
    assert 'id="equation-eq-two-lines">\n<span class="eqno">(1)<a class="headerlink"' in equation
    assert equation.count('<mjx-container class="MathJax" jax="CHTML" display="true"') == 1
    assert equation.count("<mtr>") == 2 and "<mjx-merror" not in equation
    assert re.search(r'href="#equation-eq-two-lines">.*?\(1\)', page)


def test_pages_need_no_script_for_formulas_but_styles_and_fonts(html, page):
    assert not re.search("<script[^>]*mathjax", page, re.I)
    assert f'href="_static/{typesetting.STYLES}' in page
    styles = (html / "_static" / typesetting.STYLES).read_text(encoding="utf-8")
    assert "mjx-c1D44E" in styles and "mjx-c1D467" not in styles  # there is an a, but no z
    fonts = re.findall(r"url\(\"(.*?)\"\)", styles)
    sent = {path.name for path in (html / "_static/mathjax").iterdir()}
    assert sent == {font.removeprefix("mathjax/") for font in fonts}
    assert "MathJax_Math-Italic.woff" in sent and "MathJax_Fraktur-Regular.woff" not in sent
    assert all(character in styles for character in re.findall(r"mjx-c[0-9A-F]+", page))


@pytest.mark.parametrize(
    ("tex", "message"),
    [
        (r"\frac{1}", r"Missing argument for \frac, in the formula \frac{1}"),
        (r"\rank", r"Undefined control sequence \rank, in the formula \rank"),
        (r"\text{ï}", r"A letter that the fonts lack, in the formula \text{ï}"),
    ],
)
def test_a_formula_that_mathjax_does_not_understand_is_a_warning(tmp_path, tex, message):
    _, warnings = build(tmp_path, f"# One\n\n${tex}$")
    assert f"index.md:3: WARNING: {message}" in warnings


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
    "without its index": pd.DataFrame({"is": ["a", "b"], "value": [1, 2]}).style.hide(),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_columns_of_words_are_marked_and_nothing_else(table):
    parsed = BeautifulSoup(table._repr_html_(), "html.parser")
    html = str(parsed)
    output = nodes.raw("", html, format="html", classes=["output", "text_html"])
    tables.mark_words(None, nodes.container("", output), "page")
    marked = re.findall(r'(?s)<t[hd][^>]*class="words[^>]*>(.*?)</t[hd]>', output.astext())
    data = getattr(table, "data", table)
    words = [escape(word) for word in data.iloc[:, 0]]
    assert [text for text in marked if text] == ["is", *words]
    tables._join_heads(parsed.table)
    assert re.sub(r'( class="words"|words )', "", output.astext()) == str(parsed)


def heads(frame):
    """The rows of the head of a table, after the names of the index have been put in place."""
    table = BeautifulSoup(frame.to_html(), "html.parser").table
    tables._join_heads(table)
    return [[cell.text.strip() for cell in row(["th", "td"])] for row in table.thead("tr")]


def test_names_of_the_index_stand_in_the_row_above_them_where_that_is_free():
    index = pd.MultiIndex.from_product([["a"], [1, 2]], names=["method", "m"])
    plain = pd.DataFrame({"one": [1, 2], "two": [3, 4]}, index=index)
    assert heads(plain) == [["method", "m", "one", "two"]]
    columns = pd.MultiIndex.from_product([["one"], ["left", "right"]])
    three = plain.set_axis(columns, axis=1)
    assert heads(three) == [["", "", "one"], ["method", "m", "left", "right"]]
    assert heads(plain.rename_axis(columns="metric"))[0] == ["", "metric", "one", "two"]
    assert heads(plain.reset_index(drop=True)) == [["", "one", "two"]]


def cell(mode, *outputs):
    """A cell of a page, folded or not."""
    shown = [nodes.container("", *outputs, nb_element="cell_code_output")] if outputs else []
    return nodes.container("", *shown, nb_element="cell_code", hide_mode=mode)


def test_a_figure_is_in_one_box_with_the_folded_cells_before_it():
    document = new_document("page")
    seen, imports, computed, drawn = (
        cell(None),
        cell("input"),
        cell("all"),
        cell("input", nodes.figure()),
    )
    document += [nodes.paragraph(), seen, imports, computed, drawn, nodes.paragraph()]
    chapter_heads.picture_first(None, document)
    box = document[2]
    assert box["classes"] == ["picture-first"] and list(box) == [imports, computed, drawn]
    assert len(document) == 4 and document[1] is seen


def test_the_place_in_the_book_stands_above_the_title(tmp_path):
    (tmp_path / "_toc.yml").write_text(
        "root: index\nparts:\n- caption: Part\n  chapters:\n  - file: one\n", encoding="utf-8"
    )
    app = SimpleNamespace(srcdir=tmp_path, config=SimpleNamespace(html_title="book: on it"))
    numbered = '<h1><span class="section-number">3. </span>One</h1>'
    for page, title, place in [
        ("one", numbered, "Part · Chapter 3"),
        ("one", "<h1>One</h1>", "Part"),
        ("index", "<h1>One</h1>", "On it"),
    ]:
        context = {"body": title}
        chapter_heads.say_place(app, page, None, context, None)
        assert context["body"] == f'<p class="place">{place}</p>\n{title}'
    context = {"body": numbered}
    chapter_heads.say_place(app, "elsewhere", None, context, None)
    assert context["body"] == numbered


def test_rules_whose_classes_do_not_occur_are_left_out():
    styles = """@charset "utf-8";a,b{x:1}.in a,.out a:hover{x:1}.out{x:1}.in:not(.out){x:1}
    /* .in{x:1} */@media (x){.out{x:1}}@media (x){.in{x:1}.out{x:1}}.fa-in:before{x:1}
    @font-face{font-family:Font Awesome}@keyframes in{to{x:1}}:is(.out,.in){x:1}"""
    kept = weight.used_rules(styles, {"in", "fa-in"})
    assert re.sub(r"\s+", "", kept) == (
        '@charset"utf-8";a,b{x:1}.ina{x:1}.in:not(.out){x:1}@media(x){.in{x:1}}'
        "@keyframesin{to{x:1}}:is(.out,.in){x:1}"
    )


def test_a_drawing_says_how_large_it_is(tmp_path):
    svg = '<svg height="9pt" version="1.1" width="18pt" height="9pt">'
    (tmp_path / "drawn.svg").write_text(svg, encoding="utf-8")
    images = {"drawn.svg": "a b.svg", "photo.png": "photo.png"}
    app = SimpleNamespace(srcdir=tmp_path, builder=SimpleNamespace(images=images))
    context = {"body": '<img src="../_images/a%20b.svg"><img src="_images/photo.png">'}
    weight.say_sizes(app, "page", None, context, None)
    assert context["body"] == (
        '<img width="24" height="12" src="../_images/a%20b.svg"><img src="_images/photo.png">'
    )


def test_only_what_a_script_within_the_page_needs_is_loaded_at_once():
    scripts = [_JavaScript(name) for name in (weight.AT_ONCE, "_static/other.js")]
    scripts.append(_JavaScript(None, body="var one = 1"))
    context = {"script_files": scripts}
    weight.defer(None, "page", None, context, None)
    attributes = [script.attributes for script in context["script_files"]]
    assert attributes == [{}, {"defer": "defer"}, {"body": "var one = 1"}]
    assert scripts[1].attributes == {}  # those of other pages


def test_the_book_names_pictures_that_exist_and_the_address_where_it_is_published():
    settings = yaml.safe_load((chapters.ROOT / "_config.yml").read_text(encoding="utf-8"))
    config = settings["sphinx"]["config"]
    served = {f"_static/{path.split('/')[-1]}": path for path in config["html_static_path"]}
    for picture in (settings["logo"], settings["html"]["favicon"], served[config["ogp_image"]]):
        assert (chapters.ROOT / picture).is_file()
    owner, name = settings["repository"]["url"].split("/")[-2:]
    assert settings["html"]["baseurl"] == f"https://{owner}.github.io/{name}/"
