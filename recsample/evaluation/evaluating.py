"""From scores and held-out items, in dataframes of any library, to a table with limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import frames
from recsample._support.checks import generator, is_one_of, shown
from recsample._support.errors import InputError, Naming
from recsample._support.extras import extra
from recsample._support.typing import Rng
from recsample.evaluation.grades import check_found, uses_grades
from recsample.evaluation.groups import column_by_user, group_numbers
from recsample.evaluation.infer import infer
from recsample.evaluation.match import match_ids
from recsample.evaluation.options import REPORTED, check_together
from recsample.evaluation.rank import rank
from recsample.evaluation.reporting import USUAL, refuse_corrections
from recsample.evaluation.results import Result, recorded
from recsample.evaluation.runs import runs_of
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AUC
from recsample.ranks.sources import WholeRows
from recsample.sampling.base import Sampler

__all__ = ["evaluate"]

# From so many users on it is no accident that all have the same held-out item.
_FEW = 20


@recorded
def evaluate(
    scores: Any,
    held_out: Any,
    *,
    train: Any = None,
    items: ArrayLike | None = None,
    among: Any = None,
    unlisted: str | None = None,
    drawn: str | None = None,
    relevance: Any = ...,
    groups: Any = None,
    run: str | None = None,
    metrics: Sequence[Metric | str] | None = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    model: str = "model",
    rng: Rng = 0,
) -> Result:
    """Evaluate recommenders: from scores and held-out items to a table with limits.

    Users and items are matched by their ids, in any order. For each user the held-out items are
    ranked among all items, without those that the user has in `train`, or among what `among`,
    `unlisted` and `drawn` say. Items with the same score share their places, and metrics are
    averaged over the orders of these.

    Parameters
    ----------
    scores : mapping of str to scores, or scores
        Of each recommender, higher is better. One of:

        - a dataframe with the columns `user`, `item` and `score`: of all pairs, or of some;
        - an array, shape (users, items); a pair of factors; or an object with ``scores(users)``,
          which gives such an array for some users. Users and items are then numbered from 0, in
          all tables too.

        A pair without a row, or with the score -inf, is not listed. Several recommenders may stand
        in one dataframe, told apart by the column `model`.
    held_out : dataframe, array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant items: columns `user` and `item`; a pandas.Series of items with the users as
        its index; the item of each user of an array or of factors; or a matrix, in which entries
        above 0 are the relevant items. These users are evaluated.
    train : dataframe, pandas.Series, or sparse matrix, shape (users, items), optional
        What each user knows already, which is not ranked: pairs as in `held_out`, or the non-zeros
        of a matrix.
    items : array_like, or int, optional
        The catalogue: the ids of the items that can be recommended, of arrays the numbers of their
        columns; or how many there are. By default all in the other tables. Needed where lists are
        said to be drawn uniformly and no scores are of all items.
    among : dataframe or sampler, optional
        What each held-out item is ranked among, in place of the catalogue: a dataframe with the
        columns `user` and `item`, in which held-out items may stand or not; or a `Sampler`, which
        draws, as `UniformSampling` does. What is said of draws that are not uniform is what is said
        of them in `drawn`; a sampler of your own says so by `Ranks.drawn_as`.
    unlisted : {"missed", "below", "open", "out"}, optional
        What an item is that `scores` do not list: "missed", never found, so that a held-out one
        adds nothing; "below", tied behind all that are listed; "open", behind them in an order that
        nobody knows, so that there are bounds; "out", not ranked. Needed where something is not
        listed.
    drawn : {"uniform", "popular", "unknown", "all"}, optional
        How the items were drawn that `among` or the lists hold: "uniform", at random with equal
        chances, anew for each user, without replacement; "popular", popular ones more often;
        "unknown"; "all", nothing was drawn, they are all that there is to rank. Needed of arrays
        where twenty users or more all have the same held-out item.
    relevance : str or None, optional
        The column of `held_out`, or of `train`, that says which rows are relevant: those above 0;
        other rows of `train` stay candidates. NDCG and DCG take these grades as gains, as
        `recsample.metrics.graded.ndcg` does by default (for another gain give a column of it, such
        as 2 ** grade - 1), unless items were drawn, where they are refused; for all other metrics
        every grade above 0 is relevant alike. None if every row is. Must be said where a further
        column has two values, numbers that are not all above 0, or grades.
    groups : str, mapping, dataframe, pandas.Series or array_like, optional
        Whose each user is, where one person stands as several, such as sessions: a column of
        `held_out`; the group by the user; or an array, by the number of the user. Values stay those
        of the users, and limits count groups, at least two, of which none is taken to be larger
        than the largest.
    run : str, optional
        The column of `scores` that tells runs of a recommender apart, such as its seeds. Without
        such a column scores are a mapping of runs for each recommender. A recommender has one row,
        the mean of its runs, and its limits count users and runs, as two crossed random effects.
        Runs of two recommenders that have the same names, such as folds, are compared one by one.
    metrics : sequence of Metric or str, optional
        By default Recall@10, NDCG@10, AP and AUC; not AUC where `unlisted` is "missed".
    user, item, score, model : str, optional
        Names of the columns in all dataframes.
    rng : int or numpy.random.Generator, optional
        For a sampler. Each recommender with a name has random numbers of its own, the same
        whichever others stand beside it.

    Returns
    -------
    Result
        Its table has the mean of each metric and its 95 % limits, for other users like these:
        Gaffke's, within the range that the metric can have with no other grades than these. Users
        for whom a metric is undefined are left out of it. Where "open" leaves a mean open, ``low``
        and ``high`` are its bounds for these users, there is no value, and ``assumption`` says
        "bound". With `run`, ``from_users`` and ``from_runs`` are the shares of the variance of the
        mean that other users and other runs make up, NaN of fewer than three runs. Whatever was
        left out, or does not match, is counted in ``counts``, and said in ``notes`` where it is
        more than the usual.

    Raises
    ------
    ValueError
        For something that is not listed and nothing that says what it is; for what may not stand
        together; for metrics such as AUC, which need all ranks, with "missed"; for dataframes
        without these columns, with missing values, or with a pair that has two scores; names that
        are the same as text; ids that have nothing in common; ranks in place of scores; arrays of
        other shapes; no user left to evaluate; a user in two groups or in none; runs where items
        are drawn or "open"; and a sampler that asks for more than there is.

    Notes
    -----
    What may stand together, and what the held-out items are then ranked among; all else is refused:

    ========= =========================== ============================= ============================
    among     unlisted                    drawn                         ranked among
    ========= =========================== ============================= ============================
    None      None (all is listed)        None, "all"                   the catalogue
    None      "missed", "below", "open"   None, "all"                   the catalogue
    None      "out"                       "all"                         the lists
    None      "out"                       "uniform"                     the lists; `report` tells of
                                                                        the catalogue
    None      "out"                       "popular", "unknown"          the lists, with limits for
                                                                        the catalogue
    dataframe None, "missed", "below",    "all"                         its items
              "open"
    dataframe None, "below"               "uniform", "popular",         its items, as for lists
                                          "unknown"
    sampler   None, "below"               None                          what it draws, as `report`
    ========= =========================== ============================= ============================

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import recsample as rs
    >>> held_out = pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "oil"]})
    >>> scores = pd.DataFrame(
    ...     [("ann", "tea", 0.9), ("ann", "oil", 0.1), ("bob", "tea", 0.8), ("bob", "oil", 0.7)],
    ...     columns=["user", "item", "score"],
    ... )
    >>> rs.evaluate({"mine": scores}, held_out, metrics=["MRR", "AUC"]).table["value"]
    recommender  metric
    mine         RR        0.75
                 AUC       0.50
    Name: value, dtype: float64

    Several sessions of a person are one observation in the limits:

    >>> g = np.random.default_rng(0)
    >>> sessions = np.repeat(g.normal(2, 1, 50), 4)[:, None] + g.normal(size=(200, 1))
    >>> arrays = np.hstack([sessions, g.normal(size=(200, 30))])
    >>> person, given = np.repeat(range(50), 4), {"drawn": "all", "metrics": ["AUC"]}
    >>> alone = rs.evaluate(arrays, np.zeros(200, int), **given).table.loc["AUC"]
    >>> by_person = rs.evaluate(arrays, np.zeros(200, int), groups=person, **given).table.loc["AUC"]
    >>> bool(by_person["low"] < alone["low"]), bool(by_person["value"] == alone["value"])
    (True, True)
    """
    extra("pandas")
    rng = generator(rng)
    if metrics is None:  # an item that is never found has no AUC
        metrics = [one for one in USUAL if one != AUC or not is_one_of(unlisted, ["missed"])]
    chosen = tuple(chosen_metrics(metrics))
    refuse_corrections(chosen)
    lists, sampler = _among(among)
    check_together(_KINDS[lists is not None, sampler is not None], unlisted, drawn)
    runs = None if run is None else _runs(scores, model, run, unlisted, drawn, sampler)
    columns = {"user": user, "item": item, "score": score, "model": model}
    if isinstance(groups, str):
        columns["groups"] = groups
        groups = column_by_user(held_out, user, groups)
    given = scores if runs is None else runs.scores
    matched = match_ids(given, held_out, train, items, lists, relevance, columns)
    if sampler is None:
        _refuse_one_item(matched, drawn)
    if sampler is not None or drawn in REPORTED:
        _check_drawn(matched.study, chosen)
    ranked = rank(matched, unlisted, drawn, sampler, rng)
    if ranked.missed and not ranked.best:
        check_found(chosen)
    whose = None if groups is None else group_numbers(groups, matched.study.users)
    study = infer(ranked, chosen, drawn, train is not None, whose, runs)
    return Result(study, study.findings(), {})


def _runs(scores, model, run, unlisted, drawn, sampler):
    """The scores of each run; refuse what leaves no value of a user under a run."""
    if run == model or is_one_of(run, ["user", "item", "score"]):
        raise InputError("run", "must be a column of its own").got(shown(run))
    for where, holds in (
        ("{among: is a sampler}", sampler is not None),
        (f"{{drawn: is {drawn!r}}}", drawn in REPORTED),
        ("{unlisted: is 'open'}", is_one_of(unlisted, ["open"])),
    ):
        if holds:
            allowed = Naming(f"must be {{None:left out}} where {where}")
            raise InputError("run", allowed).got(shown(run))
    return runs_of(scores, model, run)


_KINDS = {(False, False): "None", (True, False): "a dataframe", (False, True): "a sampler"}


def _among(among):
    """The dataframe, or the sampler, that is given."""
    if among is None or frames.is_frame(among):
        return among, None
    if isinstance(among, Sampler):
        return None, among
    raise InputError(
        "among",
        "must be a dataframe of users and items, a sampler such as UniformSampling(100), or None",
    ).got(shown(among))


def _refuse_one_item(matched, drawn):
    """Refuse candidates whose column for the held-out item is taken for an item."""
    study, item = matched.study, matched.study.relevant.indices
    are_rows = any(isinstance(one, WholeRows) for one in matched.sources.values())
    if drawn == "all" or matched.lists is not None or not are_rows:
        return
    if len(study.users) < _FEW or not study.one_each or np.ptp(item):
        return
    allowed = (
        "must hold different items, unless {drawn:='all'} says that scores hold all there is to "
        "rank"
    )
    raise InputError("held_out", Naming(allowed)).got(
        f"{shown(study.items[item[0]])} for each of {len(study.users):,} users",
        "if scores are of the held-out item and of what was drawn for each user, rs.report takes "
        "the ranks among these",
    )


def _check_drawn(study, metrics):
    """Refuse what ranks among drawn items do not tell."""
    grades = study.grades
    used = [m for m in metrics if grades is not None and uses_grades(m, grades)]
    if used:
        allowed = f"must leave out grades where {used[0]} is asked of drawn items"
        remedy = Naming("keep the rows that are relevant and give {relevance:=None}")
        raise InputError("relevance", allowed).got(shown(np.unique(grades)[:3].tolist()), remedy)
    if len(study.users) < 2:
        raise InputError(
            "held_out", "must leave at least two users to evaluate where items are drawn"
        ).got("1")
