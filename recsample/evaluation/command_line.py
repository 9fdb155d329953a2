"""The command ``recsample``: reports, evaluations and plans from files, without a script.

    recsample report ranks.csv --m 100 --items 3541 --drawn uniform
    recsample evaluate --scores mine=scores.parquet --held-out test.csv --train train.csv
    recsample published table.csv --m 100 --items 1390 3690 --users 6040 --drawn uniform
    recsample plan ranks.csv --m 100 --items 3541 --drawn uniform --metric recall@10 --width .02

A mistake of the user ends with one line and exit status 2, a mistake of this package with Python's
traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from recsample._support.checks import shown
from recsample._support.extras import extra
from recsample._support.frames import says_relevance
from recsample.evaluation.evaluating import evaluate
from recsample.evaluation.files import as_count, names_in, read_file, read_printed
from recsample.evaluation.published import from_published
from recsample.evaluation.reporting import report
from recsample.evaluation.results import Result
from recsample.ranks.base import Ranks
from recsample.ranks.provenance import WAYS
from recsample.sampling.uniform import UniformSampling

__all__ = ["main"]


_EPILOG = (
    "Files end in .csv, .tsv or .parquet, and text is UTF-8. Ids of users and items and names of "
    "models are text as it stands there: 7, 007 and 7.0 are three users. Whole numbers of a "
    "Parquet file are their digits, so that a 7 there is the 7 of a CSV file."
)
_FORMS = {
    "text": str,
    "json": Result.to_json,
    "markdown": Result.to_markdown,
    "latex": Result.to_latex,
    "csv": Result.to_csv,
    "sentences": lambda result: "\n\n".join(result.sentences),
}
# The options behind arguments of other names, the first that the command has.
_OPTIONS = {
    "cutoff": ["metric", "metrics"],
    "m": ["m", "sample"],
    "n_items": ["items"],
    "n_users": ["users"],
    "probability": ["order"],
    "replace": ["with_replacement"],
    "rng": ["seed"],
    "sampled": ["rank"],
    "sampler": ["sample"],
    "values": ["rank", "table"],
}
# And of arguments that a message names as a way out.
_WAYS_OUT = {
    "negatives='listed'": "--negatives listed",
    "complete=True": "--complete",
    "drawn=)": "--drawn)",
    "relevance=None": "--all-relevant",
    "relevance='": "--relevance '",
}

# What the commands ask for.
_SWITCH = {"action": "store_true"}
_FORMAT: dict[str, Any] = {"choices": [*_FORMS], "default": "text", "dest": "form"}
_HOW = "how the items were drawn: " + "; ".join(f"{way}, {what}" for way, what in WAYS.items())
_DRAWN: dict[str, Any] = {"choices": [*WAYS], "help": _HOW}
_USUAL = ["recall@10", "ndcg@10", "ap", "auc"]
_NUMBERS = {"required": True, "nargs": "+", "type": int}


def _named(what, help, **how):
    """An option that names a column, say, and which one by default."""
    default = f" (default: {how['default']})" if "default" in how else ""
    return {"metavar": what, "help": f"{help}{default}".strip()} | how


_RANKS: dict[str, Any] = {
    "ranks": _named("FILE", "one row per user and relevant item"),
    "--rank": _named("COLUMN", "", default="rank"),
    "--m": {"required": True, "help": "items drawn for each user: number or column"},
    "--items": {"required": True, "help": "size of the pool: number or column"},
    "--drawn": _DRAWN | {"required": True},
    "--user": _named("COLUMN", "where users have several rows, or with --model"),
    "--model": _named("COLUMN", "which recommender a row is of"),
}
_MORE: dict[str, Any] = {
    "--batches": _named("COLUMN", "of --drawn shared: which users share a list"),
    "--exact": _named(
        "COLUMN", "ranks among all items of users chosen by chance, blank for others"
    ),
    "--chosen": _named("COLUMN", "the chance of each user to be so (default: chosen at random)"),
}
_OF_MANY = "needed, this or the other, where a tenth of the pool or more was drawn"
_WITHOUT = "(see --with-replacement)"
_REPLACEMENT: dict[str, Any] = {
    "--with-replacement": {"action": "store_const", "const": True, "help": _OF_MANY},
    "--without-replacement": {"action": "store_const", "const": False, "help": _WITHOUT}
    | {"dest": "with_replacement"},
}
_METRICS: dict[str, Any] = {"--metrics": _named("METRIC", "", default=_USUAL, nargs="+")}
_PLAN: dict[str, Any] = {
    "--metric": {"required": True, "help": "such as ndcg@10"},
    "--width": {"type": float, "required": True, "help": "the upper limit minus the lower one"},
}
_PAPER: dict[str, Any] = {
    "table": _named("FILE", "a row for each recommender, a column for each metric"),
    "--m": _NUMBERS | {"help": "items drawn for each user; several where the paper leaves it open"},
    "--items": _NUMBERS | {"help": "size of the pools, or of the smallest and the largest one"},
    "--users": {"required": True, "type": int, "help": "of the test set"},
    "--drawn": _DRAWN | {"required": True},
    "--metrics": _named("METRIC", "(default: those of the table)", nargs="+"),
}
_SCORES = "columns user, item, score; several recommenders by names, or by a column model"
_RELEVANT = "of --held-out: rows above 0 are relevant, grades the gains of ndcg and dcg"
_TABLES: dict[str, Any] = {
    "--scores": _named("[NAME=]FILE", _SCORES, required=True, nargs="+"),
    "--held-out": _named("FILE", "columns user, item", required=True),
    "--relevance": _named("COLUMN", _RELEVANT),
    "--all-relevant": _SWITCH | {"help": "every row of --held-out is, whatever a column says"},
    "--train": _named("FILE", "columns user, item: not ranked"),
    "--complete": _SWITCH | {"help": "items that are not listed are known to be below"},
    "--with-replacement": _SWITCH | {"help": "of --sample"},
    "--drawn": _DRAWN | {"help": f"of --negatives, {_HOW}"},
    "--seed": {"type": int, "default": 0, "help": "of --sample (default: 0)"},
    "--user": _named("COLUMN", "", default="user"),
    "--item": _named("COLUMN", "", default="item"),
    "--score": _named("COLUMN", "", default="score"),
    "--model": _named("COLUMN", "(default: model, where there is one)"),
}
_THESE = (
    "columns user, item: rank among these; or the word listed: among the items that scores list"
)
_AMONG: dict[str, Any] = {
    "--sample": _named("M", "rank among M random items", type=int),
    "--negatives": _named("FILE", _THESE),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands behind the name of the command; by default what it was called with.

    Returns
    -------
    int
        The exit status: 0, or 2 after a mistake.

    Examples
    --------
    >>> from recsample.evaluation.command_line import main
    >>> main("report nothing.csv --m 100 --items 3541 --drawn uniform".split())
    2
    """
    try:
        asked = _parser().parse_args(arguments)
    except SystemExit as end:  # after --help, say
        sys.exit(end.code or _write(""))
    except OSError as error:
        return _unwritten(error)
    try:
        text = asked.run(asked)
    except (ValueError, ModuleNotFoundError, MemoryError) as error:
        if not _is_refusal(error):
            raise
        return _refuse(_of_options(str(error), asked))
    return _write(text.rstrip("\n") + "\n")


