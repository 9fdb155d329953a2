"""What Binder would make of the project, checked without Binder.

Follows repo2docker, which builds Binder's images, in a copy of the project and an environment that
hold nothing else: the Python of runtime.txt, then postBuild. The chapters must then be there as
notebooks, and all of them run, as many at once as there are cores, with the way to the outside
barred.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chapters

# What executing a notebook takes of the environment that repo2docker starts from. That has
# JupyterLab 4 and Notebook 7, which bring both.
PROVIDED = ["ipykernel", "nbclient"]

OUTSIDE = dict.fromkeys(["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"], "127.0.0.1:9")


def wanted_python(root=chapters.ROOT):
    """The version in runtime.txt, such as "3.11"."""
    text = (root / ".binder/runtime.txt").read_text(encoding="utf-8")
    found = re.fullmatch(r"python-(3\.\d+)\s*", text)
    if not found:
        raise SystemExit(f".binder/runtime.txt must name a version such as python-3.11, not {text}")
    return found[1]


def interpreter(version):
    """That Python if this machine has it, or else this one, with a remark."""
    here = "{}.{}".format(*sys.version_info)
    if version == here:
        return sys.executable
    found = shutil.which(f"python{version}")
    can_make_environments = [found, "-c", "import ensurepip"]
    if found and subprocess.run(can_make_environments, capture_output=True).returncode == 0:
        return found
    print(f"Python {version} of runtime.txt is not on this machine; checked with {here} instead.")
    return sys.executable


def project_files(root=chapters.ROOT):
    """What is committed, or would be by `git add --all`."""
    if not (root / ".git").exists():
        raise SystemExit(f"{root} is no Git checkout, which tells what belongs to the project.")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=root, check=True, capture_output=True, encoding="utf-8"
    ).stdout
    return [name for name in listed.split("\0") if name and (root / name).is_file()]


def executed(root):
    """The pages with code cells."""
    return [page for page in chapters.pages(root) if chapters.has_cells(page, root)]


def problems(root):
    """What is wrong with a project after postBuild, one line each."""
    import nbformat

    found = []
    for page in executed(root):
        path = root / f"{page}.ipynb"
        if not path.is_file():
            found.append(f"{page}: its launch button opens {page}.ipynb, which is missing")
            continue
        try:
            notebook = nbformat.read(path, as_version=4)
            nbformat.validate(notebook)
        except (ValueError, nbformat.ValidationError) as error:
            found.append(f"{page}: not a valid notebook: {str(error).splitlines()[0]}")
            continue
        kernel = notebook.metadata.get("kernelspec", {}).get("name")
        if kernel != "python3":
            found.append(f"{page}: wants the kernel {kernel}, where Binder has python3")
    for name in re.findall(
        r"urlpath=lab/tree/([^)\s]+)", (root / "README.md").read_text(encoding="utf-8")
    ):
        if not (root / name).is_file():
            found.append(f"README.md: its badge opens {name}, which is missing")
    return found


def main():
    start = time.monotonic()

    def done(what):
        print(f"{time.monotonic() - start:5.0f} s  {what}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        root, environment = Path(folder, "project"), Path(folder, "environment")
        python = environment / "bin/python"
        variables = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
        # A reader's own kernels and settings are no part of Binder.
        variables |= {"JUPYTER_PREFER_ENV_PATH": "1"}
        variables |= {"PIP_QUIET": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        for name in ("PYTHONPATH", "VIRTUAL_ENV"):
            variables.pop(name, None)

        def run(*command):
            subprocess.run(command, cwd=root, check=True, env=variables)

        def execute(page):
            """What is printed by a page that fails, or nothing."""
            outside = {"RECSAMPLE_DATA": str(Path(folder, "data")), **OUTSIDE}
            command = [python.parent / "jupyter", "execute", f"{page}.ipynb"]
            settings = {"cwd": root, "env": {**variables, **outside}, "encoding": "utf-8"}
            ran = subprocess.run(command, capture_output=True, **settings)
            return f"{page}.ipynb failed:\n{ran.stderr}" if ran.returncode else ""

        for name in project_files():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(chapters.ROOT / name, root / name)
        run(interpreter(wanted_python()), "-m", "venv", environment)
        run(python, "-m", "pip", "install", "--constraint", "requirements.lock", *PROVIDED)
        os.chmod(root / ".binder/postBuild", 0o755)
        run("./.binder/postBuild")
        done("postBuild ran")
        found = problems(root)
        if not found:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(filter(None, pool.map(execute, executed(root))))
            done(f"{len(executed(root))} notebooks ran, {len(found)} failed")
        return "\n".join(found) or None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        failed = " ".join(map(str, error.cmd))
        sys.exit(f"Binder could not do what its files ask for, see above: '{failed}' failed.")
