"""What a page loads before it is seen: as little as it needs.

Scripts wait until the page is there, but for documentation_options.js, to which a script within the
page adds. Of the theme's stylesheets those rules are left whose classes occur in the book, without
its 1,900 icons: book.css draws the few that are used. Pictures say how large they are, so that
nothing moves once they come.
"""

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

AT_ONCE = "_static/documentation_options.js"
THEMES = ["basic.css", "styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css"]
UNUSED = ["scripts/bootstrap.js", "scripts/bootstrap.js.LICENSE.txt", "scripts/fontawesome.js"]
UNUSED += ["scripts/fontawesome.js.LICENSE.txt", "vendor", "locales", "webpack-macros.html"]
UNUSED += ["sbt-webpack-macros.html"]


def defer(app, page, template, context, document):
    context["script_files"] = [_late(script) for script in context["script_files"]]


def _late(script):
    if script.filename in (None, AT_ONCE):  # text within the page has no file
        return script
    attributes = {**script.attributes, "defer": "defer"}
    return type(script)(script.filename, priority=script.priority, **attributes)


def words_of(folder):
    """What may be a class in a built book: the classes of its pages, and all words of scripts."""
    classes = {
        name
        for page in folder.rglob("*.html")
        for names in re.findall(r'class="([^"]*)"', page.read_text(encoding="utf-8"))
        for name in names.split()
    }
    scripts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.js")]
    return classes.union(*(re.findall(r"[\w-]+", text) for text in scripts))


def used_rules(styles, words):
    """The rules of a stylesheet that may apply where only these words are classes."""
    kept, rest = [], re.sub(r"(?s)/\*(?!!).*?\*/", "", styles)
    while found := re.match(r"([^{;}]*;)|([^{}]*)\{", rest):
        end = found.end() if found[1] else _end(rest, found.end())
        body = rest[found.end() : end - 1]
        if found[1]:
            kept.append(found[1])
        elif found[2].lstrip().startswith(("@media", "@supports")):
            if inner := used_rules(body, words):
                kept.append(f"{found[2]}{{{inner}}}")
        elif "Font Awesome" not in body or "@font-face" not in found[2]:
            selectors = [one for one in _selectors(found[2]) if _applies(one, words)]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{body}}}")
        rest = rest[end:]
    return "".join(kept)


def _end(text, start):
    """Where a block ends whose first character is at `start`."""
    depth, place = 1, start
    while depth:
        brace = re.compile("[{}]").search(text, place)
        depth, place = depth + (1 if brace[0] == "{" else -1), brace.end()
    return place


def _selectors(head):
    return [head] if head.lstrip().startswith("@") else re.split(r",(?![^()]*\))", head)


def _applies(selector, words):
    plain = re.sub(r"\([^()]*(\([^()]*\))?[^()]*\)", "", selector)  # not :not(.one)
    classes = re.findall(r"\.(-?[A-Za-z_][\w-]*)", plain)
    return not any(name.startswith("fa-") or name not in words for name in classes)


def leave_out(app, exception):
    static = Path(app.outdir, "_static")
    if exception or not (static / "styles").exists():
        return
    for path in [*map(static.joinpath, UNUSED), *static.rglob("*.map")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    words = words_of(static.parent)
    for path in map(static.joinpath, THEMES):
        rules = used_rules(path.read_text(encoding="utf-8"), words)
        path.write_text(rules, encoding="utf-8")


def say_sizes(app, page, template, context, document):
    """Give the drawings of a page their width and height."""
    files = {name: source for source, name in app.builder.images.items()}

    def sized(tag):
        source = Path(app.srcdir, files.get(unquote(tag[1]), ""))
        text = source.read_text(encoding="utf-8")[:2000] if source.suffix == ".svg" else ""
        size = re.search(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"', text)
        if not size or "width=" in tag[0]:
            return tag[0]
        width, height = (round(float(number) * 4 / 3) for number in size.groups())
        return tag[0].replace("<img ", f'<img width="{width}" height="{height}" ', 1)

    body = context.get("body", "")
    context["body"] = re.sub(r'<img [^>]*src="[^"]*_images/([^"]+)"[^>]*>', sized, body)


def setup(app):
    app.connect("html-page-context", defer, priority=900)  # once all have added theirs
    app.connect("html-page-context", say_sizes)
    app.connect("build-finished", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
