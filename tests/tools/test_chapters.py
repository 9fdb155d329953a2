"""Chapters as notebooks, and as Jupyter saves them: a change there changes nothing else."""

import json
import re
from pathlib import Path

import chapters
import plain
import pytest

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


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """The cells that readers get of each page."""
    folder = tmp_path_factory.mktemp("copies")
    chapters.make_notebooks(folder, checks=False)
    return {
        page: json.loads((folder / f"{Path(page).name}.ipynb").read_text("utf-8"))["cells"]
        for page in EXECUTED
    }


def texts(cells):
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


RAW = r"\{[a-z:]+\}`.*|^ *(?:```|:::)[`:]*\{.*|^:::.*|^\(\S+\)=$|^: .*|^:[a-z]+:.*"


@pytest.mark.parametrize("page", EXECUTED)
def test_any_jupyter_shows_the_text_of_copies(copies, page):
    """Nothing is left that only MyST reads, and mathematics stands apart from other blocks."""
    text = texts(copies[page])
    assert re.findall(RAW, text, re.M) == []
    assert text.count("$$") % 2 == 0 and re.findall(r"<div.*>\n(?!\n)", text) == []
    opened, closed = (re.findall(tag, text) for tag in (r"<(div|details)\b", r"</(div|details)>"))
    assert sorted(opened) == sorted(closed)


def test_copies_have_the_captions_of_figures_as_text(copies):
    for page, cells in copies.items():
        for cell, after in zip(cells, cells[1:]):
            if figure := cell["metadata"].get("mystnb", {}).get("figure"):
                name = plain.targets()[figure["name"]].name
                caption = plain.inline(figure["caption"], page)
                assert "".join(after["source"]) == f"**{name}.** {caption}"


def test_text_of_copies_by_hand():
    made = plain.plain(PIECES, "book/metrics").replace(plain.CONFIG["html"]["baseurl"], "")
    assert made == MADE


PIECES = """\
(sec-here)=
## A heading

```{index} word
```

{numref}`fig-metrics-toy`, {eq}`eq-metrics-mean` and {numref}`chapter %s <ch-metrics>`: {term}`ties
<tie>` as in {cite:t}`KricheneRendle2020`, or {doc}`your own <your_numbers>`; not `{eq}` in code.

````{prf:definition} Of means
:label: def-sampled-metrics-consistency

```{math}
:label: eq-metrics-ties

x = 1
```
````

````{admonition} Proof
:class: dropdown

Trivial {cite:p}`KricheneRendle2020,Cochran1977`.
````

```python
{eq}`kept`
```
"""
MADE = """\
## A heading

[Figure 1.1](book/metrics.html#fig-metrics-toy), \
[(1.1)](book/metrics.html#equation-eq-metrics-mean) and [chapter 1](book/metrics.html#ch-metrics): \
ties as in \
[Krichene and Rendle (2020)](book/bibliography.html), or [your own](book/your_numbers.html); \
not `{eq}` in code.

<div class="alert alert-info">

**Definition 2.1** (Of means)

$$
x = 1 \\tag{1.2}
$$

</div>

<details><summary>Proof</summary>

Trivial ([Krichene and Rendle, 2020](book/bibliography.html); \
[Cochran, 1977](book/bibliography.html)).

</details>

```python
{eq}`kept`
```"""


def test_a_directive_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="book/start: how is the directive margin shown"):
        plain.plain("```{margin} A note\ntext\n```", "book/start")
