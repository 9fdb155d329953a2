"""Chapters as notebooks, and as Jupyter saves them: a change there changes nothing else."""

import json
import re
from pathlib import Path

import chapters

EXECUTED = [page for page in chapters.pages() if chapters.has_cells(page)]


def test_notebooks_hold_the_cells_of_their_chapters(tmp_path):
    chapters.make_notebooks(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {Path(page).name for page in EXECUTED}
    for page in EXECUTED:
        text = (tmp_path / f"{Path(page).name}.ipynb").read_text(encoding="utf-8")
        made = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        written = re.findall(r"^```\{code-cell\}", chapters.source(page), re.M)
        assert len(made) == len(written) > 0, page


def test_chapters_that_are_saved_in_jupyter_do_not_change():
    texts = {page: chapters.source(page) for page in EXECUTED}
    assert [page for page, text in texts.items() if chapters.as_saved(text) != text] == []


def test_chapters_are_brought_into_the_form_in_which_they_are_saved(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```{code-cell}\n:tags: [b]\n:living: a\n\n1\n```\n", encoding="utf-8")
    (tmp_path / "prose.md").write_text("*  no cells  \n", encoding="utf-8")
    chapters.save(tmp_path)
    saved = page.read_text(encoding="utf-8")
    assert saved.endswith(":living: a\n:tags: [b]\n\n1\n```\n")
    chapters.save(tmp_path)
    assert page.read_text(encoding="utf-8") == saved
    assert (tmp_path / "prose.md").read_text(encoding="utf-8") == "*  no cells  \n"
