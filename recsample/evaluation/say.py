"""The last phase of an evaluation: what was found, in the words that all kinds of studies share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.numerics import LEVEL, PERCENT
from recsample._support.typing import Integers
from recsample.evaluation.findings import Findings, disagrees
from recsample.evaluation.grades import uses_grades
from recsample.evaluation.options import EXPECTED
from recsample.inference.blind import BlindSpot
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AveragePrecision
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks

_ROUNDING = 1e-9
_IF = " if decreasing"
# So many pairs are named where all results are in short.
_MOST = 3
FALLING = "rank frequencies decrease in the best fifth"
_BOOK = "recsample.github.io/recsample/book"


def page(findings: Findings) -> str:
    """Where the book says how such a result is read."""
    return f"{_BOOK}/{findings.page}.html"


def sentences(findings: Findings) -> tuple[str, ...]:
    """One for each row of the table, for a paper; what is undecided has a second one."""
    return tuple(
        "".join(
            [
                _of(findings, name),
                sentence,
                _read(findings, name, metric),
                _beside_best(findings, name, metric),
            ]
        )
        for (name, metric), sentence in findings.sentences.items()
    )


def _of(findings, name):
    return f"{name}: " if findings.named else ""


def _beside_best(findings, name, metric):
    word, best = place(findings, name, metric)
    pair = _pair(findings.pairs, best, name, metric)
    if word != "undecided" or pair is None:
        return ""
    apart = f", at most {_apart(pair):.3f} apart" * _has_limits(pair)
    read = _pair(findings.reading_pairs, best, name, metric)
    if read is None or read["ahead"] == "undecided" or isinstance(metric.shape, Linear):
        return f" Beside {best}: undecided{apart}."
    return (
        f" Beside {best}: undecided{apart}; on average over those K, {read['ahead']} is ahead, and "
        "here the order may be the reverse."
    )


def _read(findings, name, metric):
    """What a mean among drawn items reads; of linear metrics it is the estimate itself."""
    row = findings.readings.get((name, metric))
    if row is None or isinstance(metric.shape, Linear):
        return ""
    said = [f"{row['value']:.3f}"] * (row["value"] == row["value"])
    alone = " of items ranked alone"  # from draws that items of one user share
    if row["low"] == row["low"]:
        alone, limits = "", f"{PERCENT} limits {between(row)}"
        said.append(f"({limits})" if said else f"within {limits}")
    scaled = ", scaled from 0 at the last rank to 1 at the first," * _is_scaled(
        findings, name, metric
    )
    return (
        f" Sampled {metric}{scaled} measures exact Recall@K{alone} averaged over {_over(row)} from "
        f"{_cutoffs(row)}: {' '.join(said)}."
    )


def _over(row):
    """Each user has K of the pool and of what was drawn from it."""
    return "K that depend on pool and m," if np.isnan(row["cutoff"]) else "K"


def _is_scaled(findings, name, metric):
    """Whether a reading is another number than the mean that it reads."""
    apart = findings.readings[name, metric]["value"] - findings.rows[name, metric]["sampled"]
    return not abs(apart) < _ROUNDING


def _cutoffs(row):
    """Between which K nine tenths of the weights are."""
    return f"{row['cutoff_low']:,.0f} to {row['cutoff_high']:,.0f}"


def averages(findings: Findings) -> str:
    """Over which K sampled metrics average exact Recall@K, and which pairs that decides."""
    over: dict[Metric, list[str]] = {}
    for (_, metric), row in findings.readings.items():
        if not isinstance(metric.shape, Linear):
            over.setdefault(metric, []).append(_cutoffs(row))
    if not over:
        return ""
    (name, _), row = next(iter(findings.readings.items()))
    each = [
        f"{' or '.join(dict.fromkeys(ks))} ({m}{', scaled' * _is_scaled(findings, name, m)})"
        for m, ks in over.items()
    ]
    said = (
        f"Sampled values measure exact Recall@K averaged over {_over(row)} from {', '.join(each)}."
    )
    ahead: dict[tuple[str, str], list[str]] = {}
    for (a, b, metric), pair in findings.reading_pairs.items():
        here = findings.pairs[a, b, metric]["ahead"]
        if metric in over and here == "undecided" != pair["ahead"]:
            first = (a, b) if pair["ahead"] == a else (b, a)
            ahead.setdefault(first, []).append(str(metric))
    if len(ahead) > _MOST:
        return f"{said} That decides some pairs that are undecided here: see .reading_pairs."
    order = [f"{a} is ahead of {b} ({', '.join(ms)})" for (a, b), ms in ahead.items()]
    if not order:
        return said
    return f"{said} By that {listing(order)}; here the order may be the reverse."


def place(findings: Findings, name: str, metric: Metric) -> tuple[str, str]:
    """Whether it is the best, behind it by the pairs, or neither, and the best.

    Both are "" where there is no best.
    """
    sign = 1 if metric.higher_is_better else -1
    values = {a: sign * findings.rows[a, metric]["value"] for a in findings.recommenders}
    best = max(values, key=lambda a: -np.inf if np.isnan(values[a]) else values[a])
    if len(values) == 1 or np.isnan(values[best]):
        return "", ""
    pair = _pair(findings.pairs, best, name, metric)
    told = pair is not None and pair["ahead"] == best
    return "best" if name == best else "behind" if told else "undecided", best


def _pair(pairs, a, b, metric):
    """The difference of two recommenders in either order, None where they are not compared."""
    keys = (a, b, metric), (b, a, metric)
    return next((pairs[key] for key in keys if key in pairs), None)


def undecided(findings: Findings) -> str:
    """How far apart two recommenders can be of which neither is known to be better.

    "" where there are none such.
    """
    most: dict[Metric, float] = {}
    for (_, _, metric), pair in findings.pairs.items():
        if pair["ahead"] == "undecided" and _has_limits(pair):
            most[metric] = max(most.get(metric, 0.0), _apart(pair))
    each = [f"{apart:.3f} ({m})" for m, apart in most.items()]
    return f"Undecided: at most {', '.join(each)} apart." if each else ""


def _has_limits(pair):
    """Whether there are limits of a difference."""
    return not np.isnan(pair["low"])


def _apart(pair):
    return max(-pair["low"], pair["high"])


def footnote(findings: Findings) -> str:
    """What all sentences share: how the numbers came about, and what limits rest on."""
    grades = _grades(findings.metrics, findings.grades)
    about = findings.limits, averages(findings), *findings.details
    parts = findings.head, findings.lists, grades, *about
    return " ".join(filter(None, parts))


def notes(findings: Findings) -> tuple[str, ...]:
    """What did not match, what is undefined, and what contradicts itself."""
    return (
        *_mismatches(findings),
        *_ties(findings),
        *_looks(findings),
        *findings.notes,
        *_outside_of_limits(findings),
        *_contradictions(findings),
        *_divisors(findings),
    )


def _mismatches(findings):
    """What did not match and is unusual."""
    for (name, what), n in (findings.counts or {}).items():
        if n and not what.endswith(EXPECTED):
            yield f"{name}: " * bool(name) + f"{what}: {n:,}"


def _ties(findings):
    """How many relevant items are tied with others, and ranks that may have lost their ties."""
    for name, tied in findings.ties.items():
        moves = f"moves {tied.metric} from {tied.low:.4f} to {tied.high:.4f}"
        of = f"{tied.n:,} of {tied.of:,}"
        said = f"held-out items that are tied with others: {of}, whose order {moves}"
        if tied.pile:
            said = (
                f"items with the lowest score, {tied.lowest:g}, ranked as tied: {of} "
                f"held-out ones and {tied.pile:,} of {tied.ranked:,} others. If that score stands "
                "for none, give -inf or no row in its place: unlisted= says what such items are. "
                f"Their place {moves}"
            )
        yield f"{name}: " * bool(name) + f"{said}; each value is the mean over all orders"


def _looks(findings):
    """Scores and ranks that are probably none, or count from the other end."""
    for name, look in findings.looks.items():
        of = f"{name}: " * bool(name)
        if look.is_worse:
            yield (
                f"{of}held-out items rank worse than by chance: {look.better:.0%} of the others "
                "are better on average. Low scores may be good, or ranks count from the worst: "
                "then turn them round"
            )
        if look.are_orders:
            yield (
                f"{of}scores are different whole numbers for each user, and held-out items rank no "
                "better than by chance: they may be an order, or ids, in place of scores"
            )
        beyond = [str(m) for m in findings.metrics if m.cutoff and m.cutoff > look.longest]
        if beyond:
            yield f"{of}{listing(beyond)}: no list is longer than {look.longest:,} items"
        if 2 * look.n_first > look.n:
            yield (
                f"{of}ranks of 1: {look.n_first:,} of {look.n:,}. If scores are saturated, or "
                "ties counted in favour of the held-out item, give rs.Ranks(ranks, n_items, "
                "ties=...)"
            )


def _outside_of_limits(findings):
    """Where an estimate is outside of limits, which may have been luck or a wrong assumption."""
    for (name, metric), row in findings.rows.items():
        for prefix in ("", "if_"):
            low, high = (row.get(prefix + end, np.nan) for end in ("low", "high"))
            if row["value"] < low - _ROUNDING or row["value"] > high + _ROUNDING:
                why = (
                    "either it is wrong, or this assumption"
                    if prefix
                    else f"these hold in {100 * LEVEL:g} studies of 100, and nothing like that is "
                    "known of the estimate"
                )
                yield (
                    f"{_of(findings, name)}{metric} is estimated at {row['value']:.3f}, "
                    f"outside of its limits{_IF * bool(prefix)}, {between(row, prefix)}: {why}"
                )


def _contradictions(findings):
    """Pairs whose limits exclude 0, on another side than their values or chances say."""
    for (a, b, metric), pair in findings.pairs.items():
        apart = findings.rows[a, metric]["value"] - findings.rows[b, metric]["value"]
        for prefix in ("", "if_"):
            if pair.get(f"{prefix}ahead") != "undecided":
                continue
            sign = (pair[f"{prefix}low"] > 0) - (pair[f"{prefix}high"] < 0)
            if disagrees(sign, pair, prefix, apart):
                yield (
                    f"{a} - {b}, {metric}: undecided, since the limits of the difference"
                    f"{_IF * bool(prefix)}, {between(pair, prefix)}, exclude 0, and the values, "
                    "the difference or its probability are on the other side of it"
                )


def _divisors(findings):
    """What average precision is divided by, where libraries differ; of one item all are 1."""
    return [
        f"{m} is divided by min(L, {m.cutoff}), for a user's L relevant items: others divide "
        f"by L, AP(relevant)@{m.cutoff}, or by the hits, AP(hits)@{m.cutoff}"
        for m in findings.metrics
        if isinstance(m, AveragePrecision) and m.cutoff and m.over == "best"
        if findings.has_several
    ]


def _grades(metrics: Sequence[Metric], grades: Sequence[float]) -> str:
    """What metrics make of several grades, or of one that is a gain."""
    used = [str(m) for m in metrics if uses_grades(m, grades)]
    other = [str(m) for m in metrics if str(m) not in used]
    said = []
    if used:
        ends = " to ".join(dict.fromkeys(f"{grade:g}" for grade in (grades[0], grades[-1])))
        said.append(f"Gains in {listing(used)} are linear, the grades themselves ({ends}).")
    if other and len(grades) > 1:
        said.append(f"In {listing(other)} every grade above 0 counts alike.")
    return " ".join(said)


# Words of several kinds.


def rests_on(row: Mapping[str, Any]) -> str:
    """What the narrower limits of a row of sampled ranks rest on, or why there are none."""
    return {"": "refuted", "none": "not needed"}.get(row["assumption"], row["assumption"])


def between(row: Mapping[str, Any], prefix: str = "", digits: int = 3) -> str:
    """Limits as text; "none" where there are none."""
    low, high = (row[prefix + end] for end in ("low", "high"))
    return "none" if np.isnan(low) else f"{low:.{digits}f} to {high:.{digits}f}"


def users_said(ranks: Ranks) -> str:
    """How many users and items there are."""
    n_items = int(np.sum(ranks.n_relevant))
    items = f" with {n_items:,} held-out items" if n_items > len(ranks) else ""
    return f"{len(ranks):,} user{'s' * (len(ranks) > 1)}{items}"


def groups_said(groups: Integers | None) -> str:
    """Whose the users are, where limits count others."""
    if groups is None:
        return ""
    _, sizes = np.unique(groups, return_counts=True)
    return (
        f" They belong to {len(sizes):,} groups, the largest of {sizes.max():,}; limits count "
        "groups, and take no larger one to be possible."
    )


def draws_said(
    rows: Sequence[Mapping[str, Any]], stated: bool, against_random: bool
) -> Iterator[str]:
    """How items were drawn and by whose word, and what "decreasing" means where it is used."""
    by_whom = ", as stated by whoever made this report" if stated else ", by recsample"
    yield f"Items were drawn uniformly, anew for each instance{by_whom}."
    if {"decreasing", "contradicted"} & {*map(rests_on, rows)}:
        random = " compared with a random ranking," * against_random
        yield (
            f"'Decreasing' means that within the best fifth of the list,{random} no rank is "
            "more frequent than a better one."
        )


def narrow_said(blind: BlindSpot | None) -> str:
    """What the narrower limits are, where there are some."""
    return "" if blind is None else "; if decreasing, better ranks in the best fifth are no rarer"


def how_replaced(replace: bool) -> str:
    """How items were drawn, before the word replacement."""
    return "with" if replace else "without"


def span(numbers: ArrayLike) -> str:
    """The smallest and the largest of them."""
    low, high = f"{np.min(numbers):,}", f"{np.max(numbers):,}"
    return low if low == high else f"{low} to {high}"


def listing(names: Sequence[str]) -> str:
    """Names as text."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
