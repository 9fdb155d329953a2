"""The second phase of an evaluation: where the held-out items stand among what is stated."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recsample._support.checks import shown
from recsample._support.errors import InputError, Naming
from recsample._support.typing import Integers
from recsample.evaluation.match import Matched
from recsample.evaluation.options import REPORTED, UNLISTED, with_meanings
from recsample.ranks.base import Ranks
from recsample.ranks.scores import keys_of, pairs_of, without
from recsample.ranks.sources import Standing, standing_among
from recsample.sampling.base import Sampler
from recsample.sampling.given_lists import Lists as Entries
from recsample.sampling.list_checks import count_statistic, mean_statistic
from recsample.sampling.uniform import UniformSampling

# The p-value below which lists are not taken for uniform draws.
_SURPRISE = 1e-4


class Lists(NamedTuple):
    """How long the lists of scores are, of how many items, and what they hold of the held-out."""

    unlisted: str | None  # what is not listed, in a word
    lengths: tuple[int, int]  # the shortest and the longest
    of: tuple[int, int]
    held: tuple[int, int]  # by the recommenders that hold the fewest and the most
    n_held_out: int


@dataclass(frozen=True)
class Ranked:
    """Recommenders, ranked for the same users: what the third phase is given.

    `runs` are by the names of the recommenders, "" for one that is not `named`. Of the relevant
    items of each user, the last `missed` are not found. Where items that are not listed stand
    anywhere behind the others, `runs` have them at the very end, and `best` right behind the list.
    """

    runs: Mapping[str, Ranks]
    named: bool
    counts: Mapping[tuple[str, str], int]
    grades: tuple[float, ...]
    lists: Lists | None
    missed: Mapping[str, Integers]
    best: Mapping[str, Ranks]
    is_known: bool  # the catalogue is all there is: else it may hold more than the tables name
    pools: Integers  # for each user, of how many items the ranked ones are, or were drawn from
    looks_uniform: bool  # uniform draws give such lists more than once in 10,000 studies
    standings: Mapping[str, Standing]  # what is listed, and what it looks like

    @property
    def first(self) -> Ranks:
        """Of one recommender: users and pools are those of all."""
        return next(iter(self.runs.values()))


def rank(
    matched: Matched,
    unlisted: str | None,
    drawn: str | None,
    sampler: Sampler | None,
    rng: np.random.Generator,
) -> Ranked:
    """Rank among the catalogue, among lists, or among what a sampler draws of the catalogue."""
    study, lists, sources = matched.study, matched.lists, matched.sources
    if unlisted == "out":
        lists = _the_same_lists(matched)
    if lists is None:
        found = {name: source.standing(study) for name, source in sources.items()}
    else:
        found = {name: standing_among(one, study, lists) for name, one in sources.items()}
    short = {name: one for name, one in found.items() if one.is_short}
    sizes = study.sizes if unlisted == "out" else next(iter(found.values())).ranks.sizes
    if short and unlisted is None:
        _ask(short, sizes, lists is not None, has_train=bool(study.exclude.nnz))
    runs = {name: one.ranks for name, one in found.items()}
    missed, best = {}, {}
    if unlisted in ("missed", "open"):
        runs |= {name: one.with_unlisted(last=True) for name, one in short.items()}
        missed = {name: one.n_unlisted for name, one in short.items()}
    if unlisted == "open":
        best = {name: one.with_unlisted(last=False) for name, one in short.items()}
    standings = found
    if sampler is not None:
        runs = _draw(runs, sampler, rng, matched.named)
        standings = {name: _drawn(one, runs[name]) for name, one in found.items()}
    counts = {key: int(n) for key, n in matched.counts.items()}
    for name, one in short.items() if unlisted != "out" else ():
        counts[name, "users without any score, as if none of their items was listed"] = int(
            np.count_nonzero(one.lengths == 0)
        )
    if lists is not None:
        n_alone = int((np.diff(lists.indptr) == 0).sum())
        counts["", "users with nothing to rank beside held-out items, which come first"] = n_alone
    return Ranked(
        runs=runs,
        named=matched.named,
        counts=counts,
        grades=() if study.grades is None else tuple(map(float, np.unique(study.grades))),
        lists=_about(found, sizes, unlisted) if short or unlisted == "out" else None,
        missed=missed,
        best=best,
        is_known=matched.is_known or lists is not None,
        pools=study.sizes,
        looks_uniform=drawn not in REPORTED or _look_uniform(matched, lists, drawn),
        standings=standings,
    )


def _draw(
    runs: Mapping[str, Ranks], sampler: Sampler, rng: np.random.Generator, named: bool
) -> dict[str, Ranks]:
    """Ranks among items that a sampler draws; one that does not record how may draw in any way."""
    first = next(iter(runs.values()))
    pool, ids = first.n_irrelevant, np.asarray(first.ids)
    needed = sampler.m if isinstance(sampler, UniformSampling) and not sampler.replace else 1
    if pool.min() < needed:
        raise InputError(
            "among",
            f"must draw at most {pool.min()} items, which is all that there are for user "
            f"{shown(ids[np.argmin(pool)])} beside the relevant ones",
        ).got(needed)
    rngs = generators(runs, rng) if named else {"": rng}
    drawn = {name: sampler.draw(one, rngs[name]) for name, one in runs.items()}
    return {
        name: one.drawn_as("unknown") if one.drawn is None else one for name, one in drawn.items()
    }


def _drawn(standing, ranks):
    """The standing among items that were drawn, of whose scores about as many are the lowest."""
    pile = standing.pile.sizes * ranks.n_irrelevant // standing.ranks.n_irrelevant
    return standing._replace(
        ranks=ranks, lengths=ranks.sizes, pile=standing.pile._replace(sizes=pile)
    )


def generators(names, rng):
    """Random numbers for each name, which depend on no other name and are the same everywhere."""
    base = int(rng.integers(2**63))
    hashed = {name: hashlib.sha256(name.encode("utf-8", "surrogatepass")) for name in names}
    return {name: np.random.default_rng([base, *one.digest()]) for name, one in hashed.items()}


def _about(found, sizes, unlisted):
    lengths = np.concatenate([one.lengths for one in found.values()])
    held = [int((~one.unlisted).sum()) for one in found.values()]
    ends = ((int(min(x)), int(max(x))) for x in (lengths, sizes, held))
    return Lists(unlisted, *ends, len(next(iter(found.values())).ranks.rows.rank))


def _ask(short, sizes, is_among, has_train):
    """Refuse what leaves open where items stand that are not listed."""
    name, one = next(iter(short.items()))
    about = _about({name: one}, sizes, None)
    scores = f"scores of {name!r}" if name else "scores"
    words = {word: what for word, what in UNLISTED.items() if word != "out" or not is_among}
    known = "" if has_train or is_among else Naming("what users know already goes into {train:=}")
    raise InputError(
        "unlisted",
        Naming("must say what items are that {} do not list, {}", scores, with_meanings(words)),
    ).got(Naming("{None:nothing} for {}", lists_said(about)), known)


def lists_said(lists: Lists) -> str:
    """What lists hold, in words."""
    ends = lists.lengths, lists.of, lists.held
    lengths, of, held = (f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in ends)
    return (
        f"lists of {lengths} of {of} items, which hold {held} of {lists.n_held_out:,} held-out ones"
    )


def _the_same_lists(matched):
    """The irrelevant items that all recommenders list, with all held-out ones among them."""
    study, (first, *_) = matched.study, matched.sources
    listed = {name: source.listed(study) for name, source in matched.sources.items()}
    for name, one in listed.items():
        other = np.setxor1d(keys_of(one), keys_of(listed[first]))
        if len(other):
            user, item = divmod(int(other[0]), len(study.items))
            allowed = "must not be 'out' where recommenders list different items"
            got = f"{shown(study.items[item])} for user {shown(study.users[user])} in only one of "
            got += f"{first!r} and {name!r}"
            remedy = Naming("give the candidates as {among:=}")
            raise InputError("unlisted", allowed).got(got, remedy)
    missing = without(study.relevant, listed[first])
    if missing.nnz:
        user, item = (int(one[0]) for one in missing.nonzero())
        raise InputError("unlisted", "must not be 'out' where held-out items are not listed").got(
            f"{missing.nnz:,} of {study.relevant.nnz:,} such as {shown(study.items[item])} of user "
            f"{shown(study.users[user])}",
            Naming("give the candidates as {among:=}"),
        )
    return without(listed[first], study.relevant)


def _look_uniform(matched, lists, drawn):
    """Whether drawn lists look as stated; empty ones are refused."""
    study = matched.study
    empty = np.diff(lists.indptr) == 0
    if empty.any():
        name = "scores" if matched.lists is None else "among"
        raise InputError(name, "must hold drawn items for every user who is evaluated").got(
            f"none for user {shown(study.users[np.argmax(empty)])}", "leave out such users"
        )
    if drawn != "uniform":
        return True
    if not matched.is_known:
        allowed = (
            "must say from how many items lists were drawn, by their number or their ids, where no "
            "scores are of all items and {drawn: is 'uniform'}"
        )
        raise InputError("items", Naming(allowed)).got("None")
    own = study.exclude + study.relevant
    own.resize(own.shape[0], study.n_items)
    entries = Entries(*pairs_of(lists), np.diff(lists.indptr))
    tests = [count_statistic(entries, own)]
    if study.n_items == len(study.items):  # items without a name have no place in an order
        tests.append(mean_statistic(entries, own, np.arange(float(study.n_items))))
    return min(chance for *_, chance in tests) * len(tests) >= _SURPRISE
