"""Libraries that only parts of the package need, and how they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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


def extra(module: str) -> Any:
    """An optional library; where it is missing, the error says what installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name != library:
            raise  # the library is there, and lacks something itself
        raise ModuleNotFoundError(
            f"{library} is needed here and is not installed: "
            f'pip install "recsample[{_EXTRAS[library]}]"',
            name=library,
        ) from error
