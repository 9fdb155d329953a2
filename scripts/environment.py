"""Make .venv: everything in requirements.txt, and the package itself in editable mode.

python scripts/environment.py [FOLDER]    FOLDER in place of .venv

Then, as far as they can be installed, the libraries of requirements-peers.txt.

Does nothing where it is up to date. Its syntax is that of any Python, so that a wrong one is
told what is wrong with it.
"""

import hashlib
import os
import shlex
import subprocess
import sys

FOLDER = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".venv")
PYTHON = os.path.join(FOLDER, "bin", "python")
STAMP = os.path.join(FOLDER, "installed")
VERSION = "{}.{}".format(*sys.version_info[:2])
PIP = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def missing():
    """What this Python lacks, as a message; empty if nothing."""
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        return (
            "{} is Python {}; recsample needs Python 3.10 to 3.13.\n"
            "Name another interpreter: make PYTHON=python3.12".format(sys.executable, VERSION)
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        return (
            "{} cannot make virtual environments: its module {} is missing.\n"
            "On Debian and Ubuntu: apt install python{}-venv. Elsewhere install Python from\n"
            "python.org, or name another interpreter: make PYTHON=python3.12"
        ).format(sys.executable, error.name, VERSION)
    return ""


def wanted():
    """The stamp of an up-to-date environment: the interpreter and place, then what is installed."""
    contents = hashlib.sha256()
    for name in ("requirements.txt", "requirements-peers.txt", "pyproject.toml"):
        with open(name, "rb") as file:
            contents.update(file.read())
    return "{} {} {}\n{}\n".format(
        sys.base_prefix, sys.version.split()[0], FOLDER, contents.hexdigest()
    )


def present():
    """The stamp of the environment as it is; empty without one."""
    if not (os.path.exists(STAMP) and os.path.exists(PYTHON)):
        return ""
    with open(STAMP) as file:
        return file.read()


def make(stamp, same_interpreter):
    """Install what is missing; from nothing unless the interpreter is the same."""
    if os.path.exists(STAMP):
        os.remove(STAMP)
    if not same_interpreter:
        # Not sys.executable, which may belong to the very environment that is replaced.
        base = os.path.join(sys.base_prefix, "bin", "python" + VERSION)
        base = base if os.path.exists(base) else sys.executable
        subprocess.check_call([base, "-m", "venv", "--clear", FOLDER])
    subprocess.check_call(PIP + ["--requirement", "requirements.txt", "--editable", "."])
    install_peers()
    with open(STAMP, "w") as file:
        file.write(stamp)


def install_peers():
    """Install what the tests compare with, line by line; what fails is named and goes missing.

    The constraint keeps the versions of requirements.txt, and nothing is compiled.
    """
    with open("requirements-peers.txt") as file:
        lines = [shlex.split(line, comments=True) for line in file]
    for line in filter(None, lines):
        options = ["--constraint", "requirements.txt", "--only-binary", ":all:"]
        if subprocess.call(PIP + options + line):
            print("{}: not installed; what compares with it is skipped.".format(" ".join(line)))
            sys.stdout.flush()


def main():
    problem = missing()
    if problem:
        return problem
    old, new = present(), wanted()
    if old == new:
        return None
    place = os.path.relpath(FOLDER)
    print("Setting up {} with Python {}; the first time takes minutes.".format(place, VERSION))
    sys.stdout.flush()
    try:
        make(new, old.split("\n")[0] == new.split("\n")[0])
    except subprocess.CalledProcessError as error:
        return "The environment is not complete, see above: '{}' failed.\nRun make again.".format(
            " ".join(error.cmd)
        )
    return None


if __name__ == "__main__":
    sys.exit(main())
