"""How studies are run, summed up and kept; record.py has the list of them.

A study is a grid of cells and a function from a cell to rows. A cell is a dictionary of parameters,
the seed among them. A row of the record has the parameters of its cell and what was measured, so
that each can be measured again by itself.
"""

import csv
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "recsample/data/records"


class Study(NamedTuple):
    """What is measured, and where it is kept."""

    file: Path
    cells: list[dict]
    measure: Callable  # from a random generator and the parameters to rows
    digits: int  # after the decimal point


def grid(**axes):
    """A cell for each combination of values; what is no list is the same in all."""
    lists = [values if isinstance(values, list) else [values] for values in axes.values()]
    return [dict(zip(axes, values)) for values in product(*lists)]


def rms(errors):
    return np.sqrt((errors**2).mean())


SHARES = ["held", "held for all", "low held", "high held", "held for others", "contradicted"]
SHARES += ["decided", "right", "reached", "enough", "width 0"]
SUMMARY = dict.fromkeys([*SHARES, "low", "high"], "mean") | {
    "width": "median",
    "cost": "median",
    "error": rms,
}


def over_runs(runs, by=("method", "metric"), **summary):
    """Rows, as a table, from what each run of a cell yields: dictionaries of single outcomes.

    Shares are means of what is true or false in each run, errors root mean squares; `summary` has
    other columns. What is NaN in a run counts in none of them.
    """
    table = pd.DataFrame(runs)
    how = {one: (SUMMARY | summary)[one] for one in table.columns.drop([*by])}
    return table.astype(dict.fromkeys(how, float)).groupby([*by], sort=False).agg(how).reset_index()


def measured(study, cell):
    """The rows of a cell."""
    parameters = {name: value for name, value in cell.items() if name != "seed"}
    table = study.measure(np.random.default_rng(cell["seed"]), **parameters)
    return [cell | row for row in table.round(study.digits).to_dict("records")]


def run(study):
    """Measure the cells that the record lacks, and write it after each of them."""
    names = list(dict.fromkeys(name for cell in study.cells for name in cell))

    def key(row):
        return tuple(str(row.get(name, "")) for name in names)

    of_cell = {key(cell): [] for cell in study.cells}
    for row in read(study.file):
        if key(row) in of_cell:
            of_cell[key(row)].append(row)
    missing = [cell for cell in study.cells if not of_cell[key(cell)]]
    with ProcessPoolExecutor() as pool:
        running = {pool.submit(measured, study, cell): cell for cell in missing}
        for done in tqdm(as_completed(running), study.file.name, len(running)):
            if not done.exception():  # after hours the other cells are wanted all the same
                of_cell[key(running[done])] = done.result()
                write(study.file, [row for rows in of_cell.values() for row in rows])
    failed = {str(running[one]): one.exception() for one in running if one.exception()}
    if failed:
        raise RuntimeError(f"these cells were not measured, run them again: {failed}")


def read(file):
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def write(file, rows):
    columns = dict.fromkeys(column for row in rows for column in row)
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: "" if v != v else v for k, v in row.items()} for row in rows)
