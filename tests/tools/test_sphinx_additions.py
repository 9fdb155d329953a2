"""What scripts/sphinx_additions makes of a page, in a book of one page."""

import re
import sys
from html import unescape
from io import StringIO

import chapters
import pandas as pd
import pytest
import tinycss2
import yaml
from docutils import nodes
from docutils.utils import new_document
from sphinx.application import Sphinx
from sphinx_additions import heads, sidebar, tables, typesetting, weight

PAGE = """\
# A title

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
SVG = '<svg xmlns="http://www.w3.org/2000/svg" height="9pt" width="18pt"></svg>'
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
    (folder / "line.svg").write_text(SVG, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        html, warnings = build(folder, PAGE)
    del sys.modules["documented"]
    assert warnings == ""
    return html


@pytest.fixture(scope="module")
def page(html):
    return (html / "index.html").read_text(encoding="utf-8")


def test_a_drawing_says_how_large_it_is(page):
    assert '<img alt="A line, drawn." src="_images/line.svg" width="24" height="12" />' in page


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
    assert all(character in styles for character in re.findall(r"mjx-c[0-9A-F]+", page))
    fonts = re.findall(r"url\(\"(.*?)\"\)", styles)
    assert fonts and all((html / "_static" / font).exists() for font in fonts)


def test_a_formula_that_mathjax_does_not_understand_is_a_warning(tmp_path):
    _, warnings = build(tmp_path, "# One\n\n$\\rank$\n\n$\\text{ï}$")
    assert r"index.md:3: WARNING: Undefined control sequence \rank, in the formula" in warnings
    assert "index.md:5: WARNING: A letter that the fonts lack, in the formula" in warnings


def test_columns_of_words_are_marked_and_nothing_else():
    table = pd.DataFrame({"is": ["AP@5", "not 1"], "value": ["0.5", "is not"]}).to_html()
    output = nodes.raw("", table, format="html", classes=["output", "text_html"])
    tables.mark_words(None, nodes.container("", output), "page")
    marked = re.findall(r'class="words">(.*?)<', output.astext())
    assert marked == ["is", "AP@5", "not 1"]


def test_a_figure_is_in_one_box_with_the_folded_cells_before_it():
    seen, imports, drawn = [nodes.container(hide_mode=mode) for mode in (None, "input", "input")]
    drawn += nodes.figure()
    document = new_document("page")
    document += [seen, imports, drawn]
    heads.picture_first(None, document)
    assert list(document) == [seen, imports.parent] and list(imports.parent) == [imports, drawn]
    assert imports.parent["classes"] == ["picture-first"]


def test_rules_whose_classes_do_not_occur_are_left_out():
    styles = """@charset "utf-8";a,b{x:1}.in a,.out a:hover{x:1}.out{x:1}.in:not(.out){x:1}
    /* .in{x:1} */@media (x){.out{x:1}}@media (x){.in{x:1}.out{x:1}}.fa-in:before{x:1}
    @font-face{font-family:Font Awesome}@keyframes in{to{x:1}}:is(.out,.in){x:1}"""
    rules = tinycss2.parse_stylesheet(styles, skip_comments=True, skip_whitespace=True)
    kept = tinycss2.serialize(weight.used_rules(rules, {"in", "fa-in"}))
    assert re.sub(r"\s+", "", kept) == (
        '@charset"utf-8";a,b{x:1}.ina{x:1}.in:not(.out){x:1}@media(x){}@media(x){.in{x:1}}'
        "@keyframesin{to{x:1}}:is(.out,.in){x:1}"
    )


def test_the_book_names_pictures_that_exist_and_the_address_where_it_is_published():
    settings = yaml.safe_load((chapters.ROOT / "_config.yml").read_text(encoding="utf-8"))
    config = settings["sphinx"]["config"]
    served = {f"_static/{path.split('/')[-1]}": path for path in config["html_static_path"]}
    for picture in (settings["logo"], settings["html"]["favicon"], served[config["ogp_image"]]):
        assert (chapters.ROOT / picture).is_file()
    owner, name = settings["repository"]["url"].split("/")[-2:]
    assert settings["html"]["baseurl"] == f"https://{owner}.github.io/{name}/"


def test_parts_behind_the_chapters_are_folded_but_for_the_pages_own():
    part = '<p class="caption"><span>{}</span></p>\n<ul class="{}"><li>One</li></ul>\n'
    names = ["The short way", "Doing", "Reference", "The package"]
    html = "".join(
        part.format(name, "nav current" if name == "Reference" else "nav") for name in names
    )
    folded = sidebar.fold_parts(html)
    assert folded.count("<details") == 2 and folded.count("<li>One</li>") == 4
    reference, package = folded.split("<details")[1:]
    assert reference.startswith(' class="part" open><summary>') and "Reference" in reference
    assert package.startswith(' class="part"><summary>') and "The package" in package
