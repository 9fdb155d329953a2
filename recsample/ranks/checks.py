"""Checks of the ranks that a function is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from recsample._support.checks import shown
from recsample._support.errors import InputError
from recsample._support.numerics import mean_of
from recsample._support.typing import Floats, Integers
from recsample.ranks.base import Ranks, refuse_several
from recsample.ranks.counts import RankCounts


def check_ranks(ranks: Any, name: str = "ranks") -> Ranks:
    """Return ``ranks``; raise an InputError if it is not `Ranks`."""
    if isinstance(ranks, RankCounts):
        allowed = "must be Ranks where there is a result for each instance"
        line = "counts.mean(function) is the mean over the instances of a function of Ranks"
        raise InputError(name, allowed).got("RankCounts", line)
    if not isinstance(ranks, Ranks):
        raise InputError(name, "must be Ranks").got(type(ranks).__name__)
    return ranks


def check_one_relevant(ranks: Any, name: str = "ranks") -> Ranks:
    """Return ``ranks``; refuse `Ranks` without exactly one relevant item per instance."""
    refuse_several(check_ranks(ranks, name), name)
    return ranks


def rows_of(ranks: Any, name: str = "ranks") -> tuple[Ranks, Integers | None]:
    """The `Ranks`, and how many instances each of them represents; None for one each."""
    if isinstance(ranks, RankCounts):
        return ranks.ranks, ranks.counts
    return check_ranks(ranks, name), None


def different_ranks(ranks: Ranks | RankCounts) -> tuple[Ranks, Integers | None]:
    """As `rows_of`, with each rank of a column once: one item each among as many, without ties."""
    rows, counts = rows_of(ranks)
    if counts is None and np.ptp(rows.sizes) == 0 and not rows.rows.ties.any():
        if (rows.n_relevant == 1).all():
            return rows_of(RankCounts.of(rows.rows.rank, int(rows.sizes[0])))
    return rows, counts


def of_each(values: Floats, different: Ranks, ranks: Ranks) -> Floats:
    """What the `different_ranks` of `ranks` have, for each instance."""
    if different is ranks:
        return values
    of_rank = np.zeros((int(different.rows.rank[-1]) + 1, *values.shape[1:]))  # they ascend
    of_rank[different.rows.rank] = values
    return of_rank[ranks.rows.rank]


def check_pairable(ranks: Any, name: str = "ranks") -> None:
    """Refuse counts where two recommenders are compared instance by instance."""
    if isinstance(ranks, RankCounts):
        got = "RankCounts, which do not say which ranks belong to the same instance"
        raise InputError(name, "must be Ranks to be compared instance by instance").got(got)


def check_same_instances(
    ranks_a: Any, ranks_b: Any, names: tuple[str, str] = ("ranks_a", "ranks_b")
) -> None:
    """Refuse two recommenders with different instances."""
    for ranks, name in zip((ranks_a, ranks_b), names):
        check_pairable(ranks, name)
        check_ranks(ranks, name)
    check_as_many(ranks_a, ranks_b, names)
    check_same_ids(" and ".join(names), dict(zip(names, (ranks_a, ranks_b))))


def check_as_many(
    ranks_a: Any, ranks_b: Any, names: tuple[str, str] = ("ranks_a", "ranks_b")
) -> None:
    """Refuse two recommenders with different numbers of instances."""
    if len(ranks_a) != len(ranks_b):
        got = f"{len(ranks_a)} and {len(ranks_b)}"
        raise InputError(f"{names[0]} and {names[1]}", "must have the same instances").got(got)


def check_same_ids(name: str, ranks: Mapping[str, Ranks]) -> None:
    """Refuse recommenders whose instances have different names, or another order.

    Ranks without names are assumed to have the same instances.
    """
    named = [(whose, one.ids) for whose, one in ranks.items() if one.ids is not None]
    for whose, ids in named[1:]:
        first, wanted = named[0]
        other = np.flatnonzero(ids != wanted)
        if len(other):
            at, each = other[0], [{*one.tolist()} for one in (ids, wanted)]
            line = "ranks[numpy.argsort(ranks.ids)] sorts them"
            line *= each[0] == each[1] and len(each[0]) == len(ids)
            got = f"ids that differ from instance {at} on: {shown(wanted[at])} of {first}, "
            got += f"{shown(ids[at])} of {whose}"
            allowed = "must have the same instances in the same order"
            raise InputError(name, allowed).got(got, line)


def check_recommenders(ranks: object, counted: bool = False) -> Mapping[str, Any]:
    """Return ``ranks``; refuse anything but a mapping of at least one name to `Ranks`.

    With `counted`, `RankCounts` are allowed too.
    """
    kinds = (Ranks, RankCounts) if counted else (Ranks,)
    if not isinstance(ranks, Mapping) or not all(isinstance(r, kinds) for r in ranks.values()):
        raise InputError("ranks", "must map the names of recommenders to Ranks").got(shown(ranks))
    if not ranks:
        raise InputError("ranks", "must hold at least one recommender").got("none")
    check_names("ranks", ranks)
    return ranks


def check_names(name: str, recommenders: Iterable[Any]) -> None:
    """Refuse names of recommenders that look the same in a table, such as 1 and "1".

    Nor may one be called as a table calls a pair of which nobody is ahead.
    """
    by_text: dict[str, Any] = {}
    for one in recommenders:
        if str(one) == "undecided":
            allowed = "must not hold a recommender called 'undecided', which tables of pairs say"
            raise InputError(name, allowed)
        if str(one) in by_text:
            got = f"{shown(by_text[str(one)])} and {shown(one)}"
            raise InputError(name, "must hold recommenders whose names differ as text").got(got)
        by_text[str(one)] = one


def check_one_kind(ranks: Mapping[str, Ranks | RankCounts]) -> None:
    """Refuse ranks among clearly different numbers of items, whose metrics are not comparable.

    Each recommender may exclude other items, so sizes of whole pools may differ by a factor of 2.
    Sizes of samples differ only by the chance of pooled draws, or by a few missing items.
    """
    mean = {name: _mean_size(r) for name, r in ranks.items()}
    apart = 2 if any(r.drawn is None for r in ranks.values()) else 1.25
    if max(mean.values()) > apart * min(mean.values()) + 1:
        least, most = min(mean, key=mean.get), max(mean, key=mean.get)  # type: ignore[arg-type]
        raise InputError(
            "ranks", "must all be among as many items, all or about as many drawn ones"
        ).got(f"on average {mean[least]:.0f} of {least!r}, {mean[most]:.0f} of {most!r}")


def mean_pool_size(ranks: Mapping[str, Ranks | RankCounts]) -> int:
    """The mean pool size of recommenders, rounded: the one n that a correction for all assumes."""
    return round(float(np.mean([_mean_size(r) for r in ranks.values()])))


def _mean_size(ranks):
    rows, counts = rows_of(ranks)
    return mean_of(rows.sizes, counts)
