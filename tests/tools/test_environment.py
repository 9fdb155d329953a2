"""What `make` installs and prints, with stand-ins for programs that write down what they are told.

Every other target begins with the real `make environment`. And the lock, without installing it.
"""

import os
import re
import shutil
import subprocess
import sys
from itertools import product

import chapters
import pytest
from packaging.requirements import Requirement

LISTS = ["requirements.txt", "requirements-peers.txt", "pyproject.toml", "requirements.lock"]

# Runs one-liners in the real interpreter, which takes itself for another; `-m venv --clear FOLDER`
# makes a folder with the programs of an environment.
PYTHON = """\
#!/bin/sh
case "$1" in
--version) echo "Python {version}" ;;
-c) exec {real} -c '
import sys
sys.version, sys.version_info = "{version}", {version_info}
{lacks}
exec(sys.argv[1])' "$2" ;;
*) echo "$@" >> {log}; rm -rf "$4"; mkdir -p "$4"; cp -r {programs} "$4/bin" ;;
esac
"""

# The environment's own Python: `-m pip install` and `-m pip config list`.
PIP = """\
#!/bin/sh
case "$3" in
config) printf "%b" "$PIP_CONFIG" ;;
*) echo "$@" >> {log} ;;
esac
"""

BOOK = """\
#!/bin/sh
echo "a line of the build"
echo "[IPKernelApp] WARNING | Kernel is running over TCP without encryption." >&2
echo "$REASON" >&2
test -z "$REASON" || exit 3
"""

UV = """\
#!/bin/sh
echo "uv $@ from '$UV_DEFAULT_INDEX'" >> {log}
case "$*" in *"$REFUSED"*) echo "uv: there is no wheel" >&2; exit 1 ;; esac
"""


class Project:
    """The Makefile and its lists in a folder of their own."""

    def __init__(self, folder):
        self.folder, self.log, programs = folder / "project", folder / "log", folder / "bin"
        self.folder.mkdir()
        programs.mkdir()
        for name in ["Makefile", "requirements-others.txt", *LISTS]:
            shutil.copy(chapters.ROOT / name, self.folder)
        write_program(programs / "python", PIP.format(log=self.log))
        write_program(programs / "uv", UV.format(log=self.log))
        write_program(programs / "jupyter-book", BOOK)
        self.python("python3")

    def python(self, name, version=(3, 12, 1), lacks=""):
        """An interpreter of that version, without a module perhaps."""
        lacks = f'sys.modules["{lacks}"] = None' if lacks else "pass"
        text = PYTHON.format(
            real=sys.executable,
            version=".".join(map(str, version)),
            version_info=version,
            lacks=lacks,
            log=self.log,
            programs=self.folder.parent / "bin",
        )
        write_program(self.folder / name, text)
        return f"./{name}"

    def make(self, *words, python="./python3", target="environment", **variables):
        """Run `make TARGET WORDS`; the finished process, and the commands given meanwhile."""
        self.log.write_text("", encoding="utf-8")
        theirs = ("UV_", "MAKE", "VENV", "LOCK")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(theirs)}
        unlikely = {"REFUSED": "nothing is refused", "PIP_CONFIG": ""}
        process = subprocess.run(
            ["make", target, f"PYTHON={python}", *words],
            cwd=self.folder,
            env={**inherited, **unlikely, **variables},
            capture_output=True,
            encoding="utf-8",
        )
        return process, self.log.read_text(encoding="utf-8").splitlines()


def write_program(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_makes_everything_on_a_fresh_machine(project):
    process, commands = project.make()
    assert process.returncode == 0 and process.stderr == ""
    assert commands[0] == "-m venv --clear .venv"
    assert commands[1].startswith("-m pip install ")
    assert commands[1].endswith(" --constraint requirements.lock uv")
    assert "--requirement requirements.txt --editable ." in commands[2]
    assert all("--constraint requirements.lock " in command for command in commands[2:])
    peers = [command.split("--no-build ")[1].split(" from")[0] for command in commands[3:]]
    assert peers[0].startswith("pytrec-eval-terrier>=") and len(peers) == 10
    assert '--no-deps rectools==0.19.0;python_version<"3.14"' in peers


@pytest.mark.parametrize(
    ("words", "variables"), [(["LOCK="], {}), ([], {"UV_RESOLUTION": "lowest-direct"})]
)
def test_without_the_lock_the_lists_alone_say_what_is_installed(project, words, variables):
    project.make()
    process, commands = project.make(*words, **variables)
    assert process.returncode == 0 and commands[0] == "-m venv --clear .venv"
    assert not [command for command in commands if ".lock" in command]
    assert all("--constraint requirements.txt " in command for command in commands[1:])


def test_does_nothing_where_nothing_changed(project):
    project.make()
    process, commands = project.make()
    assert process.returncode == 0 and commands == []


@pytest.mark.parametrize("name", LISTS)
def test_installs_again_when_a_list_changes(project, name):
    project.make()
    later = (project.folder / ".venv/installed").stat().st_mtime + 1
    os.utime(project.folder / name, (later, later))
    process, commands = project.make()
    assert process.returncode == 0
    assert len(commands) == 11 and all(command.startswith("uv pip install") for command in commands)


def test_another_interpreter_or_another_place_makes_another_environment(project):
    project.make()
    other = project.python("other", (3, 13, 0))
    first = project.make(python=other)
    project.folder = project.folder.rename(project.folder.with_name("renamed"))
    for process, commands in (first, project.make(python=other)):
        assert process.returncode == 0 and len(commands) == 13
        assert commands[0] == "-m venv --clear .venv"


@pytest.mark.parametrize("minor", [10, 11, 12, 13, 14])
def test_accepts_every_python_of_the_package(project, minor):
    process, commands = project.make(python=project.python("python", (3, minor, 0)))
    assert process.returncode == 0 and len(commands) == 13


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 9, 18), (3, 15, 0)])
def test_refuses_another_python_by_name(project, version):
    process, commands = project.make(python=project.python("python", version))
    assert process.returncode and commands == []
    said = "recsample needs Python 3.10 to 3.14. ./python is: Python {}.{}.{}\n".format(*version)
    assert said in process.stderr
    assert "make PYTHON=/path/to/python3.12" in process.stderr


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_says_which_module_is_missing(project, module):
    process, commands = project.make(python=project.python("python", lacks=module))
    assert process.returncode and commands == []
    assert f"import of {module} halted" in process.stderr
    assert "./python cannot make virtual environments" in process.stderr
    assert "apt install python3-venv" in process.stderr


