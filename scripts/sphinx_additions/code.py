"""Words of code that look like the text around them are no elements of their own.

Pygments marks every name, bracket and space, although the theme's styles show these like plain
text. Without the marks a page of the API has half as many elements.
"""

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Whitespace
from sphinx.highlighting import PygmentsBridge

PLAIN = {Name, Punctuation, Whitespace}


class Formatter(HtmlFormatter):
    """Marks what the styles tell from plain text."""

    def _get_css_classes(self, ttype):
        return "" if ttype in PLAIN else super()._get_css_classes(ttype)


def setup(app):
    PygmentsBridge.html_formatter = Formatter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
