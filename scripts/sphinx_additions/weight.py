"""What a page loads before it is seen: as little as it needs.

Of the theme's stylesheets those rules are left whose classes occur in the book, without its 1,900
icons: book.css draws the few that are used. Pictures say how large they are, so that nothing moves
once they come.
"""

import re
from itertools import groupby, pairwise
from pathlib import Path
from urllib.parse import quote

import imagesize
import tinycss2

THEMES = ["basic.css", "styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css"]


def words_of(folder):
    """What may be a class in a built book: all words of its pages and scripts."""
    files = [*folder.rglob("*.html"), *folder.rglob("*.js")]
    return set().union(*(re.findall(r"[\w-]+", file.read_text(encoding="utf-8")) for file in files))


def used_rules(rules, words):
    """The rules of a stylesheet that may apply where only these words are classes."""
    kept = []
    for rule in rules:
        if rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            rule.content = used_rules(tinycss2.parse_rule_list(rule.content), words)
        if rule.type == "qualified-rule":
            rule.prelude = used_selectors(rule.prelude, words)
        fonts = rule.type == "at-rule" and rule.lower_at_keyword == "font-face"
        if not fonts and getattr(rule, "prelude", True):
            kept.append(rule)
    return kept


def used_selectors(tokens, words):
    """Those of a list of selectors that need no other class: what :not() excludes is none."""
    kept = []
    for comma, selector in groupby(tokens, lambda token: token == ","):
        selector = list(selector)
        classes = [name.value for dot, name in pairwise(selector) if dot == "."]
        if not comma and all(name in words and not name.startswith("fa-") for name in classes):
            kept += [*tinycss2.parse_component_value_list("," if kept else ""), *selector]
    return kept


def leave_out(app, exception):
    for path in map(Path(app.outdir, "_static").joinpath, THEMES):
        if not exception and path.exists():
            rules = tinycss2.parse_stylesheet(path.read_text(encoding="utf-8"), True, True)
            kept = used_rules(rules, words_of(Path(app.outdir)))
            path.write_text(tinycss2.serialize(kept), encoding="utf-8")


def say_sizes(app, page, template, context, document):
    """Give the pictures of a page their width and height."""
    for source, name in app.builder.images.items():
        address = f'src="{context["pathto"](f"_images/{quote(name)}", 1)}"'
        if address in context.get("body", ""):
            width, height = imagesize.get(Path(app.srcdir, source))
            sized = f'{address} width="{round(width)}" height="{round(height)}"'
            context["body"] = context["body"].replace(address, sized)


def setup(app):
    app.connect("html-page-context", say_sizes)
    app.connect("build-finished", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
