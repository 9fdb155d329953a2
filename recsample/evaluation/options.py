"""The words that state how items were ranked, declared once for Python and for the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recsample._support.checks import is_one_of, shown
from recsample._support.errors import InputError, Naming

# What an item is that the scores of a user do not list.
UNLISTED: Mapping[str, str] = {
    "missed": "never found, as most libraries count lists of the best items",
    "below": "tied behind the listed ones",
    "open": "behind the listed ones in an order that nobody knows, which leaves bounds",
    "out": "not ranked: what is listed are the candidates, and {drawn:=} says how they were drawn",
}
# How the items were drawn that held-out ones are ranked among.
DRAWN: Mapping[str, str] = {
    "uniform": "at random with equal chances, anew for each user",
    "popular": "popular items more often",
    "unknown": "otherwise, or nobody knows",
    "all": "nothing was drawn: these are all the items that there are to rank",
}
# Of ranks that exist already: what they are among.
REPORTED: Mapping[str, str] = {word: DRAWN[word] for word in ("uniform", "popular", "unknown")}

# The ends of counts of what is expected, so that no note tells of them.
EXPECTED = (
    "scores of items in train, which are not ranked",
    "of users who are not evaluated, left out",
)

# What may stand together: the kind of `among`, the words of `unlisted`, those of `drawn`.
_ANY, _BEHIND = (None, "missed", "below", "open"), (None, "below")
_TOGETHER: tuple[tuple[str, tuple[str | None, ...], tuple[str | None, ...]], ...] = (
    ("None", _ANY, (None, "all")),
    ("None", ("out",), tuple(DRAWN)),
    ("a dataframe", _ANY, ("all",)),
    ("a dataframe", _BEHIND, tuple(REPORTED)),
    ("a sampler", _BEHIND, (None,)),
)


def check_together(among: str, unlisted: Any, drawn: Any) -> None:
    """Refuse what has no meaning; `among` is "None", "a dataframe" or "a sampler"."""
    check_word("unlisted", unlisted, UNLISTED, or_none=True)
    check_word("drawn", drawn, DRAWN, or_none=True)
    rows = [(words, ways) for kind, words, ways in _TOGETHER if kind == among]
    where = f"where {{among: is {among}}}"
    allowed = {way for words, ways in rows if unlisted in words for way in ways}
    if not allowed:
        every = dict.fromkeys(word for words, _ in rows for word in words)
        got = repr(unlisted)
        raise InputError("unlisted", Naming(f"must be {_listing(every)} {where}")).got(got)
    if drawn not in allowed:
        # The message says what is allowed beside this `unlisted`, not beside other ones.
        words = _listing(way for way in (None, *DRAWN) if way in allowed)
        lists = Naming("{unlisted:='out'} says that lists are the candidates")
        raise InputError(
            "drawn", Naming(f"must be {words} {where} and {{unlisted: is {unlisted!r}}}")
        ).got(repr(drawn), lists if among == "None" and unlisted is None else "")


def check_word(name: str, value: Any, words: Mapping[str, str], or_none: bool = False) -> Any:
    """Return ``value``; refuse what is none of the words, and say what each of them means."""
    if not (or_none and value is None) and not (value is not None and is_one_of(value, words)):
        allowed = Naming("must be {}", with_meanings(words))
        raise InputError(name, allowed).got(shown(value), _cure(value))
    return value


def with_meanings(words: Mapping[str, str]) -> Naming:
    """All words, and what each of them means."""
    *others, last = (f"{word!r} ({what})" for word, what in words.items())
    return Naming(f"{', '.join(others)}, or {last}")


def _cure(value):
    if not is_one_of(value, ("shared",)):
        return ""
    return Naming(
        "of lists that users share, rank all items for some users chosen at random, and give their "
        "ranks to report as {exact:=}"
    )


def _listing(words: Iterable[str | None]) -> str:
    *others, last = ("{None:left out}" if word is None else repr(word) for word in words)
    return f"{', '.join(others)} or {last}" if others else last
