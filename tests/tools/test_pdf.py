"""The PDF of a book of two pages, which have all that a PDF may lose: it is read by pypdf."""

import re
import subprocess
import sys
from pathlib import Path

import browser
import chapters
import pdf
import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

A4 = 595, 842  # points
FIRST = """\
# The *first* page

It leads to the {ref}`second <sec-shown>`, to [another site](https://example.org/there), to the
<a href="../genindex.html">index</a> and [on this page](#recap).

## Recap

The first recap.
"""
SECOND = """\
---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---

# A page with a title that is so long that it takes two lines

(sec-shown)=
## Recap

The rank is $r \\le n$, and {eq}`eq-second-wide` is wider than the sheet.

$$
TERMS
$$ (eq-second-wide)

```{code-cell} ipython3
---
mystnb:
  figure:
    name: fig-second-shown
    caption: A picture of a line.
  image:
    alt: A line that rises from left to right.
tags: [hide-input]
---
from IPython.display import SVG
folded_code = "<path d='M0 90L90 0' stroke='black'/>"
SVG(f"<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'>{folded_code}</svg>")
```

```{code-cell} ipython3
:tags: [hide-output]
"folded " + "output", "WIDE"
```

|NAMES|
|RULES|
|WORDS|

```{prf:theorem} Of everything
:label: thm-all
All of it.
```

```{prf:proof}
What is proved.
```

```{exercise} Alone
:label: ex-alone
What is asked.
```

````{solution} ex-alone
:class: dropdown
What is answered.
````
"""
LONG = {
    "TERMS": " + ".join(f"x_{{{i}}}" for i in range(60)),
    "WIDE": "wide" * 40,
    "NAMES": "|".join(f"column {i}" for i in range(16)),
    "RULES": "|".join("-" * 16),
    "WORDS": "|".join(["somewords"] * 16),
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A book with the settings of this one, built."""
    root = tmp_path_factory.mktemp("root")
    (root / "book").mkdir()
    for name in ["_config.yml", "scripts"]:
        (root / name).symlink_to(chapters.ROOT / name)
    for name in ["_static", "_templates", "images", "references.bib"]:
        (root / "book" / name).symlink_to(chapters.ROOT / "book" / name)
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nparts:\n- caption: All & more\n  numbered: 1\n"
        "  chapters:\n  - file: book/second\n",
        encoding="utf-8",
    )
    (root / "book/index.md").write_text(FIRST, encoding="utf-8")
    (root / "book/second.md").write_text(
        re.sub("[A-Z]{4,}", lambda word: LONG[word[0]], SECOND), encoding="utf-8"
    )
    build = [Path(sys.executable).with_name("jupyter-book"), "build", "--quiet", "."]
    done = subprocess.run(build, cwd=root, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope="module")
def joined(book):
    """The one page that is printed, in a file."""
    page = book / "joined.html"
    page.write_text(pdf.join(book / "_build/html", book), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def printed(chromium, book, joined):
    """The PDF, printed."""
    pdf.write(chromium, joined, book / "book.pdf")
    return PdfReader(book / "book.pdf")


def texts(printed):
    """The text of each sheet, with single spaces."""
    return [" ".join(sheet.extract_text().split()) for sheet in printed.pages]


def sheet_of(printed, text):
    """The only sheet with a text, counted from 0."""
    (found,) = [number for number, sheet in enumerate(texts(printed)) if text in sheet]
    return found


def place(printed, name):
    return printed.get_destination_page_number(printed.named_destinations[name])


def annotations(printed):
    return [link.get_object() for sheet in printed.pages for link in sheet.get("/Annots", ()) or ()]


def test_no_id_comes_twice_and_every_link_within_the_page_lands(joined):
    soup = BeautifulSoup(joined.read_text(encoding="utf-8"), "html.parser")
    ids = [tag["id"] for tag in soup(id=True)]
    assert len(ids) == len(set(ids))
    within = {tag["href"][1:] for tag in soup("a", href=re.compile("^#"))}
    assert within <= set(ids)
    assert {"second--sec-shown", "index--recap", "second"} <= within


def test_links_that_leave_the_page_lead_to_the_published_book(joined):
    soup = BeautifulSoup(joined.read_text(encoding="utf-8"), "html.parser")
    leaving = {tag["href"] for tag in soup("a", href=re.compile("^[^#]"))}
    address = "https://recsample.github.io/recsample/"
    assert leaving == {address, f"{address}genindex.html", "https://example.org/there"}


def test_files_of_the_page_exist(joined):
    soup = BeautifulSoup(joined.read_text(encoding="utf-8"), "html.parser")
    named = [tag["href"] for tag in soup("link")] + [tag["src"] for tag in soup(src=True)]
    named += re.findall(r"src: url\((.*?)\)", soup.style.text)
    assert any("formulas.css" in name for name in named) and any(".ttf" in name for name in named)
    for name in named:
        assert Path(re.sub(r"^file://|\?.*", "", name)).is_file(), name


def test_a_book_that_is_not_built_cannot_be_printed(book, tmp_path):
    with pytest.raises(SystemExit, match=r"book.index\.html is missing: run make book first"):
        pdf.join(tmp_path, book)


def test_parts_are_left_out_on_request_and_links_to_them_lead_to_the_published_book(book):
    soup = BeautifulSoup(pdf.join(book / "_build/html", book, ["Other"]), "html.parser")
    assert [tag["id"] for tag in soup("section", class_="chapter")] == ["index"]
    assert soup.find("a", string="second")["href"].startswith("https://recsample.github.io/")
    assert [
        tag["id"]
        for tag in BeautifulSoup(pdf.join(book / "_build/html", book, ["All"]), "html.parser")(
            "section", class_="chapter"
        )
    ] == ["index", "second"]


def test_nothing_is_wider_than_the_sheet(chromium, joined):
    window = browser.open_window(chromium)
    page, errors, requests = browser.visit(window, joined.as_uri())
    page.emulate_media(media="print")
    wide = """reader.all("article :is(table, pre, code, img, mjx-math)").filter((one) => {
        const { left, right } = one.getBoundingClientRect();
        return left < -1 || right > document.querySelector("article").clientWidth + 1;
    }).map((one) => one.localName)"""
    assert set(page.evaluate(wide)) == {"table", "mjx-math"}  # until it is made to fit
    page.add_script_tag(path=Path(pdf.__file__).with_suffix(".js"))
    page.evaluate("sheets.fit()")
    assert page.evaluate(wide) == []
    assert errors == [] and not [url for url in requests if not url.startswith(("file:", "data:"))]
    window.close()


def test_sheets_are_a4_tagged_and_numbered(printed):
    assert {tuple(map(round, sheet.mediabox[2:])) for sheet in printed.pages} == {A4}
    catalogue = printed.trailer["/Root"]
    assert catalogue["/MarkInfo"]["/Marked"] and catalogue["/Lang"] == "en"
    assert printed.metadata.title == "recsample: evaluating recommenders with sampled metrics"
    assert printed.metadata.author == "The recsample authors"
    numbered = list(enumerate(texts(printed), 1))[1:]  # the title has none
    assert all(re.search(rf"\b{number}\b", text) for number, text in numbered)


def test_the_tags_are_packed(printed, book):
    objects = re.findall(rb"/Type ?/(\w+)", (book / "book.pdf").read_bytes())
    assert b"ObjStm" in objects and b"StructElem" not in objects


def test_the_outline_has_parts_chapters_and_sections(printed):
    def titles(entries):
        return [titles(one) if isinstance(one, list) else one.title.strip() for one in entries]

    long = "1. A page with a title that is so long that it takes two lines"
    assert titles(printed.outline) == [
        "Contents",
        "The first page",
        ["Recap"],
        "All & more",
        [long, ["Recap"]],
    ]


def test_the_contents_say_on_which_sheet_a_chapter_begins(printed):
    for name, title in [("index", "The first page"), ("second", "two lines")]:
        beginning = place(printed, f"/{name}")
        assert title in texts(printed)[beginning]
        contents = texts(printed)[sheet_of(printed, "Contents")]
        assert re.search(rf"{title} ?{beginning + 1}\b", contents)


def test_links_land_on_the_sheet_of_what_they_name(printed):
    named = printed.named_destinations
    within = [link["/Dest"] for link in annotations(printed) if "/Dest" in link]
    assert set(within) <= set(named) and len(within) == 5
    assert place(printed, "/second--sec-shown") == place(printed, "/second")
    assert place(printed, "/index--recap") == place(printed, "/index")
    outside = {link["/A"]["/URI"] for link in annotations(printed) if "/A" in link}
    assert "https://example.org/there" in outside
    assert not any(address.startswith("file:") for address in outside)


def test_what_a_page_folds_is_open_but_for_code(printed):
    text = " ".join(texts(printed))
    for shown in ["folded output", "What is answered.", "What is proved.", "Fig. 1.1 A picture"]:
        assert shown in text, shown
    for gone in ["folded_code", "Show code", "Hide code", "Click to show", "previous", "Search"]:
        assert gone not in text, gone


def test_fonts_are_embedded(printed):
    fonts = {}
    for sheet in printed.pages:
        for font in sheet["/Resources"]["/Font"].values():
            font = font.get_object()
            below = [one.get_object() for one in font.get("/DescendantFonts", [font])]
            for one in below:
                fonts[font.get("/BaseFont", "")] = one["/Subtype"] == "/Type3" or any(
                    key.startswith("/FontFile") for key in one["/FontDescriptor"].get_object()
                )
    assert all(fonts.values())
    families = {name.split("+")[-1].split("-")[0] for name in fonts if name}
    assert {"STIXGeneral", "DejaVuSans", "DejaVuSansMono"} <= families
