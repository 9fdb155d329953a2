"""Notebooks from the chapters, and a look at the built book.

python scripts/chapters.py notebooks FOLDER    every page with code cells, as a notebook in FOLDER
python scripts/chapters.py copies FOLDER       the same, as readers get them: see plain.py
python scripts/chapters.py save FOLDER         every such page in FOLDER, as Jupyter would save it
python scripts/chapters.py execute CACHE       every such page run, its outputs in a cache
python scripts/chapters.py check HTML          is every page of _toc.yml there, and fit to be read?
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def parts(root=ROOT):
    """The pages of each part of _toc.yml by its caption, as paths without suffix."""
    import yaml

    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = {part["caption"]: [c["file"] for c in part["chapters"]] for part in toc["parts"]}
    return {"": [toc["root"]], **listed}


def pages(root=ROOT):
    """Every page of _toc.yml, in order."""
    return [page for part in parts(root).values() for page in part]


def source(page, root=ROOT):
    """The text of a page."""
    path = root / f"{page}.md"
    if not path.exists():
        raise SystemExit(f"{path} is missing; _toc.yml lists it.")
    return path.read_text(encoding="utf-8")


def has_cells(page, root=ROOT):
    """Whether a page is executed."""
    return "```{code-cell}" in source(page, root)


def is_check(tags, code):
    """Whether a cell is there for the tests alone: hidden, and it asserts something."""
    return "remove-cell" in tags and re.search(r"^\s*[\w.]*assert", code, re.M) is not None


def without_checks(text):
    """The text of a page as readers get it."""
    cell = r"^```\{code-cell\}[^\n]*\n(.*?)^```\n+"
    return re.sub(
        cell, lambda one: "" if is_check(one[1], one[1]) else one[0], text, flags=re.M | re.S
    )


def cells_without_checks(cells):
    """The cells of a notebook as readers get it."""
    return [c for c in cells if not is_check(c["metadata"].get("tags", []), "".join(c["source"]))]


def make_notebooks(folder, root=ROOT, checks=True):
    """Write the pages with code cells to `folder` as notebooks, in place of those there.

    Without checks they are as readers get them, and any Jupyter shows their text.
    """
    import jupytext

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.ipynb"):
        old.unlink()
    for page in [page for page in pages(root) if has_cells(page, root)]:
        notebook = jupytext.reads(source(page, root), fmt="md:myst")
        if not checks:
            from plain import plain_cells

            notebook.cells = [*plain_cells(cells_without_checks(notebook.cells), page)]
        jupytext.write(notebook, folder / f"{Path(page).name}.ipynb")


def as_saved(text):
    """The text of a page after Jupyter, with Jupytext, has opened and saved it."""
    import jupytext
    import nbformat
    from jupytext.config import load_jupytext_configuration_file

    config = load_jupytext_configuration_file(str(ROOT / "jupytext.toml"))
    # A notebook's file has the options of a cell in alphabetical order.
    notebook = nbformat.writes(jupytext.reads(text, "md:myst", config=config))
    return jupytext.writes(nbformat.reads(notebook, as_version=4), "md:myst", config=config)


def save(folder):
    """Write the pages of `folder` that have code cells as Jupyter would."""
    for path in folder.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        if "```{code-cell}" in text:
            path.write_text(as_saved(text), encoding="utf-8", newline="\n")


def execute(folder, root=ROOT):
    """Run the pages with code cells, as many at once as there are cores, and cache their outputs.

    The build reads the cache. A page that fails is not in it: the build runs that page again, and
    says where it failed.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.executors import load_executor

    cache = get_cache(folder)
    for page in [page for page in pages(root) if has_cells(page, root)]:
        reader = {"name": "myst_nb_md", "type": "plugin"}
        cache.add_nb_to_project(root / f"{page}.md", read_data=reader)
    load_executor("local-parallel", cache=cache).run_and_cache(timeout=600)


def problems(html, root=ROOT):
    """What is wrong with a built book, one line each."""
    found = [] if (html / "index.html").exists() else ["index.html: missing"]
    for page in pages(root):
        built = html / f"{page}.html"
        if not built.exists():
            found.append(f"{page}: not built")
            continue
        text = built.read_text(encoding="utf-8")
        found += [f"{page}: {problem}" for problem in _page_problems(text)]
        if has_cells(page, root) and f"/{page}.ipynb" not in text:
            found.append(f"{page}: its launch button does not open a notebook")
    return found


def _page_problems(text):
    picture = r'<img[^>]*src="[^"]*_images/[^>]*>'
    described = r'alt="(?![^"]*_images/)[^"]*[^"\s][^"]*"'  # the default is the name of the file
    uncaptioned = re.sub(r"<figure.*?</figure>", "", text, flags=re.DOTALL)
    if "<h1" not in text:
        yield "no heading"
    if not all(re.search(described, tag) for tag in re.findall(picture, text)):
        yield "a picture without alt text"
    if re.search(picture, uncaptioned):
        yield "a picture without a caption"
    if "Error in callback" in text:  # what IPython says then, and goes on
        yield "a picture that could not be drawn"
    if re.search(r"np\.(float|int)\d+\(", re.sub(r"<[^>]+>", "", text)):
        yield "a NumPy scalar shown as code, such as np.float64(0.5)"


def main(command, folder):
    if command in ("notebooks", "copies"):
        return make_notebooks(Path(folder), checks=command == "notebooks")
    if command == "save":
        return save(Path(folder))
    if command == "execute":
        return execute(folder)
    found = problems(Path(folder))
    if found:
        return "The book is not fit to be read:\n" + "\n".join(found)
    print(f"The book: {Path(folder).resolve() / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
