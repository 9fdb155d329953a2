"""The last phase of an evaluation: what was inferred, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from recsample._support.numerics import LEVEL, PERCENT
from recsample._support.typing import Integers
from recsample.evaluation.grades import DIVIDES, uses_grades
from recsample.evaluation.infer import Audited, Exact, Inferred, Reread, Sampled, Uncorrected
from recsample.evaluation.options import DRAWN, EXPECTED
from recsample.inference.likelihood.sampled_run import REFUTED, SURPRISE
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AveragePrecision
from recsample.ranks.base import Ranks

# From so many ranks on it is no accident that all are 1.
_FEW = 20
# What items are that scores do not list, in a word or two.
_NOT_LISTED = {
    "missed": "never found",
    "below": "tied behind",
    "open": "somewhere behind",
    "out": "not ranked",
}
_ROUNDING = 1e-9
_IF = " if decreasing"
_FALLING = "rank frequencies decrease in the best fifth"
# The page of the book that says how a result of a kind is read.
_PAGES = {Exact: "evaluate", Uncorrected: "traps", Audited: "audit", Reread: "audit"}
_BOOK = "recsample.github.io/recsample/book"


def page(found: Inferred) -> str:
    """Where the book says how such a result is read."""
    pages = (page for kind, page in _PAGES.items() if isinstance(found, kind))
    return f"{_BOOK}/{next(pages, 'report')}.html"


def rests_on(row: Mapping[str, Any]) -> str:
    """What the narrower limits of a row of sampled ranks rest on, or why there are none."""
    return {"": "refuted", "none": "not needed"}.get(row["assumption"], row["assumption"])


def sentences(found: Inferred) -> tuple[str, ...]:
    """One for each row of the table, for a paper; what is undecided has a second one."""
    return tuple(
        f"{name}: " * found.named + sentence(found, name, m) + _beside_best(found, name, m)
        for name, m in found.rows
    )


def _beside_best(found, name, metric):
    word, best = place(found, name, metric)
    pair = next((p for p in ((best, name, metric), (name, best, metric)) if p in found.pairs), None)
    if word != "undecided" or pair is None:
        return ""
    apart = f", at most {_apart(found.pairs[pair]):.3f} apart" * _has_limits(found.pairs[pair])
    return f" Beside {best}: undecided{apart}."


def place(found: Inferred, name: str, metric: Metric) -> tuple[str, str]:
    """Whether it is the best, behind it by the pairs, or neither, and the best.

    Both are "" where there is no best.
    """
    sign = 1 if metric.higher_is_better else -1
    values = {one: sign * found.rows[one, metric]["value"] for one in found.runs}
    best = max(values, key=lambda one: -np.inf if np.isnan(values[one]) else values[one])
    if len(values) == 1 or np.isnan(values[best]):
        return "", ""
    keys = (best, name, metric), (name, best, metric)
    told = any(key in found.pairs and found.pairs[key]["ahead"] == best for key in keys)
    return "best" if name == best else "behind" if told else "undecided", best


def undecided(found: Inferred) -> str:
    """How far apart two recommenders can be of which neither is known to be better.

    "" where there are none such.
    """
    most: dict[Metric, float] = {}
    for (_, _, metric), one in found.pairs.items():
        if one["ahead"] == "undecided" and _has_limits(one):
            most[metric] = max(most.get(metric, 0.0), _apart(one))
    each = [f"{apart:.3f} ({m})" for m, apart in most.items()]
    return f"Undecided: at most {', '.join(each)} apart." if each else ""


def _has_limits(one: Mapping[str, Any]) -> bool:
    """Whether there are limits of a difference."""
    return not np.isnan(one["low"])


def _apart(one):
    return max(-one["low"], one["high"])


def footnote(found: Inferred) -> str:
    """What all sentences share: how the numbers came about, and what limits rest on."""
    lists = ""
    if found.lists is not None:
        from recsample.evaluation.rank import lists_said  # a report needs no sparse matrices

        behind = _NOT_LISTED.get(found.lists.unlisted or "", "")
        lists = f"Scores are {lists_said(found.lists)}; what is not listed is {behind}."
    grades = _grades(found.metrics, found.grades)
    said = head(found), lists, grades, limits_said(found), _range_of(found), *_details(found)
    return " ".join(filter(None, said))


def notes(found: Inferred) -> tuple[str, ...]:
    """What did not match, what is undefined, and what contradicts itself."""
    undefined = found.undefined if isinstance(found, Exact) else {}
    return (
        *_mismatches(found),
        *_ties(found),
        *(
            f"{metric} is undefined for {n:,} users, without an irrelevant item: they are left out"
            for metric, n in undefined.items()
            if n
        ),
        *_alarms(found),
        *_disagreements(found),
        *_contradictions(found),
        *_divisors(found),
    )


# What was ranked among what, what limits are, and a value for a paper.


def head(found: Inferred) -> str:
    """What was ranked among what, and whose the users are, where limits count others."""
    whose = ""
    if found.groups is not None and not isinstance(found, Uncorrected):
        n = len(np.unique(found.groups))
        largest = np.unique(found.groups, return_counts=True)[1].max()
        whose = (
            f" They belong to {n:,} groups, the largest of {largest:,}; limits count groups, and "
            "take no larger one to be possible."
        )
    runs = found.n_runs if isinstance(found, Exact) else None
    if runs is not None:
        whose += f" Values are means over {_span(runs)} run{'s' * bool(runs.max() > 1)}."
    return _head(found) + whose


@singledispatch
def _head(found: Inferred) -> str:
    what = "drawn items" if isinstance(found, Uncorrected) else "irrelevant items"
    if isinstance(found, Exact) and found.is_task:
        what = "irrelevant candidates of their own beside the relevant ones"
    return f"{_users(found.first)}, each ranked among {_span(found.first.n_irrelevant)} {what}."


@singledispatch
def limits_said(found: Any) -> str:
    """What the limits are."""
    bounds = "; 'between' are bounds for these users" * bool(found.bounded)
    return f"{PERCENT} limits are for other {found.others} like these{bounds}."


@singledispatch
def sentence(found: Any, name: str, metric: Metric) -> str:
    """A value and its limits, for a paper."""
    row, users = found.rows[name, metric], _users(found.first)
    if (name, metric) in found.bounded:
        total, out = found.runs[name].n_relevant.sum(), found.missed[name].sum()
        return (
            f"{metric} is {between(row)}, bounds for these {users}: {out:,} of {total:,} held-out "
            "items stand somewhere behind the lists."
        )
    if np.isnan(row["value"]):
        return f"{metric} is undefined for these {users}."
    limits = f" ({PERCENT} limits {between(row)}, for other {found.others} like these)"
    limits *= not np.isnan(row["low"])
    n = _span(found.first.n_irrelevant)
    value = f"{metric} is {row['value']:.3f}"
    return f"{value}{limits}, over {users}, ranked among {n} irrelevant items."


@limits_said.register
def _(found: Uncorrected) -> str:
    return f"Nothing can be said of all items: {_why_not(found)}."


@sentence.register
def _(found: Uncorrected, name: str, metric: Metric) -> str:
    return (
        f"Nothing can be said of {metric} among all items, because {_why_not(found)}; among "
        f"{_span(found.first.n_irrelevant)} drawn items it is "
        f"{found.rows[name, metric]['sampled']:.3f}."
    )


def _why_not(found):
    if found.drawn != "uniform":
        return f"items were drawn {found.drawn!r} ({DRAWN[found.drawn]})"
    return "the lists do not look like uniform draws from items new to the user (p < .0001)"


@_head.register
def _(found: Sampled) -> str:
    evidence = next(iter(found.evidence.values()))
    n_items = evidence.different.n_relevant.sum()
    items = f" with {n_items:,} relevant items" * _has_several(evidence)
    return (
        f"{len(found.first):,} instances{items}: {_drawn(evidence)}, drawn "
        f"{_replacement(evidence)} replacement."
    )


@limits_said.register(Sampled)
@limits_said.register(Reread)
def _(found: Sampled | Reread) -> str:
    said = "assume nothing" if isinstance(found, Sampled) else "hold at once"
    narrow = "; if decreasing, better ranks in the best fifth are no rarer"
    return f"{PERCENT} limits {said}{narrow * (found.blind is not None)}."


@sentence.register
def _(found: Sampled, name: str, metric: Metric) -> str:
    row, evidence = found.rows[name, metric], found.evidence[name]
    source = f"from {len(found.runs[name]):,} instances, {_drawn(evidence)}"
    word = rests_on(row)
    if word == "refuted":
        return f"{metric} has no estimate {source}: {_rare(found, name)}."
    value, limits = (
        f"{metric} is estimated at {row['value']:.3f}",
        f"{PERCENT} limits {between(row)}",
    )
    # Within these ranks the data do not show whether the assumption is true.
    is_seen = metric.cutoff is None or found.blind is None or metric.cutoff > found.blind.ranks
    if word == "contradicted":
        limits += f", nothing assumed of the ranks; the data contradict that {_FALLING}"
    elif word == "decreasing" and is_seen:
        limits += f"; {between(row, 'if_')} if {_FALLING}"
    else:
        limits += ", nothing assumed of the ranks"
    return f"{value} ({limits}), {source}."


@limits_said.register
def _(found: Audited) -> str:
    return f"{PERCENT} limits are for the mean over these users, by {_chosen(found)}."


@_head.register
def _(found: Audited) -> str:
    pools = _span(found.n_items - found.first.n_relevant)
    return (
        f"{_users(found.first)}: m = {_span(found.first.n_irrelevant)} of {pools} irrelevant items "
        f"drawn for each, all ranked for {len(found.audited):,}."
    )


@sentence.register
def _(found: Audited, name: str, metric: Metric) -> str:
    row = found.rows[name, metric]
    pools = _span(found.n_items - found.first.n_relevant)
    low, high = row["low_for_others"], row["high_for_others"]
    others = f", {low:.3f} to {high:.3f} for others" * (not np.isnan(low))
    return (
        f"{metric} is {row['value']:.3f} ({PERCENT} limits {between(row)} for these "
        f"{len(found.first):,} users{others}), from m = {_span(found.first.n_irrelevant)} of "
        f"{pools} items and {_chosen(found)}."
    )


def _chosen(found):
    how = "at random" if found.chances is None else "with stated chances"
    return f"exact ranks of {len(found.audited):,} chosen {how}"


@_head.register
def _(found: Reread) -> str:
    n = sum(map(len, found.runs.values()))
    return (
        f"{n} printed number{'s' * (n > 1)}, {found.studies[0].n_users:,} users: "
        f"{_printed_draws(found)}."
    )


@sentence.register
def _(found: Reread, name: str, metric: Metric) -> str:
    row, narrow = found.rows[name, metric], ""
    if row["assumption"] == "decreasing":
        narrow = f"; {between(row, 'if_')} if {_FALLING}"
    n = sum(map(len, found.runs.values()))
    at_once = f"{n} number{'s' * (n > 1)} at once"
    return (
        f"{metric} is {between(row)} ({PERCENT} limits, {at_once}{narrow}), from "
        f"{found.studies[0].n_users:,} users, {_printed_draws(found)}."
    )


# What else there is to say.


def _details(found):
    """What else limits rest on, and what they do not cover."""
    if isinstance(found, Exact) and found.bounded:
        yield (
            "Held-out items that a list leaves out may stand anywhere behind it; the lower end at "
            "a cut-off is what trec_eval, ranx, RecTools and LensKit print (unlisted='missed')."
        )
    if isinstance(found, Uncorrected):
        yield "Exact ranks of some users chosen at random, given to report, would tell."
        if found.drawn == "uniform" and not found.has_train:
            yield "If training items could not be drawn, give them as train=."
    if isinstance(found, Audited):
        yield (
            "They were chosen as wholes; nothing is assumed of the ranks, nor of how items were "
            "drawn."
        )
        if found.pairs:
            yield ("A difference is predicted for itself, and need not be that of the two values.")
        return
    if isinstance(found, (Sampled, Reread)):
        by_whom = ", as stated by whoever made this report" if found.stated else ", by recsample"
        yield f"Items were drawn uniformly, anew for each instance{by_whom}."
        words = [rests_on(row) for row in found.rows.values()]
        if "decreasing" in words or "contradicted" in words:
            several = isinstance(found, Sampled) and any(map(_has_several, found.evidence.values()))
            random = " compared with a random ranking," * several
            yield (
                f"'Decreasing' means that within the best fifth of the list,{random} no rank is "
                "more frequent than a better one."
            )
        if isinstance(found, Sampled) and any(word != "not needed" for word in words):
            yield "Estimates are by the EM algorithm, and may be outside of the limits."
        yield str(found.blind or "")
    if isinstance(found, Reread):
        yield (
            "Each user has one held-out item. Numbers that are each the best of many epochs are "
            "not covered."
        )
    yield from _alarms(found)


def _mismatches(found):
    """What did not match and is unusual, and why no pair is compared."""
    if not found.pairable and not isinstance(found, Reread) and len(found.runs) > 1:
        yield (
            "no pair is compared, because RankCounts do not say which ranks belong to the same "
            "instance: Ranks do"
        )
    for (name, what), n in (found.counts or {}).items():
        if n and not what.endswith(EXPECTED):
            yield f"{name}: " * bool(name) + f"{what}: {n:,}"


def _ties(found):
    """How many relevant items are tied with others, and ranks that may have lost their ties."""
    for name, one in found.tied.items():
        moves = f"moves {one.metric} from {one.low:.4f} to {one.high:.4f}"
        of = f"{one.n:,} of {one.of:,}"
        said = f"held-out items that are tied with others: {of}, whose order {moves}"
        if one.pile:
            said = (
                f"items with the lowest score, {found.lowest[name][0]:g}, ranked as tied: {of} "
                f"held-out ones and {one.pile:,} of {one.ranked:,} others. If that score stands "
                "for none, give -inf or no row in its place: unlisted= says what such items are. "
                f"Their place {moves}"
            )
        said += "; each value is the mean over all orders"
        yield f"{name}: " * bool(name) + said
    for name, run in found.runs.items():
        if isinstance(run, Ranks) and len(run) >= _FEW and run.rows.order.max() == 1:
            if run.rows.rank.max() == 1 and not run.rows.ties.any():
                yield (
                    f"{name}: " * bool(name) + "every rank is 1: if scores were constant, or ties "
                    "counted in favour of the held-out item, give rs.Ranks(1, n_items, ties=...)"
                )


def _alarms(found):
    """What is said of recommenders whose ranks hardly come from the stated draws."""
    for name, one in found.fit.items():
        chance = one["p_corrected"]
        exactly = f" (p = {chance:.2g})" if chance >= REFUTED else ""
        other = "what was stated of m, pools and draws is not so"
        if not found.stated:
            other = "ranks were changed, or users left out"
        if chance < SURPRISE:
            rare = _rare(found, name) + exactly
            rare = f"{name}: {rare}" if found.named else rare.capitalize()
            yield f"{rare}: either this is that study, or {other}."


def _rare(found, name):
    """How rare ranks like these are."""
    n = int(1 / max(found.fit[name]["p_corrected"], REFUTED))
    return f"ranks like these come from such draws in fewer than 1 of {n:,} studies"


def _disagreements(found):
    """Where an estimate is outside of limits, which may have been luck or a wrong assumption."""
    for (name, metric), row in found.rows.items() if isinstance(found, Sampled) else ():
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
                    f"{name}: " * found.named + f"{metric} is estimated at {row['value']:.3f}, "
                    f"outside of its limits{_IF * bool(prefix)}, {between(row, prefix)}: {why}"
                )


def _contradictions(found):
    """Pairs whose limits exclude 0, on another side than their values or chances say."""
    return [
        f"{a} - {b}, {metric}: undecided, since the limits of the difference{_IF * bool(prefix)}, "
        f"{between(one, prefix)}, exclude 0, and the values, the difference or its probability are "
        "on the other side of it"
        for (a, b, metric), one in found.pairs.items()
        for prefix in ("", "if_")
        if one.get(f"{prefix}ahead") == "undecided"
        and (one[f"{prefix}low"] > 0 or one[f"{prefix}high"] < 0)
    ]


def _divisors(found):
    """What average precision is divided by, where libraries differ."""
    several = np.max(getattr(found.first, "n_relevant", 1)) > 1  # of one item all are 1
    return [
        f"{m} is divided by min(L, {m.cutoff}), for a user's L relevant items: others divide "
        f"by L, AP(relevant)@{m.cutoff}, or by the hits, AP(hits)@{m.cutoff}"
        for m in found.metrics
        if isinstance(m, AveragePrecision) and m.cutoff and m.over == "best" and several
    ]


def _grades(metrics: Sequence[Metric], grades: Sequence[float]) -> str:
    """What metrics make of several grades, or of one that is a gain."""
    used = [str(m) for m in metrics if uses_grades(m, grades)]
    other = [str(m) for m in metrics if str(m) not in used]
    said = []
    if used:
        ends = " to ".join(dict.fromkeys(f"{grade:g}" for grade in (grades[0], grades[-1])))
        said.append(f"Gains in {_listing(used)} are linear, the grades themselves ({ends}).")
    if other and len(grades) > 1:
        said.append(f"In {_listing(other)} every grade above 0 counts alike.")
    return " ".join(said)


def _range_of(found):
    """Which grades limits allow for, where other ones would give a metric values beyond these."""
    said: dict[str, list[str]] = {}
    for metric, (low, _) in found.ends.items() if isinstance(found, Exact) else ():
        has_limits = any((name, metric) not in found.bounded for name in found.runs)
        if not (has_limits and uses_grades(metric, found.grades)):
            continue
        parts = [f"above {found.grades[-1]:g}"] * (low > 0 or not DIVIDES[type(metric)])
        parts += [f"below {found.grades[0]:g}"] * (low > 0)
        if parts:
            said.setdefault(" or ".join(parts), []).append(str(metric))
    return " ".join(
        f"Limits of {_listing(names)} take no grade {what} to be possible."
        for what, names in said.items()
    )


def among(found: Reread) -> str:
    """What was ranked among in a printed study, as far as it is known."""
    how = {one.replace: _replacement(one) for one in found.studies}
    return f"{_printed_draws(found)}, drawn uniformly {' or '.join(how.values())} replacement"


def _printed_draws(found):
    several = " or ".join(dict.fromkeys(f"{one.m:,}" for one in found.studies))
    return f"m = {several} of {_span(np.array(found.studies[0].pools) - 1)} irrelevant items"


def as_written(number: Any) -> str:
    """A number of a table with its name, as it was printed."""
    digits = max(0, round(-np.log10(2 * number.half)))
    return f"{number.name} = {number.value:.{digits}f}"


def between(row: Mapping[str, Any], prefix: str = "", digits: int = 3) -> str:
    """Limits as text; "none" where there are none."""
    low, high = (row[prefix + end] for end in ("low", "high"))
    return "none" if np.isnan(low) else f"{low:.{digits}f} to {high:.{digits}f}"


def _drawn(evidence):
    return (
        f"m = {_span(evidence.different.n_irrelevant)} of {_span(evidence.pools)} irrelevant items"
    )


def _replacement(how):
    return "with" if how.replace else "without"


def _has_several(evidence):
    return bool((evidence.different.n_relevant > 1).any())


def _span(numbers: Integers) -> str:
    """The smallest and the largest of them."""
    low, high = f"{numbers.min():,}", f"{numbers.max():,}"
    return low if low == high else f"{low} to {high}"


def _users(ranks):
    several = int(ranks.n_relevant.sum())
    items = f" with {several:,} held-out items" if several > len(ranks) else ""
    return f"{len(ranks):,} user{'s' * (len(ranks) > 1)}{items}"


def _listing(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
