"""The last phase of an evaluation: what was inferred, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from recsample._support.numerics import PERCENT
from recsample._support.typing import Integers
from recsample.evaluation.grades import uses_grades
from recsample.evaluation.infer import Audited, Exact, Inferred, Reread, Sampled, Uncorrected
from recsample.evaluation.options import DRAWN, USUAL
from recsample.inference.likelihood.sampled_run import REFUTED, SURPRISE
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AveragePrecision
from recsample.metrics.shapes import Linear
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
# What limits rest on, by the word that stands for it in a table.
_RESTS = {
    "decreasing": "Limits ({level}) assume that {usual}; those called 'without' do not. {blind}",
    "not needed": (
        "Limits ({level}) assume nothing ('not needed') of metrics linear in the rank, and where "
        "nearly all items were drawn."
    ),
    "contradicted": (
        "Where the data contradict that {usual} ('contradicted'), limits ({level}) assume nothing, "
        "and there is no corrected value."
    ),
    "refuted": (
        "Ranks that such draws give in fewer than 1 of 10,000 studies ('refuted') have no "
        "corrected value."
    ),
}


def usual(several: bool = False) -> str:
    """The usual assumption, of one relevant item or of several for some user."""
    random = " compared with a random ranking," if several else ""
    return f"within the best fifth of the list,{random} no rank is more frequent than a better one"


def rests_on(row: Mapping[str, Any]) -> str:
    """What the limits of a row of sampled ranks rest on, in a word or two."""
    if row["assumption"] != "none":
        return row["assumption"] or "refuted"
    return "contradicted" if np.isnan(row["value"]) else "not needed"


def headline(found: Inferred) -> str:
    """How the numbers came about, and what the limits assume: what all rows share."""
    lists = ""
    if found.lists is not None:
        from recsample.evaluation.rank import lists_said  # a report needs no sparse matrices

        behind = _NOT_LISTED.get(found.lists.unlisted or "", "")
        lists = f"Scores are {lists_said(found.lists)}; what is not listed is {behind}."
    parts = (
        head(found),
        _groups(found),
        lists,
        _grades(found.metrics, found.grades),
        limits_said(found),
    )
    return " ".join(filter(None, parts))


def sentences(found: Inferred) -> tuple[str, ...]:
    """One for each row of the table, for a paper."""
    return tuple(
        f"{name}: " * found.named
        + f"{sentence(found, name, m)} {_grades((m,), found.grades)}".rstrip()
        for name, m in found.rows
    )


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
        *_contradictions(found),
        *_divisors(found),
    )


# How the numbers came about.


@singledispatch
def head(found: Inferred) -> str:
    """How the numbers came about."""
    raise NotImplementedError


@head.register
def _(found: Exact) -> str:
    items = "candidates of their own beside the relevant ones" if found.is_task else "items"
    return (
        f"{_users(found.first)}, each ranked among {_span(found.first.n_irrelevant)} irrelevant "
        f"{items}."
    )


@head.register
def _(found: Uncorrected) -> str:
    listed = f"each ranked among {_span(found.first.n_irrelevant)} drawn items"
    return f"{_users(found.first)}, {listed}. {_nothing(found, 'the metrics')}"


@head.register
def _(found: Sampled) -> str:
    return f"{_came(found, next(iter(found.runs)))}."  # which begins with a number


@head.register
def _(found: Audited) -> str:
    return (
        f"{_users(found.first)}, each ranked among {_span(found.first.n_irrelevant)} drawn "
        f"items, and {len(found.audited):,} of them among all "
        f"{_span(found.n_items - found.first.n_relevant)} irrelevant items."
    )


@head.register
def _(found: Reread) -> str:
    n = sum(map(len, found.runs.values()))
    return (
        f"{n} printed number{'s' * (n > 1)} of {found.studies[0].n_users:,} users with one "
        f"held-out item each, ranked among {among(found)}, anew for each user, as stated by "
        "whoever reads the table."
    )


# Of what limits are, and what they rest on.


@singledispatch
def limits_said(found: Inferred) -> str:
    """Of what limits are, and what they rest on."""
    raise NotImplementedError


@limits_said.register
def _(found: Exact) -> str:
    said = f"Limits ({PERCENT}) are for other {found.others} like these."
    if not found.bounded:
        return said
    return (
        f"{said} What is 'between' two numbers is bounded for these users: held-out items that a "
        "list leaves out may stand anywhere behind it. The lower end of a metric at a cut-off is "
        "what trec_eval, ranx, RecTools and LensKit print, where they are never found "
        "(unlisted='missed')."
    )


@limits_said.register
def _(found: Uncorrected) -> str:
    return ""


@limits_said.register
def _(found: Sampled) -> str:
    assumed = usual(any(map(_has_several, found.evidence.values())))
    present = {rests_on(row) for row in found.rows.values()}
    return " ".join(
        said.format(level=PERCENT, usual=assumed, blind=found.blind).rstrip()
        for word, said in _RESTS.items()
        if word in present
    )


@limits_said.register
def _(found: Audited) -> str:
    return f"Limits ({PERCENT}) are for the mean over these users. They {_of_audit(found)}"


@limits_said.register
def _(found: Reread) -> str:
    present = {row["assumption"] for row in found.rows.values()}
    said = "Limits assume nothing of the ranks."
    if "decreasing" in present:
        blind = f" {found.blind}".rstrip()
        other = " Where the numbers contradict it ('contradicted') limits do not." * (
            "none" in present
        )
        said = f"Limits assume that {usual()}; those called 'without' do not.{other}{blind}"
    return (
        f"{said} All limits hold at once ({PERCENT}). Numbers that are each the best of many "
        "epochs, and draws of another kind, are not covered."
    )


# A value and its limits, for a paper.


@singledispatch
def sentence(found: Inferred, name: str, metric: Metric) -> str:
    """A value and its limits, for a paper."""
    raise NotImplementedError


@sentence.register
def _(found: Exact, name: str, metric: Metric) -> str:
    row = found.rows[name, metric]
    if (name, metric) in found.bounded:
        total, out = found.runs[name].n_relevant.sum(), found.missed[name].sum()
        return (
            f"{metric} is between {row['low']:.3f} and {row['high']:.3f} for these "
            f"{_users(found.first)}: {out:,} of {total:,} held-out items are not in the lists, and "
            "stand somewhere behind them."
        )
    return (
        f"{metric} is {row['value']:.3f} ({PERCENT} limits {_between(row)}, for other "
        f"{found.others} like these), over {head(found)}"
    )


@sentence.register
def _(found: Uncorrected, name: str, metric: Metric) -> str:
    sampled = found.rows[name, metric]["sampled"]
    return f"{metric} is {sampled:.3f} among the drawn items. {_nothing(found, 'it')}"


@sentence.register
def _(found: Sampled, name: str, metric: Metric) -> str:
    row, surprise = found.rows[name, metric], _surprise(found, name)
    source, said = f"the sampled ranks of {_came(found, name)}", _between(row)
    assumed = usual(_has_several(found.evidence[name]))
    uncorrected = f"{_uncorrected(metric, row)} {surprise}".rstrip()
    if not row["assumption"]:
        return f"No estimate of {metric} from {source}. {surprise} {_uncorrected(metric, row)}"
    if isinstance(metric.shape, Linear):
        return (
            f"{metric} is {row['value']:.3f} ({PERCENT} limits {said}), from {source}. It is "
            "linear in the rank, so sampling leaves its expectation as it is, and the limits "
            f"rest on no assumption about the ranks. {surprise}".rstrip()
        )
    if row["assumption"] == "decreasing":
        free = _between(found.ladder[name, metric, "none"])
        unseen = f"{found.blind} ".lstrip()
        return (
            f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of {said}, "
            f"from {source}. The limits assume that {assumed}; without that assumption these "
            f"data say {free}. {unseen}{uncorrected}"
        )
    if rests_on(row) == "not needed":
        return (
            f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of {said}, "
            f"from {source}. The limits rest on no assumption about the ranks, because nearly all "
            f"items were drawn. {uncorrected}"
        )
    return (
        f"{metric} is between {row['low']:.3f} and {row['high']:.3f} ({PERCENT} limits), "
        f"from {source}. The limits rest on no assumption about the ranks, because the "
        f"data contradict the usual one, that {assumed}; for the same reason there is no "
        f"estimate. {uncorrected}"
    )


@sentence.register
def _(found: Audited, name: str, metric: Metric) -> str:
    row = found.rows[name, metric]
    return (
        f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of "
        f"{_between(row)} for these {len(found.first):,} users, and of "
        f"{row['low_for_others']:.3f} to {row['high_for_others']:.3f} for other users like "
        f"these, from the sampled ranks of all and the exact ranks of {len(found.audited):,}. "
        f"The limits {_of_audit(found)} {_uncorrected(metric, row)}"
    )


@sentence.register
def _(found: Reread, name: str, metric: Metric) -> str:
    row, free = found.rows[name, metric], found.ladder[name, metric, "none"]
    limits = "{low:.3f} and {high:.3f}"
    numbers = ", ".join(map(as_printed, found.runs[name]))
    assumed = (
        "without an assumption about the ranks, because the printed numbers contradict the "
        f"usual one, that {usual()}"
    )
    if row["assumption"] == "decreasing":
        assumed = (
            f"if {usual()}; without that assumption these numbers say between "
            f"{limits.format(**free)}. {found.blind}".rstrip(". ")
        )
    return (
        f"{metric} is between {limits.format(**row)} ({PERCENT} limits, for all "
        f"{head(found)[:-1]}, at once) {assumed}. Printed were {numbers}; that none of them is "
        "the best of many epochs is assumed too."
    )


# What else there is to say.


def _mismatches(found):
    """What did not match and is unusual, and why no pair is compared."""
    if not found.pairable and not isinstance(found, Reread) and len(found.runs) > 1:
        yield (
            "no pair is compared, because RankCounts do not say which ranks belong to the same "
            "instance: Ranks do"
        )
    for (name, what), n in (found.counts or {}).items():
        if n and not what.endswith(USUAL):
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
                f"held-out ones and {one.pile:,} of {one.ranked:,} others; if that score stands "
                "for none, give -inf or no row in its place, and unlisted= says what such items "
                f"are, which {moves}"
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
    said = {name: _surprise(found, name) for name in found.runs}
    return [f"{name}: " * found.named + alarm for name, alarm in said.items() if alarm]


def _surprise(found, name):
    """How rare ranks like these are, and what that may come from, where it is a surprise."""
    chance = found.fit[name]["p_corrected"] if name in found.fit else 1.0
    if not chance < SURPRISE:
        return ""
    rare = f"1 of {int(1 / max(chance, REFUTED)):,} studies"
    exactly = f" (p = {chance:.2g})" if chance >= REFUTED else ""
    other = "m, the pool sizes, a cut-off or the draws differ from what was stated"
    if not found.stated:
        other = "ranks were changed, or users left out"
    return (
        f"Ranks like these come from such draws in fewer than {rare}{exactly}: either this "
        f"is that study, or {other}."
    )


def _contradictions(found):
    """Pairs whose limits exclude 0, on another side than their values or chances say."""
    return [
        f"{a} - {b}, {metric}: undecided, since the limits of the difference exclude 0 and the "
        "values, the difference or its probability are on the other side of it"
        for (a, b, metric), one in found.pairs.items()
        if one["ahead"] == "undecided" and (one["low"] > 0 or one["high"] < 0)
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


def _groups(found):
    """Whose the users are, where limits count others."""
    if found.groups is None:
        return ""
    n = len(np.unique(found.groups))
    return f"They belong to {n:,} groups, which limits count."


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


def _nothing(found, what):
    """Why nothing can be said of what was not drawn, and what would help."""
    if found.drawn != "uniform":
        how = f"{found.drawn!r} ({DRAWN[found.drawn]})"
        why = f"metrics among items that are drawn {how} cannot be corrected"
        cure = "Exact ranks of some users chosen at random, given to report, would tell."
    else:
        why = (
            "they do not look like uniform draws from the items that are new to the user "
            "(p < 0.0001)"
        )
        cure = (
            "Were items drawn otherwise, say so."
            if found.has_train
            else ("If training items could not be drawn, give them as train=.")
        )
    return f"Nothing can be said of {what} among all items: {why}. {cure}"


def _of_audit(found):
    how = "at random" if found.chances is None else "each by a draw with the chance stated"
    return (
        f"assume that the {len(found.audited):,} audited users were chosen {how}, as wholes, and "
        "nothing about the ranks, nor about how items were drawn."
    )


def _came(found, name):
    """How sampled ranks came about."""
    evidence = found.evidence[name]
    sampled, how = evidence.different, "with" if evidence.replace else "without"
    n_items = f" with {sampled.n_relevant.sum()} relevant items"
    items = n_items if _has_several(evidence) else ""
    word = ", as stated by whoever made this report" if found.stated else " by recsample"
    return (
        f"{len(found.runs[name])} instances{items}, each ranked among "
        f"m = {_span(sampled.n_irrelevant, '')} of "
        f"{_span(evidence.pools, '')} irrelevant items, drawn "
        f"uniformly {how} replacement{word}"
    )


def among(found: Reread) -> str:
    """What was ranked among in a printed study, as far as it is known."""
    several = " or ".join(dict.fromkeys(f"{one.m:,}" for one in found.studies))
    low, high = (size - 1 for size in found.studies[0].pools)
    pools = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    how = {one.replace: "with" if one.replace else "without" for one in found.studies}
    return (
        f"m = {several} of {pools} irrelevant items, drawn uniformly "
        f"{' or '.join(how.values())} replacement"
    )


def as_printed(number: Any) -> str:
    """A number of a table with its name, as it was printed."""
    digits = max(0, round(-np.log10(2 * number.half)))
    return f"{number.name} = {number.value:.{digits}f}"


def _has_several(evidence):
    return bool((evidence.different.n_relevant > 1).any())


def _between(row):
    return f"{row['low']:.3f} to {row['high']:.3f}"


def _uncorrected(metric, row):
    return f"Uncorrected, among the drawn items only, {metric} is {row['sampled']:.3f}."


def _span(numbers: Integers, form: str = ",") -> str:
    """The smallest and the largest of them."""
    low, high = f"{numbers.min():{form}}", f"{numbers.max():{form}}"
    return low if low == high else f"{low} to {high}"


def _users(ranks):
    several = int(ranks.n_relevant.sum())
    items = f" with {several:,} held-out items" if several > len(ranks) else ""
    return f"{len(ranks):,} user{'s' * (len(ranks) > 1)}{items}"


def _listing(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
