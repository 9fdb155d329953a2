"""Chapters as notebooks, as Jupyter saves them, and as tests."""

import re
import subprocess
import sys
from pathlib import Path

import chapters
import nbformat

EXECUTED = [page for page in chapters.pages() if chapters.has_cells(page)]


def test_notebooks_hold_the_cells_of_their_chapters(tmp_path):
    chapters.make_notebooks(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {Path(page).name for page in EXECUTED}
    for page in EXECUTED:
        notebook = nbformat.read(tmp_path / f"{Path(page).name}.ipynb", as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "python3"  # which Binder has
        made = [cell for cell in notebook.cells if cell.cell_type == "code"]
        written = re.findall(r"^```\{code-cell\}", chapters.source(page), re.M)
        assert len(made) == len(written) > 0, page
    readme = (chapters.ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"lab/tree/(\S+)\.ipynb", readme)) == {"book/index"}  # opened on Binder


def test_chapters_that_are_saved_in_jupyter_do_not_change():
    texts = {page: chapters.source(page) for page in EXECUTED}
    assert [page for page, text in texts.items() if chapters.as_saved(text) != text] == []


def test_a_chapter_fails_with_its_cell_where_it_fails_in_a_kernel(tmp_path):
    """But for pictures, which are not drawn."""
    (tmp_path / "conftest.py").write_bytes((chapters.ROOT / "book/conftest.py").read_bytes())
    first = "import matplotlib.pyplot as plt; x = 1"
    for name, code in {
        "good": "assert x == 1; plt.plot([1, 2]); plt.xlabel(r'$\\bad{$')",
        "names": "import sys; assert 'np' not in dir()\nx / 0",
        "shown": "type('A', (), {'__repr__': lambda _: 1 / 0})()",
        "warns": "import warnings; warnings.warn('as an error')",
        "dies": "import os; os._exit(3)",
    }.items():
        cells = "".join(f"```{{code-cell}}\n{cell}\n```\n\n" for cell in (first, code))
        (tmp_path / f"{name}.md").write_text(f"# A chapter\n\n{cells}", encoding="utf-8")
    (tmp_path / "prose.md").write_text("No cells.\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-c", chapters.ROOT / "pyproject.toml"]
    run = subprocess.run([*command, tmp_path], capture_output=True, encoding="utf-8")
    failed = re.findall(r"FAILED .*?(\w+)\.md::cells", run.stdout)
    assert failed == ["dies", "names", "shown", "warns"] and "1 passed" in run.stdout, run.stdout
    assert "x / 0" in run.stdout and "ZeroDivisionError" in run.stdout
