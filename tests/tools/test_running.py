"""What is laid beside the book for cells to run in a browser; tests/built runs them."""

import base64
import json
import subprocess

import chapters
from sphinx_additions import running

PAGE = """# Page

```{code-cell} ipython3
:tags: [remove-cell]

one = 1
```

```{code-cell} ipython3
:elsewhere: compiled

two = one + 1
```

```{code-cell} ipython3
:tags: [remove-output]

two
```
"""


def test_cells_hold_what_the_page_hides_and_why_some_do_not_run():
    assert running.cells_of(PAGE) == [
        (False, {"source": "one = 1"}),
        (True, {"source": "two = one + 1", "elsewhere": running.REASONS["compiled"]}),
        (True, {"source": "two", "silent": True}),
    ]


def test_reasons_are_those_of_some_chapter():
    used = {
        told["elsewhere"]
        for page in chapters.pages()
        if chapters.has_cells(page)
        for _, told in running.cells_of(chapters.source(page))
        if "elsewhere" in told
    }
    assert used == set(running.REASONS.values())


def test_what_is_packed_is_pure_python():
    names = running.files()
    assert {"recsample/__init__.py", "narwhals/__init__.py", "cells.py", "own.py"} <= set(names)
    assert not [name for name in names if name.endswith((".so", ".pyd", ".c", ".pyc"))]


def test_a_runtime_beside_the_book_is_the_one_that_is_loaded(tmp_path):
    html, runtime = tmp_path / "html", tmp_path / "runtime"
    (html / running.FOLDER).mkdir(parents=True)
    runtime.mkdir()
    assert "must name a folder with Pyodide" in running.lay_runtime(html, runtime)
    (runtime / "pyodide-lock.json").write_text("{}", encoding="utf-8")
    (html / "page.html").write_text(running.POLICY, encoding="utf-8")
    assert running.lay_runtime(html, runtime) is None
    assert "https" not in (html / "page.html").read_text(encoding="utf-8")
    settings = json.loads((html / running.FOLDER / "runtime.json").read_text(encoding="utf-8"))
    assert settings["runtime"] == "pyodide/" and "this site" in settings["loads"]
    assert (html / running.FOLDER / "pyodide/pyodide-lock.json").exists()
    command = ["openssl", "dgst", "-sha256", "-binary", runtime / "pyodide-lock.json"]
    wanted = f"sha256-{base64.b64encode(subprocess.check_output(command)).decode()}"
    assert settings["hashes"] == {"pyodide-lock.json": wanted}
