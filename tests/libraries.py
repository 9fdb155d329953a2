"""What ranx, pytrec_eval, ir-measures, RecTools and implicit say of a ranking, one value each."""

import ast
import functools
import importlib
import os
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

# Compiled, ranx takes minutes when it is first used.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# The module of their metrics, by the names that they have in the table of counterparts.
LIBRARIES = {
    "ranx": "ranx",
    "pytrec_eval": "pytrec_eval",
    "ir_measures": "ir_measures",
    "RecTools": "rectools.metrics",
    "implicit": "implicit.evaluation",
}


def modules(*names):
    """Modules by their names, whose own warnings are not ours; where one is missing a test skips.

    To be without one is a failure where REQUIRE_LIBRARIES is set, as once a week.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [importlib.import_module(name) for name in names]
        except ImportError as error:
            required = os.environ.get("REQUIRE_LIBRARIES")
            (pytest.fail if required else pytest.skip)(f"needs {names[0]}: {error}")


@functools.cache
def imported(library):
    """The module of a library, or why it cannot be imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(LIBRARIES[library])
        except ImportError as error:
            return f"{library} cannot be imported ({error}); see requirements-peers.txt"


def needed(library):
    """The module of a library; the test is skipped where it is missing."""
    module = imported(library)
    if isinstance(module, str):
        pytest.skip(module)
    return module


def evaluate(library, metric, ranks):
    """What the library says of the same ranking; the test is skipped where it is missing."""
    assert not ranks.rows.ties.any()
    scores = [np.arange(n, 0, -1) for n in ranks.sizes]
    return evaluate_scores(library, metric, scores, [np.atleast_1d(r) - 1 for r in ranks.values])


def evaluate_scores(library, metric, scores, relevant):
    """What the library says of given scores, which it sorts itself.

    With equal scores the library decides on the order. Only RecTools is given an order, in which
    items with equal scores stand by their numbers. ranx, pytrec_eval and ir_measures know an item
    by a name, and the names sort as the numbers do.
    """
    module = needed(library)
    rows = [np.asarray(row, float) for row in scores]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = _EVALUATE[library](module, metric, rows, [np.unique(items) for items in relevant])
    assert np.shape(values) == (len(rows),)
    return np.array(values, float)


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
    ranked = [np.argsort(-row, kind="stable") for row in scores]
    ranking, wanted = (
        pd.DataFrame(
            {
                "user_id": np.repeat(np.arange(len(lists)), [len(row) for row in lists]),
                "item_id": np.concatenate(lists),
                "rank": np.concatenate([np.arange(1, len(row) + 1) for row in lists]),
            }
        )
        for lists in (ranked, relevant)
    )
    return _called(vars(metrics), metric).calc_per_user(ranking, wanted)


def _implicit(evaluation, metric, scores, relevant):
    from implicit.bpr import BayesianPersonalizedRanking

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
