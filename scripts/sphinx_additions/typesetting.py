"""Formulas that are typeset when the book is built.

Sphinx leaves that to MathJax in the readers' browsers, which takes seconds on a long page. Here the
same MathJax runs once, in V8 without a browser: a page has its formulas as HTML, with MathML beside
it that is read aloud, and needs a stylesheet and fonts, but no script. What MathJax does not
understand is a warning, which fails the build.
"""

import atexit
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax"
PARTS = ["loader", "core", "adaptors/liteDOM", "input/tex-full", "output/chtml"]
PARTS += ["output/chtml/fonts/tex", "a11y/assistive-mml"]
FONTS = "output/chtml/fonts/woff-v2"
STYLES = "formulas.css"

_logger = logging.getLogger(__name__)


@cache
def engine():
    """V8 with MathJax."""
    engine = MiniRacer()
    atexit.register(engine.close)  # a thread of its own would keep Python from ending
    engine.eval("var MathJax = {}")
    for path in [MATHJAX / f"{part}.js" for part in PARTS] + [Path(__file__).with_suffix(".js")]:
        engine.eval(path.read_text(encoding="utf-8"))
    return engine


@cache
def typeset(tex, display):
    """A formula as HTML."""
    return engine().call("typeset", tex, display)


def _formula(node, tex, display):
    html = typeset(tex, display)
    if problem := _problem(html):
        _logger.warning("%s, in the formula %s", problem, tex, location=node)
    return html


def _problem(html):
    if error := re.search('data-mjx-error="(.*?)"', html):
        return error[1]
    return "A letter that the fonts lack" if "<mjx-utext" in html else None


def visit_inline(translator, node):
    opening = translator.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    translator.body.append(f"{opening}{_formula(node, node.astext(), False)}</span>")
    raise nodes.SkipNode


def visit_block(translator, node):
    tex = node.astext()
    if r"\\" in tex and not node["nowrap"]:
        tex = rf"\begin{{split}}{tex}\end{{split}}"  # aligned, as Sphinx has it
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(f"{_formula(node, tex, True)}</div>\n")
    raise nodes.SkipNode


def write_all(app, env):
    """Write every page anew in every build: the stylesheet has what MathJax met on the way."""
    return env.found_docs


def write_styles(app, exception):
    """Write stylesheet and fonts for all pages."""
    if not exception:
        static = Path(app.outdir, "_static")
        (static / STYLES).write_text(engine().call("styles"), encoding="utf-8")
        copytree(MATHJAX / FONTS, static / "mathjax", dirs_exist_ok=True)


def setup(app):
    app.add_html_math_renderer("typeset", (visit_inline, None), (visit_block, None))
    app.add_css_file(STYLES)
    app.connect("env-updated", write_all)
    app.connect("build-finished", write_styles)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
