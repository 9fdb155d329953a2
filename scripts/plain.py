"""The text of the chapters as any Jupyter shows it, without the roles and directives of MyST.

References become links to the published pages, with the numbers of the book: these follow from
_toc.yml and the order of labels. A role or directive that is not known here is an error.
"""

import re
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

import chapters
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin

CONFIG = yaml.safe_load((chapters.ROOT / "_config.yml").read_text(encoding="utf-8"))
PARSER = MarkdownIt().use(colon_fence_plugin).use(dollarmath_plugin).use(myst_block_plugin)
ROLE = re.compile(r"\{([a-z:]+)\}`([^`]+)`")
# Headings with a label, directives with a number, and cells by the name of what they show.
LABELLED = re.compile(
    r"^\((?P<section>\S+)\)=\n(?:\(.*\)=\n)*\n*#+ (?P<title>.+)$"
    r"|^[`:]{3,}\{(?:prf:)?(?P<kind>math|table|exercise|theorem|proposition|definition)\} ?"
    r"(?P<head>.*)\n(?::class: .*\n)?:(?:label|name): (?P<label>\S+)$"
    r"|^ +name: (?P<cell>(?:fig|tab)-\S+)$",
    re.M,
)
COLOURS = {"tip": "success", "exercise": "success", "warning": "warning"}  # of boxes, else "info"


class Target(NamedTuple):
    """What a label stands for."""

    address: str
    number: str
    title: str
    kind: str = "Chapter"

    def link(self, text):
        return f"[{text}]({self.address})"

    @property
    def name(self):
        return f"{self.kind} {self.number}"


@cache
def targets():
    """Every label, page and documented module of the book."""
    found, counts = {}, {}
    parts = yaml.safe_load((chapters.ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    numbered = [one["file"] for part in parts if "numbered" in part for one in part["chapters"]]
    for page in chapters.pages():
        text, address = chapters.source(page), f"{CONFIG['html']['baseurl']}{page}.html"
        chapter = str(numbered.index(page) + 1) if page in numbered else ""
        found[page] = Target(address, chapter, re.search(r"^# (.+)$", text, re.M)[1])
        for module in re.findall(r"automodule:: (\S+)", text):
            found[module] = found[page]
        for one in LABELLED.finditer(text):
            if label := one["section"]:
                found[label] = Target(f"{address}#{label}", chapter, one["title"])
                continue
            label = one["label"] or one["cell"]
            kind = one["kind"] or {"fig": "figure", "tab": "table"}[label[:3]]
            counts[chapter, kind] = counts.get((chapter, kind), 0) + 1
            number = f"{chapter}.{counts[chapter, kind]}".removeprefix(".")
            anchor = f"equation-{label}" if kind == "math" else label
            found[label] = Target(f"{address}#{anchor}", number, one["head"], kind.capitalize())
    return found


@cache
def references():
    """Authors and year of what is cited."""
    from pybtex.database import parse_file

    found = {}
    for key, entry in parse_file(chapters.ROOT / CONFIG["bibtex_bibfiles"][0]).entries.items():
        people = entry.persons.get("author") or entry.persons["editor"]
        names = [" ".join(map(str, one.rich_last_names)) for one in people]
        shown = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        found[key] = shown, entry.fields["year"]
    return found


def role(name, content, page):
    """A role as Markdown."""
    text, label = re.fullmatch(r"(?:(.+) <)?(.+?)>?", " ".join(content.split())).groups()
    if name == "term":
        return text or label
    if name.startswith("cite"):
        link, cited = targets()["book/bibliography"].link, map(references().get, label.split(","))
        if name == "cite:t":
            return " and ".join(link(f"{who} ({year})") for who, year in cited)
        return f"({'; '.join(link(f'{who}, {year}') for who, year in cited)})"
    if name.startswith("py:"):
        path = label.removeprefix("~")
        of = next(of for module, of in targets().items() if path.startswith(f"{module}."))
        return f"[`{text or path.rpartition('.')[2]}`]({of.address}#{path})"
    one = targets()[str(PurePosixPath(page).parent / label) if name == "doc" else label]
    if name in ("ref", "doc"):
        return one.link(text or one.title)
    if name == "eq":
        return one.link(f"({one.number})")
    return one.link(text.replace("%s", one.number) if text else one.name)  # numref, prf:ref


def directive(name, head, content, page):
    """A directive as Markdown."""
    given = re.match(r"(?::.*\n)*", content)[0]
    options = dict(re.findall(r"^:([a-z]+): *(.*)$", given, re.M))
    body, head = content[len(given) :].strip("\n"), inline(head, page)
    one = targets().get(options.get("label") or options.get("name"))
    if name in ("index", "solution-end"):
        return ""
    if name == "solution-start":
        return f"**Solution of {targets()[head].name}**"
    if name == "math":
        tag = rf" \tag{{{one.number}}}" if one else ""
        return f"$$\n{body}{tag}\n$$"
    if name == "raw":  # a picture
        raw = CONFIG["repository"]["url"].replace("github.com", "raw.githubusercontent.com")
        file = re.search(r"file: (\S+)", content)[1]
        return f"![]({raw}/{CONFIG['repository']['branch']}/book/{file})"
    body = plain(body, page)
    if name == "container":
        return body
    if name == "table":
        return f"**{one.name}.** {head}\n\n{body}"
    if name == "prf:proof" or options.get("class") == "dropdown":
        return f"<details><summary>{head or 'Proof'}</summary>\n\n{body}\n\n</details>"
    if name != "admonition" and not one:
        raise ValueError(f"{page}: how is the directive {name} shown in a notebook?")
    colour = COLOURS.get(options.get("class"), COLOURS.get(name, "info"))
    head = f"**{one.name}** ({head})" if one else f"**{head}**"
    return f'<div class="alert alert-{colour}">\n\n{head}\n\n{body}\n\n</div>'


def inline(text, page):
    """Text without directives."""
    text = re.sub(r"^(\S.*)\n: +", r"**\1**: ", text, flags=re.M)  # a list of definitions
    return ROLE.sub(lambda found: role(found[1], found[2], page), text)


def plain(text, page):
    """The text of a cell as plain Markdown."""
    lines, made, done = text.splitlines(), [], 0
    for token in PARSER.parse(text):
        if token.level or token.type not in ("fence", "colon_fence", "math_block", "myst_target"):
            continue
        start, end = token.map
        made += [inline("\n".join(lines[done:start]), page)]
        if found := re.match(r"\{([a-z:-]+)\} ?(.*)", token.info):
            made += [directive(found[1], found[2], token.content, page)]
        elif token.type != "myst_target":
            made += lines[start:end]
        done = end
    made += [inline("\n".join(lines[done:]), page)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(made)).strip("\n")


def plain_cells(cells, page):
    """The cells of a notebook with plain text, and captions as text below what they describe."""
    from nbformat.v4 import new_markdown_cell

    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source, page)
        elif re.search("(hide|remove)-(input|cell)", " ".join(cell.metadata.get("tags", []))):
            cell.metadata["jupyter"] = {"source_hidden": True}  # folds it
        if cell.source:
            yield cell
        if figure := cell.metadata.get("mystnb", {}).get("figure"):
            name = targets()[figure["name"]].name
            yield new_markdown_cell(f"**{name}.** {inline(figure['caption'], page)}")