def _write(text):
    """Write to the output, and give the exit status."""
    try:
        print(text, end="", flush=True)
    except (OSError, UnicodeEncodeError) as error:
        return _unwritten(error)
    return 0


def _unwritten(error):
    """Drop what the output did not take, and give the exit status."""
    # Python would write what is left, and fail again, when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # who reads on has had enough
        return 0
    return _refuse(f"the output must go where it can be written: {error}")


def _refuse(why):
    print(f"recsample: error: {' '.join(why.split())}", file=sys.stderr)
    return 2


def _of_options(message, asked):
    """A message about an argument, with the option of the command in its place."""
    for written, option in _WAYS_OUT.items():
        message = message.replace(written, option)
    argument, space, rest = message.partition(" ")
    for option in _OPTIONS.get(argument, [argument]):
        if option == "table" and option in asked:
            return f"FILE{space}{rest}"
        if option in asked:
            return f"--{option.replace('_', '-')}{space}{rest}"
    return message


def _is_refusal(error):
    """Whether this package itself raised it, as it does for what it was handed and nothing else."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__package__")).partition(".")[0] == __name__.partition(".")[0]


def _parser():
    parser = argparse.ArgumentParser(
        prog="recsample",
        description="Metrics for item recommendation: exact, sampled and corrected.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    tables = _FORMAT | {"choices": [form for form in _FORMS if form != "sentences"]}
    # What each asks for, in which form it answers, and options of which no two stand together.
    for name, run, help, options, form, *apart in (
        ("report", _report, "what sampled ranks say of the exact metrics",
         _RANKS | _MORE | _METRICS, _FORMAT, _REPLACEMENT),
        ("published", _published, "what the numbers of a printed table say",
         _PAPER, _FORMAT, _REPLACEMENT),
        ("plan", _plan, "how many users to rank among all items",
         _RANKS | _PLAN, tables, _REPLACEMENT),
        ("evaluate", _evaluate, "recommenders from scores of items",
         _TABLES | _METRICS, _FORMAT, _AMONG),
    ):  # fmt: skip
        about = f"{help[0].upper()}{help[1:]}."
        command = commands.add_parser(name, help=help, description=about, epilog=_EPILOG)
        command.set_defaults(run=run, exact=None, chosen=None)
        _ask(command, options | {"--format": form})
        for one in apart:
            _ask(command.add_mutually_exclusive_group(), one)
    return parser


def _ask(asking, options):
    for name, how in options.items():
        asking.add_argument(name, **how)


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, *_):
        sys.exit(_write(f"recsample {version('recsample')}\n"))


def _sampled(asked):
    """The sampled ranks in the file, the sizes of the pools, and its rows, by recommender."""
    uses = ("rank", "m", "items", "user", "model", "batches", "exact", "chosen")
    wanted = {use: given for use in uses if (given := getattr(asked, use, None)) is not None}
    one = {use: number for use in ("m", "items") if (number := as_count(wanted[use])) is not None}
    table = read_file(asked.ranks, wanted | {"ties": "ties"}, {"ties", *one})
    table = table.assign(**{use: number for use, number in one.items() if use not in table})
    parts = {"": table} if asked.model is None else dict(list(table.groupby("model", sort=True)))
    if asked.user is None and len(parts) > 1:
        raise ValueError(
            "--user must name the column of users where there are several recommenders, which are "
            f"compared user by user, got none for {list(parts)}"
        )
    if asked.user is not None and asked.model is not None:  # the same users in the same order
        parts = {name: part.sort_values("user", kind="stable") for name, part in parts.items()}
    ranks = {name: _ranks(part) for name, part in parts.items()}
    shared = [use for use in ("items", "batches") if use in table]
    columns = {use: {name: _of_users(part, use) for name, part in parts.items()} for use in shared}
    first, *others = ranks
    for name in others:
        alone = np.setxor1d(ranks[first].ids, ranks[name].ids)
        if len(alone):
            raise ValueError(
                "--user must name the same users for each recommender, got "
                f"{shown(alone[0])} for only one of {first!r} and {name!r}"
            )
        for use, column in columns.items():
            if not np.array_equal(column[first], column[name]):
                raise ValueError(
                    f"--{use} must be the same for all recommenders of a user, got others for "
                    f"{name!r} than for {first!r}"
                )
    return ranks, columns["items"][first], parts


def _audited(asked, ranks, parts):
    """The arguments of an audit, where the file has one."""
    if asked.exact is None:
        if asked.chosen is not None:
            raise ValueError(f"--exact must be given with --chosen, got only {asked.chosen!r}")
        return {}
    exact = {name: _exact(part, ranks[name]) for name, part in parts.items()}
    audit = {"exact": exact[""] if asked.model is None else exact}
    if asked.chosen is not None:
        rows = next(iter(parts.values()))
        once = rows if "user" not in rows else rows.drop_duplicates("user")
        audit["chosen"] = once["chosen"].to_numpy()
    return audit


def _exact(table, ranks):
    """Who was audited, and their exact ranks."""
    known = table["exact"].notna().to_numpy()
    if not known.any():
        raise ValueError("--exact must hold ranks of at least two users, got none")
    rows = table[known].drop(columns="ties", errors="ignore")
    rows = rows.assign(rank=rows["exact"].astype(np.int64), n_items=rows["items"])
    found = Ranks.from_frame(rows, user="user" if "user" in rows else None)
    if found.ids is None:
        return np.flatnonzero(known), found
    return extra("pandas").Index(ranks.ids).get_indexer(found.ids), found


def _ranks(table):
    user = "user" if "user" in table else None
    n_relevant = 1 if user is None else table.groupby(user)["rank"].transform("size")
    table = table.assign(n_items=table["m"] + n_relevant)
    beyond = table[table["rank"] > table["n_items"]]
    if len(beyond):
        raise ValueError(
            f"--rank must be at most {beyond['n_items'].iloc[0]}, --m and the relevant items of "
            f"the user, got {beyond['rank'].iloc[0]} in {beyond.index.name} {beyond.index[0]}"
        )
    return Ranks.from_frame(table, user=user)


def _of_users(table, use):
    if "user" not in table:
        return table[use].to_numpy()
    given = table.groupby("user", sort=False)[use]
    several = given.nunique() > 1
    if several.any():
        raise ValueError(
            f"--{use} must be one value for each user, got several for {several.idxmax()!r}"
        )
    return given.first().to_numpy()


def _reported(asked, metrics):
    runs, sizes, parts = _sampled(asked)
    rows = next(iter(parts.values()))
    return report(
        runs[""] if asked.model is None else runs,
        n_items=sizes,
        drawn=asked.drawn,
        batches=_of_users(rows, "batches") if "batches" in rows else None,
        metrics=metrics,
        replace=asked.with_replacement,
        **_audited(asked, runs, parts),
    )


def _report(asked):
    return _FORMS[asked.form](_reported(asked, asked.metrics))


def _published(asked):
    result = from_published(
        read_printed(asked.table),
        m=asked.m,
        n_items=tuple(asked.items),
        n_users=asked.users,
        drawn=asked.drawn,
        replace=asked.with_replacement,
        metrics=asked.metrics,
    )
    return _FORMS[asked.form](result)


def _plan(asked):
    if asked.drawn == "shared":
        raise ValueError("--drawn must be uniform for a plan, of lists of each user's own")
    if asked.model is not None:
        raise ValueError("--width plans for one recommender: give a file without --model")
    planned = _reported(asked, [asked.metric]).plan(asked.metric, asked.width)
    table = planned.rename_axis("for")
    if asked.form == "json":
        return json.dumps(json.loads(table.reset_index().to_json(orient="records")), indent=2)
    if asked.form == "markdown":
        extra("tabulate")
        return table.to_markdown()
    if asked.form == "csv":
        return table.to_csv(lineterminator="\n")
    return table.to_latex(escape=True) if asked.form == "latex" else table.to_string()


def _held_out(asked, pair):
    """The held-out items, with what may say which of them are relevant."""
    if asked.all_relevant and asked.relevance is not None:
        raise ValueError("--all-relevant must not stand beside --relevance, got both")
    if asked.all_relevant:
        return {"held_out": read_file(asked.held_out, pair), "relevance": None}
    if asked.relevance is not None:
        table = read_file(asked.held_out, pair | {"relevance": asked.relevance})
        return {"held_out": table, "relevance": "relevance"}
    names = [one for one in names_in(asked.held_out) if one not in pair.values()]
    asking = next(filter(says_relevance, names), None)
    found = {} if asking is None else {"relevance": asking}
    return {"held_out": read_file(asked.held_out, pair | found).rename(columns=found)}


def _evaluate(asked):
    named = [text.partition("=")[::2] if "=" in text else ("", text) for text in asked.scores]
    if len(named) > 1 and not all(name for name, _ in named):
        raise ValueError(f"--scores must name each of several files, NAME=FILE, got {asked.scores}")
    if len({name for name, _ in named}) < len(named):
        raise ValueError(f"--scores must have different names, got {asked.scores}")
    pair = {"user": asked.user, "item": asked.item}
    triple = pair | {"score": asked.score, "model": asked.model or "model"}
    optional = () if asked.model else ("model",)
    tables: Any = {name: read_file(path, triple, optional) for name, path in named}
    files = {"train": asked.train, "negatives": asked.negatives}
    read = {
        use: path if path == "listed" else read_file(path, pair)
        for use, path in files.items()
        if path is not None
    }
    read |= _held_out(asked, pair)
    drawn = asked.sample is not None
    result = evaluate(
        tables.get("", tables),
        drawn=asked.drawn,
        metrics=asked.metrics,
        sampler=UniformSampling(asked.sample, asked.with_replacement) if drawn else None,
        complete=asked.complete,
        rng=asked.seed,
        **read,
    )
    return _FORMS[asked.form](result)


if __name__ == "__main__":
    sys.exit(main())
