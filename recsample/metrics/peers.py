"""How other libraries value the same ranking.

`evaluate` hands a ranking to ranx, pytrec_eval, ir-measures, RecTools or implicit and returns what
the library says, one value per instance. `counterparts` lists the metrics of these libraries that
have a counterpart here: which one their name suggests, and which one has the same values.

None of the five is needed by anything else in this package. What is absent is imported nowhere and
says how it is installed.
"""

from __future__ import annotations

import ast
import csv
import importlib
import re
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import owners
from recsample._support.checks import is_one_of, numbers, positive_int, shown, whole_numbers
from recsample._support.extras import extra
from recsample._support.typing import Floats
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks


class Library(NamedTuple):
    """Another library: what is imported, what it is called on PyPI, and how it is installed.

    Parameters
    ----------
    module, distribution, install : str
        The module of its metrics, its name on PyPI, and the command that installs it.

    Examples
    --------
    >>> from recsample.metrics import peers
    >>> peers.LIBRARIES["pytrec_eval"].install
    'pip install pytrec-eval-terrier'
    """

    module: str
    distribution: str
    install: str


#: The libraries, by the names that `evaluate` takes.
LIBRARIES = {
    "ranx": Library("ranx", "ranx", "pip install ranx"),
    "pytrec_eval": Library("pytrec_eval", "pytrec-eval-terrier", "pip install pytrec-eval-terrier"),
    "ir_measures": Library("ir_measures", "ir-measures", "pip install ir-measures"),
    # With its dependencies it would ask for an old NumPy and replace implicit by a copy of it.
    "RecTools": Library(
        "rectools.metrics",
        "rectools",
        "pip install attrs pandas pydantic typeguard && pip install --no-deps rectools",
    ),
    "implicit": Library("implicit.evaluation", "implicit", "pip install implicit"),
}


