"""Whatever runs by itself, or is told to a reader, names commands that exist."""

import os
import re

import chapters
import pytest
import yaml

ROOT = chapters.ROOT
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


MAKEFILE, PROMISED = read("Makefile"), read("pyproject.toml")
TARGETS = re.findall(r"^(\w+):", MAKEFILE, re.M)
PYTHONS = re.findall(r"Python :: (3\.\d+)", PROMISED)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_exists(path):
    steps = [step for job in yaml.safe_load(read(path))["jobs"].values() for step in job["steps"]]
    for program, *arguments in [step["run"].split() for step in steps if "run" in step]:
        if program == "make":
            assert arguments[0] in TARGETS, arguments
        else:
            assert program in ("python", "gh", "sed") or os.access(ROOT / program, os.X_OK), program
            files = [word for word in arguments if re.search(r"\.(lock|py|toml|txt)$", word)]
            assert all((ROOT / file).is_file() for file in files), files
    # Whoever owns an action can move a tag, but not a commit.
    used = re.findall(r"uses: (.*)", read(path))
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one) for one in used)
    assert len(set(used)) == len({one.split("@")[0] for one in used})
    # What a step runs can read the credentials that a checkout leaves behind.
    checkouts = [step for step in steps if "checkout" in step.get("uses", "")]
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


@pytest.mark.parametrize("name", ["tests", "weekly"])
def test_every_python_is_tried(name):
    assert set(re.findall(r'"(3\.\d+)"', read(f".github/workflows/{name}.yml"))) == set(PYTHONS)


def test_a_release_is_published_if_everything_holds_and_without_a_password():
    text = read(".github/workflows/release.yml")
    jobs = yaml.safe_load(text)["jobs"]
    runs = [step.get("run", "").split()[:2] for step in jobs["build"]["steps"]]
    assert runs.index([".ci/run"]) < runs.index(["make", "dist"])
    assert jobs["publish"]["needs"] == "build" and "secrets." not in text
    assert all("--require-hashes" in line for line in text.splitlines() if "pip install" in line)
    assert jobs["publish"]["permissions"]["id-token"] == "write"
    assert "permissions" not in jobs["build"]  # whatever tests run may publish nothing


def test_the_book_is_published_if_it_is_built_and_checked():
    jobs = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]
    assert jobs["publish"]["if"] == "github.ref == 'refs/heads/main'"
    # Without a condition such as always(), a job runs only if the one that it needs succeeded.
    assert {"run": ".ci/run", "env": {"PYTHON": "python"}} in jobs[jobs["publish"]["needs"]][
        "steps"
    ]
    assert {"set -eu", "make test", "make book", "make pages"} <= set(read(".ci/run").splitlines())


def test_files_that_are_named_exist():
    """Wherever the project describes itself; book/name.md is to be written by the reader."""
    named = re.compile(
        r"(?<![\w/.-])(?!book/name\.md)(?:\.binder|\.github|benchmarks|book|recsample|scripts|tests)/"
        r"[\w./-]+\.(?:bib|cff|css|csv|js|json|md|mjs|py|svg|txt|yml)\b"
    )
    paths = [ROOT / ".ci/run", ROOT / ".ci/binder", ROOT / "Makefile", *WORKFLOWS]
    for pattern in ["*.md", "*.toml", "*.txt", "*.yml"]:
        paths += ROOT.glob(pattern)
    found = {(path.name, name) for path in paths for name in named.findall(read(path))}
    assert len(found) > 20
    assert {(place, name) for place, name in found if not (ROOT / name).is_file()} == set()


def test_every_python_of_the_package_is_named_wherever_pythons_are():
    first, last = PYTHONS[0], PYTHONS[-1]
    assert f'requires-python = ">={first}"' in PROMISED
    for name in ["CONTRIBUTING.md", "Makefile", "README.md", "requirements.txt"]:
        assert set(re.findall(r"3\.\d+ to 3\.\d+", read(name))) == {f"{first} to {last}"}, name


@pytest.mark.parametrize("path", [".ci/run", "CONTRIBUTING.md", "README.md", "Makefile"])
def test_commands_that_a_reader_is_told_exist(path):
    named = re.findall(r"(?:^|`|^# )\s*make (\w+)", read(path), re.M)
    assert named and set(named) <= set(TARGETS)


def test_no_target_is_taken_for_a_file():
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE.replace("\\\n", ""), re.M)[1]
    assert sorted(phony.split()) == sorted(TARGETS)


def test_binder_has_every_extra_of_the_package_and_every_peer():
    (extras,) = re.findall(r"\[project.optional-dependencies\]\n(.*?)\n\n", PROMISED, re.S)
    script = read(".binder/postBuild")
    (installed,) = re.findall(r'--editable "\.\[(.*)\]"', script)
    assert installed.split(",") == sorted(re.findall(r"^(\w+) =", extras, re.M))
    assert "requirements-peers.txt" in script and "--constraint requirements.lock" in script
