"""Optional libraries, and the extras that install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where the package itself is installed from.
_SOURCE = "git+https://github.com/recsample/recsample"
# What to install for each of them: the extras of pyproject.toml.
_EXTRAS = {
    "cycler": "plots",
    "dask": "engines",
    "duckdb": "engines",
    "implicit": "models",
    "jinja2": "tables",
    "matplotlib": "plots",
    "narwhals": "tables",
    "numba": "fast",
    "pandas": "tables",
    "pooch": "data",
    "pyarrow": "files",
    "requests": "data",
    "tabulate": "tables",
    "threadpoolctl": "fast",
    "tqdm": "models",
}


class MissingExtra(ModuleNotFoundError):
    """An optional library is not installed; the message says how to install it."""


def extra(module: str, name: str | None = None) -> Any:
    """Import an optional library; where it is missing, the error says how to install it.

    That is the extra `name` where several have the library.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name != library:
            raise  # the library is there, and lacks something itself
        raise MissingExtra(
            f"{library} is needed here and is not installed: "
            f'pip install "recsample[{name or _EXTRAS[library]}] @ {_SOURCE}"',
            name=library,
        ) from error
