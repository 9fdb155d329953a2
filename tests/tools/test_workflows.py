"""Whatever runs by itself, or is told to a reader, names commands that exist."""

import os
import re

import chapters
import pytest
import yaml

ROOT = chapters.ROOT
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
PROMISED = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYTHON = re.findall(r"Python :: (3\.\d+)", PROMISED)


def workflow(path):
    """A workflow and its jobs' steps."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found, [step for job in found["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_exists(path):
    whole, steps = workflow(path)
    assert True in whole and whole["name"]  # YAML 1.1 takes the key `on` for true
    for job in whole["jobs"].values():
        assert set(job.get("needs", [])) <= set(whole["jobs"])
    for step in steps:
        assert ("uses" in step) != ("run" in step), step
        for command in step.get("run", "").splitlines():
            program, *arguments = command.split()
            if program == "make":
                assert arguments[0] in TARGETS, command
            else:
                assert os.access(ROOT / program, os.X_OK), command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_actions_of_a_version_and_pythons_of_the_package(path):
    whole, steps = workflow(path)
    for step in steps:
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1")), step
    assert set(re.findall(r"\b3\.\d+\b", path.read_text(encoding="utf-8"))) <= set(PYTHON)


def test_every_week_the_newest_libraries_are_tried_on_every_python():
    whole, steps = workflow(ROOT / ".github/workflows/tests.yml")
    assert [entry["cron"].split()[4] for entry in whole[True]["schedule"]] == ["1"]
    assert {".ci/run", "make oldest PYTHON=python"} <= {step.get("run") for step in steps}
    everything, unit = whole["jobs"]["everything"], whole["jobs"]["unit"]
    full = [
        step["with"]["python-version"]
        for step in everything["steps"]
        if "python" in str(step.get("uses"))
    ]
    assert sorted(full + unit["strategy"]["matrix"]["python"]) == sorted(PYTHON)


def test_the_book_is_published_only_if_all_else_passed():
    jobs = workflow(ROOT / ".github/workflows/tests.yml")[0]["jobs"]
    (publishing,) = [name for name, job in jobs.items() if "deploy-pages" in str(job)]
    assert set(jobs[publishing]["needs"]) == set(jobs) - {publishing}
    assert jobs[publishing]["if"] == "github.ref == 'refs/heads/main'"
    # Without a condition such as always(), a job runs only if those that it needs succeeded.


def test_every_python_of_the_package_is_named_wherever_pythons_are():
    first, last = PYTHON[0], PYTHON[-1]
    assert PYTHON == [f"3.{minor}" for minor in range(int(first[2:]), int(last[2:]) + 1)]
    assert f'requires-python = ">={first}"' in PROMISED
    for name in ["CONTRIBUTING.md", "Makefile", "README.md", "requirements.txt"]:
        spans = re.findall(r"3\.\d+ to 3\.\d+", (ROOT / name).read_text(encoding="utf-8"))
        assert spans and set(spans) == {f"{first} to {last}"}, name
    compared = re.search(
        r"\((3, \d+)\) <= .* <= \((3, \d+)\)", (ROOT / "Makefile").read_text(encoding="utf-8")
    )
    assert [bound.replace(", ", ".") for bound in compared.groups()] == [first, last]


@pytest.mark.parametrize(
    "path", [".ci/run", ".pre-commit-config.yaml", "CONTRIBUTING.md", "README.md", "Makefile"]
)
def test_commands_that_a_reader_is_told_exist(path):
    # on a line of its own, in backquotes, or after `entry:`
    named = re.findall(
        r"(?:^|`|^# |entry: )\s*make (\w+)", (ROOT / path).read_text(encoding="utf-8"), re.M
    )
    assert named and set(named) <= set(TARGETS)


def test_no_target_is_taken_for_a_file():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    assert sorted(phony.split()) == sorted(TARGETS)


def test_the_lower_bounds_are_the_same_for_users_and_for_the_tests():
    promised = dict(
        re.findall(r'"([a-z]+)>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    )
    del promised["setuptools"]  # which builds the package, and is not needed after that
    tested = dict(
        re.findall(
            r"^(\w+)>=([\d.]+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M
        )
    )
    assert set(promised) >= {"numpy", "scipy", "pandas", "matplotlib", "implicit", "pooch", "tqdm"}
    assert promised == {name: tested[name] for name in promised}


def test_hooks_run_what_the_environment_has():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    installed = {"trailing-whitespace-fixer", "end-of-file-fixer"}  # by pre-commit-hooks
    for hook in hooks[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"] == "make lint" or hook["entry"].removeprefix(".venv/bin/") in installed
