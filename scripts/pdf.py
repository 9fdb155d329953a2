"""The built book as one PDF: `make pdf`, after `make book`.

python scripts/pdf.py HTML PDF PART ...    prints the pages that are built in HTML to PDF

Printed are the first page and the parts of _toc.yml whose captions begin with one of PART, or all.
The built pages are joined into one, in the order of _toc.yml, and Chromium prints that one. Nothing
is built or executed again: formulas, numbers and references are those of the pages. pdf.html is the
frame of the joined page, pdf.css the look of the sheets, pdf.js makes fit what is too wide.
"""

import io
import re
import sys
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import browser
import chapters

BESIDE = Path(__file__)
LONG = 600_000  # milliseconds to lay out a whole book, on a busy machine too


def join(html, root=chapters.ROOT, wanted=("",)):
    """One page with the pages of the parts wanted that are built in the folder `html`, as text."""
    import yaml
    from bs4 import BeautifulSoup
    from jinja2 import Template
    from matplotlib import get_data_path

    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    parts = {
        caption: pages
        for caption, pages in chapters.parts(root).items()
        if not caption or caption.startswith(tuple(wanted))
    }
    listed = sum(parts.values(), [])
    head, chapter = {}, {}
    for page in listed:
        built = html / f"{page}.html"
        if not built.exists():
            raise SystemExit(f"{built} is missing: run make book first.")
        soup = BeautifulSoup(built.read_text(encoding="utf-8"), "html.parser")
        _unfold(soup)
        _rename(soup.article, Path(page).name)
        _redirect(soup, page, listed, html, config["html"]["baseurl"])
        title = soup.article.h1.text
        _step_down(soup.article, steps=page not in parts[""])
        head |= dict.fromkeys(str(tag) for tag in soup.head("link", rel="stylesheet"))
        text = soup.article.decode_contents()
        chapter[page] = {"name": Path(page).name, "title": title, "text": text}
    return Template(BESIDE.with_suffix(".html").read_text(encoding="utf-8")).render(
        config=config,
        date=soup.head.find(attrs={"name": "docbuild:last-update"})["content"],
        head=head,
        parts={caption: [chapter[page] for page in pages] for caption, pages in parts.items()},
        picture=html.resolve().as_uri() + "/_static/order.svg",
        sheet=BESIDE.with_suffix(".css").read_text(encoding="utf-8"),
        fonts=Path(get_data_path(), "fonts/ttf").as_uri(),  # on every machine the same
    )


def _unfold(soup):
    """Open what a page folds, but for code, which is left out; so is what is there to click."""
    gone_with_paper = ".place, details .cell_input, details > summary, a.headerlink, #run-cells"
    for gone in soup.select(gone_with_paper):
        gone.decompose()
    for folded in soup("details"):
        if folded.text.strip() or folded.img:
            folded.unwrap()
        else:
            folded.decompose()


def _rename(article, name):
    """Put the name of the page before every id, because other pages may have the same."""
    ids = {tag["id"] for tag in article(id=True)}
    used = re.compile(rf"#({'|'.join(map(re.escape, ids))})(?![\w-])")
    for style in article("style"):
        style.string = used.sub(rf"#{name}--\1", style.text)
    for tag in article(True):
        for key, value in tag.attrs.items():
            if key == "id" or (key in ("aria-labelledby", "aria-describedby") and value in ids):
                tag[key] = f"{name}--{value}"
            elif isinstance(value, str) and "url(#" in value:
                tag[key] = used.sub(rf"#{name}--\1", value)


def _redirect(soup, page, listed, html, address):
    """Lead links to the pages' places on the one page, to files in `html`, or to the site."""
    here = f"{page}.html"
    for tag in soup.article(href=True):
        path, place = urldefrag(urljoin(here, tag["href"]))
        if path.removesuffix(".html") in listed:
            name = Path(path).stem
            tag["href"] = f"#{name}--{place}" if place else f"#{name}"
        else:
            tag["href"] = urljoin(address, urljoin(here, tag["href"]))
    for tag in [*soup.head(href=True), *soup(src=True)]:
        key = "src" if tag.has_attr("src") else "href"
        if not urlsplit(tag[key]).scheme:
            tag[key] = f"{html.resolve().as_uri()}/{urljoin(here, tag[key])}"


def _step_down(article, steps):
    """Mark each heading with its rank on the page; in a part it is `steps` lower in the book."""
    for heading in article(re.compile("^h[1-6]$")):
        rank = int(heading.name[1])
        heading["class"] = [*heading.get("class", []), f"rank-{rank}"]
        heading.name = f"h{min(rank + steps, 6)}"


def write(running, joined, path):
    """Print the joined page, a file, to the PDF file `path` with a running browser."""
    window = browser.open_window(running)
    window.set_default_timeout(LONG)
    window.add_init_script(path=BESIDE.with_suffix(".js"))
    opened, errors, _ = browser.visit(window, joined.resolve().as_uri())
    opened.emulate_media(media="print")
    opened.evaluate("sheets.fit(), sheets.keep()")
    # Once more, with the numbers of the pages on which the first time the chapters began.
    opened.evaluate("sheets.number", first_pages(_print(opened)))
    author = opened.locator("meta[name=author]").get_attribute("content")
    path.write_bytes(_small(_print(opened), author))
    window.close()
    if errors:
        raise SystemExit("\n".join(errors))


def _print(opened):
    return opened.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)


def _small(pdf, author):
    """The same PDF, its author named and its objects compressed: Chromium does neither."""
    import pikepdf

    written = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        opened.docinfo["/Author"] = author
        opened.save(
            written,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            recompress_flate=True,
            linearize=True,  # a browser shows the first page before the last one is there
        )
    return written.getvalue()


def first_pages(pdf):
    """The number of the page that each destination of a link is on."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(pdf))
    places = reader.named_destinations.items()
    numbers = {name: reader.get_destination_page_number(place) + 1 for name, place in places}
    return {name.removeprefix("/"): number for name, number in numbers.items()}


def main(html, pdf, *wanted):
    html, pdf = Path(html), Path(pdf)
    if browser.find() is None:
        raise SystemExit(browser.ABSENT)
    joined = pdf.with_suffix(".html")
    joined.write_text(join(html, wanted=wanted or ("",)), encoding="utf-8")
    with browser.launch(browser.find()) as running:
        write(running, joined, pdf)
    joined.unlink()
    print(f"The book: {pdf.resolve()}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
