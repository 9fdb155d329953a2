"""Chapters as tests: `pytest book` runs the code of each."""

import chapters
import pytest

collect_ignore = ["_static"]


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".md" and "```{code-cell}" in file_path.read_text(encoding="utf-8"):
        return Chapter.from_parent(parent, path=file_path)


class Chapter(pytest.File):
    def collect(self):
        yield Cells.from_parent(self, name="cells")


class Cells(pytest.Item):
    def runtest(self):
        chapters.run(self.path)

    def repr_failure(self, excinfo):
        """The cell, and where in the chapter's own process it failed."""
        return str(excinfo.value.__cause__ or excinfo.value)
