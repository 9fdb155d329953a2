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
PYTHON = re.findall(r"Python :: (3\.\d+)", PROMISED)


def workflow(path):
    """A workflow and its jobs' steps."""
    found = yaml.safe_load(read(path))
    return found, [step for job in found["jobs"].values() for step in job["steps"]]


def commands(steps):
    """What the steps run, as lists of words."""
    return [line.split() for step in steps for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_exists(path):
    whole, steps = workflow(path)
    assert True in whole and whole["name"]  # YAML 1.1 takes the key `on` for true
    for step in steps:
        assert ("uses" in step) != ("run" in step), step
    for program, *arguments in commands(steps):
        if program == "make":
            assert arguments[0] in TARGETS, arguments
            for variable in re.findall(r"(\w+)=", " ".join(arguments)):
                assert re.search(rf"^{variable} \?= ", MAKEFILE, re.M), variable
        else:
            assert program == "python" or os.access(ROOT / program, os.X_OK), program
            files = [word for word in arguments if re.search(r"\.(lock|py|txt)$", word)]
            assert all((ROOT / file).is_file() for file in files), files


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_pythons_are_those_of_the_package(path):
    text = read(path)
    used = re.findall(r"uses: (.*)", text)
    # Whoever owns an action can move a tag, but not a commit.
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one) for one in used)
    assert len(set(used)) == len({one.split("@")[0] for one in used})
    assert set(re.findall(r'"(3\.\d+)"', text)) <= set(PYTHON)


def test_every_push_is_tried_on_every_python_and_every_system():
    whole, steps = workflow(ROOT / ".github/workflows/tests.yml")
    assert {"push", "pull_request"} <= set(whole[True])
    runs = whole["jobs"]["unit"]["strategy"]["matrix"]["include"]
    named = [step["with"]["python-version"] for step in steps if "setup-python" in str(step)]
    assert {run["python"] for run in runs} | set(named) >= set(PYTHON)
    systems = {run["system"] for run in runs} | {job["runs-on"] for job in whole["jobs"].values()}
    assert {"ubuntu-24.04-arm", "macos-latest", "windows-latest"} <= systems


def test_every_week_the_newest_libraries_are_tried_on_every_python():
    whole, steps = workflow(ROOT / ".github/workflows/weekly.yml")
    assert [entry["cron"].split()[4] for entry in whole[True]["schedule"]] == ["1"]
    assert whole["jobs"]["unit"]["strategy"]["matrix"]["python"] == PYTHON
    assert all("LOCK=" in words for words in commands(steps) if words[0] == "make")


def test_the_book_is_published_if_it_is_built_and_checked():
    jobs = workflow(ROOT / ".github/workflows/tests.yml")[0]["jobs"]
    (publishing,) = [job for job in jobs.values() if "deploy-pages" in str(job)]
    assert publishing["if"] == "github.ref == 'refs/heads/main'"
    # Without a condition such as always(), a job runs only if the one that it needs succeeded.
    needed = jobs[publishing["needs"]]["steps"]
    assert any("upload-pages-artifact" in str(step) for step in needed)
    (checked,) = [words for words in commands(needed) if words[0] == ".ci/run"]
    run = read(".ci/run").splitlines()
    assert {"set -eu", "make test", "make book", "make pages"} <= set(run)


def test_files_that_are_named_exist():
    """Wherever the project describes itself; book/name.md is to be written by the reader."""
    named = re.compile(
        r"(?<![\w/.-])(?!book/name\.md)(?:\.binder|\.github|benchmarks|book|recsample|scripts|tests)/"
        r"[\w./-]+\.(?:bib|cff|css|csv|js|json|md|mjs|py|svg|txt|yml)\b"
    )
    paths = [ROOT / ".ci/run", ROOT / "Makefile", *WORKFLOWS]
    for pattern in ["*.md", "*.toml", "*.txt", "*.yml", ".*.yaml"]:
        paths += ROOT.glob(pattern)
    found = {(path.name, name) for path in paths for name in named.findall(read(path))}
    assert len(found) > 20
    assert {(place, name) for place, name in found if not (ROOT / name).is_file()} == set()


def test_every_python_of_the_package_is_named_wherever_pythons_are():
    first, last = PYTHON[0], PYTHON[-1]
    assert PYTHON == [f"3.{minor}" for minor in range(int(first[2:]), int(last[2:]) + 1)]
    assert f'requires-python = ">={first}"' in PROMISED
    for name in ["CONTRIBUTING.md", "Makefile", "README.md", "requirements.txt"]:
        spans = re.findall(r"3\.\d+ to 3\.\d+", read(name))
        assert spans and set(spans) == {f"{first} to {last}"}, name
    compared = re.search(r"\((3, \d+)\) <= .* <= \((3, \d+)\)", MAKEFILE)
    assert [bound.replace(", ", ".") for bound in compared.groups()] == [first, last]


@pytest.mark.parametrize(
    "path", [".ci/run", ".pre-commit-config.yaml", "CONTRIBUTING.md", "README.md", "Makefile"]
)
def test_commands_that_a_reader_is_told_exist(path):
    # on a line of its own, in backquotes, or after `entry:`
    named = re.findall(r"(?:^|`|^# |entry: )\s*make (\w+)", read(path), re.M)
    assert named and set(named) <= set(TARGETS)


def test_no_target_is_taken_for_a_file():
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[1]
    assert sorted(phony.split()) == sorted(TARGETS)


def test_the_lower_bounds_are_the_same_for_users_and_for_the_tests():
    promised = dict(re.findall(r'"([a-z]+)>=([\d.]+)"', read("pyproject.toml")))
    del promised["setuptools"]  # which builds the package, and is not needed after that
    tested = dict(re.findall(r"^(\w+)>=([\d.]+)", read("requirements.txt"), re.M))
    assert set(promised) >= {"numpy", "scipy", "pandas", "matplotlib", "implicit", "pooch", "tqdm"}
    assert promised == {name: tested[name] for name in promised}