class Counterpart(NamedTuple):
    """A metric of another library, and its counterpart in this package.

    Parameters
    ----------
    library, metric : str
        One of `LIBRARIES`, and what it calls the metric; `evaluate` takes both.
    namesake, same_as : str
        The metrics of this package that one would take it for, and that has the same values; empty
        where none has.
    note : str
        What it is instead, where no metric of this package is the same.

    Examples
    --------
    >>> from recsample.metrics import peers
    >>> peers.Counterpart("ranx", "map@5", "AP@5", "AP(relevant)@5").agrees
    False
    """

    library: str
    metric: str
    namesake: str
    same_as: str
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the metric is what its name suggests.

        Examples
        --------
        >>> from recsample.metrics import peers
        >>> peers.Counterpart("ranx", "mrr@5", "RR@5", "RR@5").agrees
        True
        """
        return self.namesake == self.same_as


def counterparts(k: int, library: str | None = None) -> list[Counterpart]:
    """Metrics of other libraries and their counterparts here, at a cut-off.

    Parameters
    ----------
    k : int
        The cut-off of those metrics that have one.
    library : str, optional
        The one to list.

    Returns
    -------
    list of Counterpart

    Raises
    ------
    ValueError
        For a cut-off below 1 and a library that is not known.

    Examples
    --------
    >>> from recsample.metrics import peers
    >>> [c.metric for c in peers.counterparts(5, "implicit") if c.agrees]
    ['map@5', 'ndcg@5']
    """
    k = positive_int("k", k)
    if library is not None:
        _known(library)
    table = resources.files("recsample").joinpath("data/counterparts.csv")
    found = []
    for row in csv.DictReader(table.read_text(encoding="utf-8").format(k=k).splitlines()):
        # Empty where it is the same as its namesake, a dash where no metric here is.
        row["same_as"] = {"": row["namesake"], "-": ""}.get(row["same_as"], row["same_as"])
        found.append(Counterpart(**row))
    return [one for one in found if library in (None, one.library)]


def missing(library: str) -> str:
    """Why a library cannot be used here, with the command that installs it.

    Parameters
    ----------
    library : str
        One of `LIBRARIES`; any other is refused by a ValueError.

    Returns
    -------
    str
        Empty where the library can be used.

    Examples
    --------
    >>> from recsample.metrics import peers
    >>> peers.missing("implicit")
    ''
    """
    try:
        _imported(library)
    except ImportError as error:
        return str(error)
    return ""


def evaluate(library: str, metric: str, ranks: Ranks) -> Floats:
    """What another library says of the same ranking.

    Parameters
    ----------
    library : str
        One of `LIBRARIES`.
    metric : str
        Its name there: ``"map@5"`` for ranx, ``"map_cut_5"`` for pytrec_eval, ``"AP@5"`` for
        ir_measures; for RecTools the expression that makes it, ``"MAP(k=5)"``; for implicit what
        `ranking_metrics_at_k` returns at which K, ``"map@5"``.
    ranks : Ranks
        Without ties, and with a relevant item for every instance.

    Returns
    -------
    ndarray of float, shape (instances,)

    Raises
    ------
    ImportError
        If the library cannot be imported; the message has the command that installs it.
    ValueError
        For an unknown library, a metric that it does not know or that has several values, ties, and
        an instance without relevant item.

    Notes
    -----
    ranx compiles itself at its first use, which takes minutes, unless the environment variable
    ``NUMBA_DISABLE_JIT`` is 1 before it is imported. That will do for a few hundred instances.

    Examples
    --------
    implicit calls precision what is divided by the best number of hits, min(k, relevant):

    >>> from recsample import Ranks
    >>> from recsample.metrics import peers
    >>> ranks = Ranks([[1, 4, 9], [1, 4, 9, 10, 11, 12, 13, 14]], n_items=20)
    >>> peers.evaluate("implicit", "precision@5", ranks)
    array([0.66666667, 0.4       ])
    """
    check_ranks(ranks)
    if ranks.rows.ties.any():
        raise ValueError(f"ranks must have no ties, got {ranks}; evaluate_scores takes tied scores")
    scores = [np.arange(n, 0, -1) for n in ranks.n_relevant + ranks.n_irrelevant]
    return evaluate_scores(library, metric, scores, [np.atleast_1d(r) - 1 for r in ranks.values])


def evaluate_scores(
    library: str, metric: str, scores: Sequence[ArrayLike], relevant: Sequence[ArrayLike]
) -> Floats:
    """What another library says of given scores, which it sorts itself.

    With equal scores the library decides on the order. Only RecTools is given an order, in which
    items with equal scores stand by their numbers. ranx, pytrec_eval and ir_measures know an item
    by a name, and the names sort as the numbers do. pytrec_eval, and with it most of ir_measures,
    compares scores in single precision: what differs by less than a part in ten million is equal.

    Parameters
    ----------
    library, metric : str
        As of `evaluate`.
    scores : sequence of array_like of float
        The scores of the items 0, 1, ... of each instance, higher is better, none of them NaN.
    relevant : sequence of array_like of int
        The relevant items of each instance; one that is listed twice counts once. One beyond the
        scores was not retrieved; implicit, which ranks all items itself, knows no such items.

    Returns
    -------
    ndarray of float, shape (instances,)

    Raises
    ------
    ImportError, ValueError
        As `evaluate`, and for what is no list of scores and items.

    Examples
    --------
    Two items have the same score. implicit puts the one with the higher number first:

    >>> from recsample.metrics import peers
    >>> peers.evaluate_scores("implicit", "map@2", [[0.5, 0.5], [0.5, 0.5]], [[0], [1]])
    array([0.5, 1. ])
    """
    module = _imported(library)
    if not isinstance(metric, str):
        raise ValueError(f"metric must be a name such as 'map@5', got {shown(metric)}")
    rows = [row.astype(float) for row in _lists("scores", scores, numbers)]
    items = [np.unique(row) for row in _lists("relevant", relevant, _items)]
    for where, row in enumerate(rows):
        if np.isnan(row).any():
            item = int(np.argmax(np.isnan(row)))
            raise ValueError(f"scores[{where}] must not be NaN, got NaN for item {item}")
    if len(rows) != len(items):
        raise ValueError(
            f"relevant must have one entry for each of {len(rows)} instances, got {len(items)}"
        )
    if not all(map(len, items)):
        where = [len(row) for row in items].index(0)
        raise ValueError(f"every instance must have a relevant item, got none in instance {where}")
    # trec_eval's C code, behind two of the libraries, ends the whole process at a cut-off of 0.
    if re.search(r"(?<![\d.])0+(?![\d.])", metric):
        raise ValueError(f"metric must have a cut-off of at least 1, got {metric!r}")
    try:
        with _their_warnings_ignored():
            values = np.array(_EVALUATE[library](module, metric, rows, items), dtype=float)
    except Exception as error:  # each library refuses in a way of its own
        raise ValueError(
            f"metric must be one that {library} computes, got {metric!r} ({error})"
        ) from error
    if values.shape != (len(rows),):
        raise ValueError(
            f"metric must have one value for each of {len(rows)} instances, "
            f"got {metric!r} with {values.size}"
        )
    return values


def _lists(name, values, checked):
    """One array per instance, each of them checked."""
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise ValueError(f"{name} must hold one list for each instance, got {shown(values)}")
    lists = []
    for where, row in enumerate(values):
        lists.append(checked(f"{name}[{where}]", row))
        if lists[-1].ndim != 1:
            raise ValueError(f"{name}[{where}] must be a list, got {shown(row)}")
    if not lists:
        raise ValueError(f"{name} must hold at least one instance, got none")
    return lists


def _items(name, values):
    return whole_numbers(name, values, lowest=0)


def _known(library):
    if not is_one_of(library, LIBRARIES):
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}, got {shown(library)}")


def _imported(library):
    """The module of a library; an ImportError where it cannot be imported."""
    _known(library)
    try:
        with _their_warnings_ignored():
            return importlib.import_module(LIBRARIES[library].module)
    except ImportError as error:
        raise ImportError(
            f"{library} cannot be imported ({error}); {LIBRARIES[library].install}"
        ) from error


@contextmanager
def _their_warnings_ignored():
    """What their code does in a deprecated way is for them to mend, and changes no value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _by_name(scores, relevant):
    """The run and the judgements, as dictionaries of dictionaries by instance and item."""
    run, judged = {}, {}
    for instance, (row, items) in enumerate(zip(scores, relevant)):
        run[f"{instance:09}"] = {f"{item:09}": score for item, score in enumerate(row.tolist())}
        judged[f"{instance:09}"] = {f"{item:09}": 1 for item in items}
    return run, judged


