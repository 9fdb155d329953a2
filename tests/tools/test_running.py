"""What makes cells run in a browser, without the browser: running.py, and cells.py of the page."""

import asyncio
import json
import sys
import types
import zipfile

import chapters
import pytest
from sphinx.errors import ExtensionError
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


def test_a_reason_that_is_not_on_the_list_is_refused():
    with pytest.raises(ExtensionError, match="must be one of compiled, .* got 'whim'"):
        running.cells_of(PAGE.replace("compiled", "whim"))


def test_reasons_are_those_of_some_chapter():
    used = {
        told["elsewhere"]
        for page in chapters.pages()
        if chapters.has_cells(page)
        for _, told in running.cells_of(chapters.source(page))
        if "elsewhere" in told
    }
    assert used == set(running.REASONS.values())


def test_what_is_packed_is_pure_python_and_the_same_every_time(tmp_path):
    (tmp_path / "a.py").write_text("a", encoding="utf-8")
    (tmp_path / "b.so").write_bytes(b"b")
    files = {tmp_path / name: f"in/{name}" for name in ("b.so", "a.py", "absent.py")}
    for name in ("first.zip", "second.zip"):
        running.write(tmp_path / name, files, {"in/METADATA": "x"})
    with zipfile.ZipFile(tmp_path / "first.zip") as packed:
        assert packed.namelist() == ["in/a.py", "in/METADATA"]
    first, second = [(tmp_path / f"{name}.zip").read_bytes() for name in ("first", "second")]
    assert first == second


def test_a_runtime_beside_the_book_is_the_one_that_is_loaded(tmp_path):
    html, runtime = tmp_path / "html", tmp_path / "runtime"
    (html / running.FOLDER).mkdir(parents=True)
    runtime.mkdir()
    assert "must name a folder with Pyodide" in running.lay_runtime(html, runtime)
    (runtime / "pyodide-lock.json").write_text("{}", encoding="utf-8")
    assert running.lay_runtime(html, runtime) is None
    settings = json.loads((html / running.FOLDER / "runtime.json").read_text(encoding="utf-8"))
    assert settings["runtime"] == "pyodide/"
    assert (html / running.FOLDER / "pyodide/pyodide-lock.json").exists()


@pytest.fixture
def cells(monkeypatch):
    """cells.py, in a Python that has no browser around it."""
    ffi = types.SimpleNamespace(JsException=type("JsException", (Exception,), {}))
    monkeypatch.setitem(sys.modules, "pyodide", types.SimpleNamespace(ffi=ffi))
    monkeypatch.setitem(sys.modules, "pyodide.ffi", ffi)
    monkeypatch.syspath_prepend(chapters.ROOT / "book/_static/running")
    import numpy as np

    for name in ("bincount", "repeat"):
        monkeypatch.setattr(np, name, getattr(np, name))  # which cells.py replaces
    monkeypatch.delitem(sys.modules, "cells", raising=False)
    import cells

    yield cells
    sys.modules.pop("cells")


def outputs(cells, source, load=None, **how):
    async def nothing(names):
        return False

    return json.loads(asyncio.run(cells.run(source, load or nothing, "test", **how)))


def test_a_cell_shows_what_it_prints_and_its_last_value(cells):
    assert outputs(cells, "1\nprint('a')\n2") == [["text", "a\n"], ["text", "2\n"]]
    assert outputs(cells, "1\n2;") == []
    assert outputs(cells, "1\nx = 2\nx", every=True) == [["text", "1\n"], ["text", "2\n"]]


def test_an_error_is_told_with_the_lines_of_the_cell(cells):
    ((kind, text),) = outputs(cells, "def f():\n    return 1 / 0\nf()")
    assert kind == "error" and "Line 3" in text and "Line 2, in f" in text
    assert text.rstrip().endswith("ZeroDivisionError: division by zero")
    assert "cells.py" not in text


def test_a_missing_library_is_loaded_and_the_statement_starts_again(cells, monkeypatch):
    asked = []

    async def load(names):
        asked.extend(names)
        if "absent_library" in names and len(asked) > 1:
            monkeypatch.setitem(sys.modules, "absent_library", types.ModuleType("absent_library"))
            return True
        return False

    source = "begun = []\ndef f():\n    begun.append(1)\n    import absent_library\nf()\nbegun"
    assert outputs(cells, source, load) == [["text", "[1, 1]\n"]]
    assert asked == ["absent_library", "absent_library"]


def test_cells_that_need_what_a_skipped_one_would_make_are_skipped(cells):
    cells.skip("import ranx\ndef ask(): pass\na, b = 1, 2", "test")
    assert outputs(cells, "c = a + 1") == [["absent", "a"]]
    assert outputs(cells, "print(c)") == [["absent", "c"]]
    assert outputs(cells, "ask()") == [["absent", "ask"]]
    assert outputs(cells, "a = 3\na") == [["text", "3\n"]]
    assert outputs(cells, "a") == [["text", "3\n"]]


def test_whole_numbers_of_64_bits_are_narrowed_only_if_they_fit(cells):
    import numpy as np

    assert cells._narrow(np.array([1, 2], np.int64)).dtype == np.intp
    wide = np.array([2**40], np.int64)
    assert cells._narrow(wide) is wide
    assert np.bincount(np.array([0, 1, 1], np.int64)).tolist() == [1, 2]