def test_the_other_libraries_are_installed_beside_as_far_as_they_can_be_had(project):
    process, commands = project.make(target="peers", REFUSED="lenskit")
    assert process.returncode == 0 and commands[0] == "-m venv --clear build/peers"
    assert re.findall("^(.*): not installed", process.stdout, re.M) == ["lenskit>=2025.8"]
    assert "there is no wheel" in process.stderr
    assert "--no-deps recbole==1.2.1 from ''" in commands[-2]
    assert commands[-1].startswith("-m pytest ") and "test_other_libraries.py" in commands[-1]
    assert not [command for command in commands if ".lock" in command]


def test_without_a_requirement_the_environment_is_not_taken_for_complete(project):
    process, commands = project.make(REFUSED="--editable")
    assert process.returncode and len(commands) == 3
    process, commands = project.make()
    assert process.returncode == 0 and len(commands) == 11


@pytest.mark.parametrize(
    ("configured", "index"),
    [
        ("", ""),
        ("global.index-url='http://a/simple'\\n", "http://a/simple"),
        (":env:.index-url='http://b/'\\nglobal.index-url='http://a/'\\n", "http://b/"),
        ("global.extra-index-url='http://c/simple'\\nglobal.timeout='9'\\n", ""),
    ],
)
def test_uv_asks_the_mirror_that_pip_is_told_to_ask(project, configured, index):
    process, commands = project.make(PIP_CONFIG=configured)
    assert process.returncode == 0 and len(commands) == 13
    assert all(command.endswith(f" from '{index}'") for command in commands[2:])


def test_uv_keeps_its_own_settings(project):
    _, commands = project.make(PIP_CONFIG="global.index-url='http://a/'\n", UV_DEFAULT_INDEX="d")
    assert all(command.endswith(" from 'd'") for command in commands[2:])


def test_a_book_that_is_built_says_little(project):
    process, _ = project.make(target="book", REASON="")
    assert process.returncode == 0 and process.stderr == ""
    assert process.stdout.splitlines()[1:] == [
        "Executing every chapter, as many at once as there are cores.",
        "Building the pages.",
    ]


def test_a_book_that_is_not_built_says_why(project):
    process, _ = project.make(target="book", REASON="a broken reference")
    assert process.returncode == 2
    assert "a line of the build\na broken reference\n" in process.stderr
    assert "IPKernelApp" not in process.stderr


def test_tests_that_fail_or_are_skipped_are_not_lost_among_those_that_pass(tmp_path):
    (tmp_path / "test_many.py").write_text(
        """\
import pytest
@pytest.mark.parametrize("i", range(404))
def test_one(i):
    if i < 3:
        pytest.skip("there is no Java")
    assert i != 7, "seven is wrong"
""",
        encoding="utf-8",
    )
    path = os.pathsep.join(str(chapters.ROOT / name) for name in ["tests", "scripts", ""])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", tmp_path],
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    first, *_, last = run.stdout.splitlines()
    assert first.startswith("sssF.... ") and last.startswith("1 failed, 400 passed, 3 skipped")
    assert "seven is wrong" in run.stdout
    assert "\n3 skipped: there is no Java\n" in run.stdout


PYTHONS = re.findall(
    r"Python :: (3\.\d+)", (chapters.ROOT / "pyproject.toml").read_text(encoding="utf-8")
)
SYSTEMS = [
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("darwin", "x86_64"),
    ("darwin", "arm64"),
    ("win32", "AMD64"),
]


def listed(name):
    """The requirements of a list, without the options of a line."""
    lines = (chapters.ROOT / name).read_text(encoding="utf-8").splitlines()
    bare = [line.split("#")[0].replace("--no-deps", "").strip() for line in lines]
    return [Requirement(line) for line in bare if line]


def on(python, system, machine):
    """A machine, as markers ask for it."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": system,
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }


@pytest.mark.parametrize(("python", "system"), list(product(PYTHONS, SYSTEMS)))
def test_the_lock_holds_one_version_of_everything_that_the_lists_ask_for(python, system):
    machine = on(python, *system)
    locked = {}
    for pin in listed("requirements.lock"):
        if pin.marker is None or pin.marker.evaluate(machine):
            assert pin.name not in locked, pin
            (only,) = pin.specifier
            assert only.operator == "==" and "*" not in only.version, pin
            locked[pin.name] = only.version
    asked = listed("requirements.txt") + listed("requirements-peers.txt")
    asked = [one for one in asked if one.name != "rectools"]  # pinned there
    assert len(asked) > 50
    for one in asked:
        if one.marker is None or one.marker.evaluate(machine):
            name = one.name.replace("_", "-").lower()
            assert name in locked, f"{one}: make lock"
            assert one.specifier.contains(locked[name], prereleases=True), f"{one}: make lock"


def test_the_lock_names_no_place():
    text = (chapters.ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "/" not in text and "\\" not in text and "@" not in text and "--" not in text