def _ranx(ranx, metric, scores, relevant):
    run, judged = _by_name(scores, relevant)
    return ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), metric, return_mean=False)


def _pytrec_eval(pytrec_eval, metric, scores, relevant):
    run, judged = _by_name(scores, relevant)
    found = pytrec_eval.RelevanceEvaluator(judged, {metric}).evaluate(run)
    return [value for instance in run for value in found[instance].values()]


def _called(known, metric):
    """What an expression such as ``MAP(k=5)`` makes, by what is known of that name."""
    call = ast.parse(metric, mode="eval").body
    # Constants only, among which Python counts no negative number.
    options = {option.arg: option.value.value for option in call.keywords}
    return known[call.func.id](*[one.value for one in call.args], **options)


def _ir_measures(ir_measures, metric, scores, relevant):
    run, judged = _by_name(scores, relevant)
    # Its own reader of such names, `parse_measure` of 0.4.3, fails at numbers under Python 3.14.
    name, options, cutoff = re.fullmatch(r"(\w+)(\(.*\))?(?:@([\d.]+))?", metric).groups()
    measure = _called(ir_measures.measures.registry, name + (options or "()"))
    if cutoff:
        measure = measure @ ast.literal_eval(cutoff)
    found = ir_measures.iter_calc([measure], judged, run)
    by_instance = {value.query_id: value.value for value in found}
    return [by_instance[instance] for instance in run]


def _rectools(metrics, metric, scores, relevant):
    pd = extra("pandas")
    ranked = [np.argsort(-row, kind="stable") for row in scores]
    ranking, wanted = (
        pd.DataFrame(
            {
                "user_id": owners(np.array([len(row) for row in lists])),
                "item_id": np.concatenate(lists),
                "rank": np.concatenate([np.arange(1, len(row) + 1) for row in lists]),
            }
        )
        for lists in (ranked, relevant)
    )
    return _called(vars(metrics), metric).calc_per_user(ranking, wanted)


def _implicit(evaluation, metric, scores, relevant):
    from implicit.bpr import BayesianPersonalizedRanking
    from scipy import sparse

    # A model of one factor that nobody trained: the factor of an item is its score.
    model = BayesianPersonalizedRanking(factors=1, use_gpu=False, num_threads=1)
    model.user_factors = np.ones((1, 1))
    name, _, k = metric.partition("@")
    values = []
    for row, items in zip(scores, relevant):
        model.item_factors = row[:, None]
        shape = (1, len(row))
        test = sparse.csr_matrix((np.ones(len(items)), (0 * items, items)), shape=shape)
        found = evaluation.ranking_metrics_at_k(
            model, sparse.csr_matrix(shape), test, K=int(k), show_progress=False
        )
        values.append(found[name])
    return values


_EVALUATE = {
    "ranx": _ranx,
    "pytrec_eval": _pytrec_eval,
    "ir_measures": _ir_measures,
    "RecTools": _rectools,
    "implicit": _implicit,
}
