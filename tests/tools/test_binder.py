"""The check of Binder's files, on a small project that is broken on purpose.

`make binder` runs the check on this project, which takes minutes.
"""

import json
import re

import binder
import chapters
import pytest


@pytest.fixture
def project(tmp_path):
    """A project of one chapter, after postBuild."""
    (tmp_path / "_toc.yml").write_text("root: book/index\nparts: []\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(
        "(https://mybinder.org?urlpath=lab/tree/book/index.ipynb)", encoding="utf-8"
    )
    (tmp_path / ".binder").mkdir()
    (tmp_path / ".binder/runtime.txt").write_text("python-3.11\n", encoding="utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "book/index.md").write_text(chapters.source("book/index"), encoding="utf-8")
    chapters.make_notebooks(tmp_path / "book", tmp_path)
    return tmp_path


def change(path, *keys, value):
    """Set what stands under some keys of a notebook."""
    notebook = part = json.loads(path.read_text(encoding="utf-8"))
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_accepts_a_project_that_works(project):
    assert binder.problems(project) == []


def test_names_a_chapter_that_is_no_notebook(project):
    (project / "book/index.ipynb").unlink()
    assert binder.problems(project) == [
        "book/index: its launch button opens book/index.ipynb, which is missing",
        "README.md: its badge opens book/index.ipynb, which is missing",
    ]


@pytest.mark.parametrize("text", ["", "{}", '{"cells": [], "nbformat": 4, "nbformat_minor": 5}'])
def test_names_a_notebook_that_does_not_open(project, text):
    (project / "book/index.ipynb").write_text(text, encoding="utf-8")
    (problem,) = binder.problems(project)
    assert problem.startswith("book/index: not a valid notebook: ")


def test_names_a_kernel_that_is_not_there(project):
    change(project / "book/index.ipynb", "metadata", "kernelspec", "name", value="recsample")
    assert binder.problems(project) == [
        "book/index: wants the kernel recsample, where Binder has python3"
    ]


def test_names_a_badge_that_leads_nowhere(project):
    (project / "README.md").write_text(
        "(https://mybinder.org?urlpath=lab/tree/index.ipynb)", encoding="utf-8"
    )
    assert binder.problems(project) == ["README.md: its badge opens index.ipynb, which is missing"]


def test_every_extra_of_the_package_is_installed_and_every_peer():
    promised = (chapters.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (extras,) = re.findall(r"\[project.optional-dependencies\]\n(.*?)\n\n", promised, re.S)
    script = (chapters.ROOT / ".binder/postBuild").read_text(encoding="utf-8")
    (installed,) = re.findall(r'--editable "\.\[(.*)\]"', script)
    assert installed.split(",") == sorted(re.findall(r"^(\w+) =", extras, re.M))
    assert "requirements-peers.txt" in script
    for line in script.splitlines():
        assert "pip install" not in line or "--constraint requirements.lock" in line


@pytest.mark.parametrize("text", ["3.11", "python-3", "python-3.11.7", "r-4.4-2025-01-01"])
def test_refuses_a_runtime_that_names_no_version(project, text):
    assert binder.wanted_python(project) == "3.11"
    (project / ".binder/runtime.txt").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="must name a version such as python-3.11"):
        binder.wanted_python(project)


def test_says_so_where_it_has_to_take_another_python(capsys):
    here = binder.interpreter("{}.{}".format(*binder.sys.version_info))
    assert capsys.readouterr().out == ""
    assert binder.interpreter("3.99") == here
    assert "Python 3.99 of runtime.txt is not on this machine" in capsys.readouterr().out


@pytest.mark.skipif(not (chapters.ROOT / ".git").exists(), reason="not a Git checkout")
def test_takes_what_git_would_commit():
    files = binder.project_files()
    assert {"README.md", ".binder/postBuild", "recsample/data/recorded_ranks.npz"} <= set(files)
    assert not [name for name in files if name.endswith(".ipynb") or name.startswith("_build/")]
