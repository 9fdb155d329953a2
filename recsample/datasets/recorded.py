"""Results recorded on MovieLens-1M, and studies that take long, which ship with the package."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recsample._support.checks import one_of
from recsample._support.extras import extra
from recsample.ranks.base import Ranks

if TYPE_CHECKING:
    import pandas as pd


def recorded_ranks() -> dict[str, Ranks]:
    """The ranks that the paper's recommenders predict on MovieLens-1M, as shipped with the package.

    For each of the 6,040 users: where the held-out movie stands among the movies without a training
    event of that user, and its ties. ``recorded_ranks.md`` beside the file says how it was made.

    Returns
    -------
    dict of str to Ranks
        ``"X"`` is ``MatrixFactorization()``, ``"Y"`` ``ItemKNN(exponent=3)`` and ``"Z"``
        ``ItemKNN(exponent=1, n_neighbors=10)``, from `recsample.recommenders`.

    Examples
    --------
    >>> from recsample.datasets.recorded import recorded_ranks
    >>> recorded_ranks()["Y"]
    <Ranks: 6040 instances, 6040 ranks, 1393 to 3687 items, 2 tied>
    """
    return _ranks_from(_arrays_in("recorded_ranks.npz"))


def recorded_several() -> dict[str, Ranks]:
    """The ranks of ten held-out movies per user of MovieLens-1M, as shipped with the package.

    Ten random events of each of the 6,040 users are held out, and the recommenders trained on the
    rest; ``recorded_several.md`` beside the file says how it was made.

    Returns
    -------
    dict of str to Ranks
        ``"X"``, ``"Y"`` and ``"Z"`` as in `recorded_ranks`, with ten relevant items per instance.

    Examples
    --------
    >>> from recsample.datasets.recorded import recorded_several
    >>> recorded_several()["Y"]
    <Ranks: 6040 instances, 60400 ranks, 1402 to 3696 items, 14 tied>
    """
    return _ranks_from(_arrays_in("recorded_several.npz"))


def _arrays_in(name):
    """The arrays of a file that ships with the package."""
    with (resources.files("recsample") / "data" / name).open("rb") as file, np.load(file) as arrays:
        return dict(arrays)


def _ranks_from(arrays):
    return {
        name: Ranks(arrays[f"rank_{name}"], arrays["n_items"], ties=arrays[f"ties_{name}"])
        for name in "XYZ"
    }


class RecordedLists(NamedTuple):
    """Ranks of X, Y and Z among lists of 99 negatives per user, and checks of the lists.

    Parameters
    ----------
    ranks : dict of str to Ranks
        Ranks of the held-out movies among the lists, for "X", "Y" and "Z", with ties counted. A
        held-out movie in its own user's list is removed there, which makes the list shorter.
    faults : pandas.Series
        By kind, the number of users whose list has the fault.
    counts, uniformity : pandas.DataFrame
        How often each item is listed, with the rounded mean and standard deviation under uniform
        draws; and the result of `recsample.sampling.list_checks.uniformity`. Candidates are all
        movies except the user's training events, and for "lowest ids" except the held-out movie.

    Examples
    --------
    >>> from recsample.datasets.recorded import recorded_lists
    >>> int(recorded_lists()["published"].faults["relevant"])
    156
    """

    ranks: dict[str, Ranks]
    faults: pd.Series
    counts: pd.DataFrame
    uniformity: pd.DataFrame


def recorded_lists() -> dict[str, RecordedLists]:
    """Ranks of X, Y and Z among given lists of 99 negatives, as shipped with the package.

    ``recorded_lists.md`` beside the file says how it was made.

    Returns
    -------
    dict of str to RecordedLists
        "published" for the lists that `load_negatives` reads, and "lowest ids" for lists of a
        sampler that keeps the lowest item numbers.

    Examples
    --------
    >>> from recsample.datasets.recorded import recorded_lists
    >>> recorded_lists()["published"].ranks["Y"]
    <Ranks: 6040 instances, 6040 ranks, 99 to 100 items, 1 tied>
    """
    pd = extra("pandas")
    arrays, found = _arrays_in("recorded_lists.npz"), {}
    for name, mark in {"published": "published_", "lowest ids": "lowest_"}.items():
        own = {key.removeprefix(mark): one for key, one in arrays.items() if key.startswith(mark)}
        counts = pd.DataFrame({column: own[column] for column in ("observed", "expected", "std")})
        found[name] = RecordedLists(
            _ranks_from(own),
            pd.Series(own["faults"].astype(np.int64), arrays["kinds"]),
            counts.rename_axis("item"),
            pd.DataFrame(own["uniformity"], arrays["tests"], arrays["columns"]),
        )
    return found


def record(name: str) -> pd.DataFrame:
    """What was measured or typed once because it takes long, as shipped with the package.

    The book's tables and figures of these studies are made from it; ``scripts/record.py`` and
    ``make bench`` of the project measure it anew.

    Parameters
    ----------
    name : str
        "coverage": how often limits, pairs and designs held in simulated studies.
        "audits", "audits_by_chances" and "audit_plans": the same of audits and their plans.
        "published": the same of limits from printed numbers. "estimates" and "estimators": errors
        of estimates. "printed_both": sampled and full metrics of four studies, where they stand
        and what is stated of the draws, sampled ones as text with all digits. Times beside other
        libraries: "exact_ranks", "counts", "corrections", "daily", "break_even", each also with
        "_2_threads" behind the name; and those of pages that run in a browser, "running_first" and
        "running_pages".

    Returns
    -------
    pandas.DataFrame
        A row for each thing measured. That of times has in its ``attrs`` when, on which machine
        and with which versions.

    Examples
    --------
    >>> from recsample.datasets.recorded import record
    >>> judged = record("audits").query("kind == 'judging' and method == 'audit'")
    >>> float(judged["held"].min())
    0.93
    """
    pd = extra("pandas")
    folder = resources.files("recsample") / "data" / "records"
    kept = {one.name.partition(".")[0]: one for one in folder.iterdir()}
    file = kept[one_of("name", name, sorted(kept))]
    with file.open(encoding="utf-8") as text:
        if file.name.endswith(".csv"):
            return pd.read_csv(text, dtype={"sampled": str})
        about = json.load(text)
    table = pd.DataFrame(about.pop("rows"))
    table.attrs = about
    return table
