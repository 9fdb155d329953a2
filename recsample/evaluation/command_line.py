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
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from operator import methodcaller

import numpy as np

import recsample as rs  # which loads what is asked for
from recsample._support.checks import refuse_first
from recsample._support.errors import InputError
from recsample._support.extras import MissingExtra, extra
from recsample.evaluation.files import as_count, read_columns, read_file, text_of
from recsample.evaluation.groups import by_user
from recsample.evaluation.options import DRAWN, REPORTED, UNLISTED, with_meanings

__all__ = ["main"]


_EPILOG = (
    "Files end in .csv, .tsv, .inter (RecBole), .negative (NCF) or .parquet, text also in .csv.gz "
    "and so on, and text is UTF-8; - is CSV from the standard input. Other files, such as TREC's, "
    "have fields between blanks and columns named by --columns user,q0,item,rank,score,run, as do "
    "files that begin with no names. An option that takes [FILE=] says something of one file, "
    "--user scores=user_id, where FILE is scores, held-out, train, items or among, and without it "
    "of all others. Ids of users and items and names of models are "
    "text as it stands there: 7, 007 and 7.0 are three users. Whole numbers of a Parquet file are "
    "their digits, so that a 7 there is the 7 of a CSV file."
)
# What may be said of one of several files, as in --user scores=user_id.
_FILES = ("scores", "held-out", "train", "items", "among")
_SAID = ("user", "item", "score", "model", "relevance", "columns")
_RESULT = {
    "text": str,
    **{form: methodcaller(f"to_{form}") for form in ("json", "markdown", "latex", "csv")},
    "sentences": lambda result: "\n\n".join((*result.sentences, result.footnote)),
}
# Of a plan: what it says, and a table.
_PLAN = {
    "text": lambda plan: plan[0],
    "json": lambda plan: plan[1].to_json(orient="records", indent=2),
    "csv": lambda plan: plan[1].to_csv(index=False, lineterminator="\n"),
}
# Options behind arguments of other names, the first that the command has and that was given.
_OPTIONS = {
    "among": ["among", "sample"],
    "cutoff": ["metrics", "metric"],
    "m": ["m", "sample"],
    "metrics": ["metrics", "metric"],
    "n_items": ["items"],
    "n_users": ["users"],
    "replace": ["with_replacement"],
    "rng": ["seed"],
    "sampled": ["rank"],
    "values": ["rank", "FILE"],
    "relevance=None": ["all_relevant"],
    "replace=True": ["with_replacement"],
    "replace=False": ["without_replacement"],
}
_STATES = {
    " is None": " is not given",
    " is a dataframe": " is given",
    " is a sampler": " is given",
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
        found = asked.command(asked)
        if hasattr(found, "made"):  # a plan is no result
            words = sys.argv[1:] if arguments is None else arguments
            line = shlex.join(re.sub(r"[^=]*[/\\]", "", one) for one in words)  # without folders
            found = replace(found, made={**found.made, "command": f"recsample {line}"})
        text = asked.forms[asked.form](found)
    except MissingExtra as error:
        return _refuse(str(error))
    except InputError as error:  # any other one is a mistake of this package
        return _refuse(error.told(partial(_in_options, asked)))
    status = _write(text.rstrip("\n") + "\n")
    for note in getattr(found, "notes", ()):  # which only JSON holds; a plan has none
        print(f"recsample: note: {' '.join(note.split())}", file=sys.stderr)
    return status


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


def _in_options(asked, argument, behind):
    """An argument and what stands behind it in a message, in the words of the command."""
    if argument == "None":
        return behind
    if switch := _options_of(asked, argument + behind):
        return switch[0]
    first, space, rest = argument.partition(" ")
    if not (options := _options_of(asked, first)):
        return argument + behind
    called = f"{options[0]}{space}{rest}"
    if behind.startswith("="):
        value = behind[1:].strip("'")
        return f"{called} {shlex.quote(value)}" if value else called
    return called + _STATES.get(behind, behind)


def _options_of(asked, argument):
    """The options behind an argument, those that were given first."""
    known = [one for one in _OPTIONS.get(argument, [argument]) if hasattr(asked, one)]
    given = [one for one in known if getattr(asked, one) is not None]
    return [one if one == "FILE" else f"--{one.replace('_', '-')}" for one in given or known]


class _Once(argparse.Action):
    """Stores a value, and refuses an option that is given twice."""

    def __call__(self, parser, namespace, values, option=None):
        if getattr(namespace, self.dest) != self.default:
            parser.error(f"{option} must be given once, got {values!r} too")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """One whose refusals are one line."""

    def __init__(self, **about):
        super().__init__(**about)
        self.register("action", None, _Once)

    def error(self, message):
        sys.exit(_refuse(f"{message} (see {self.prog} --help)"))


def _parser():
    parser = _Parser(
        prog="recsample",
        description="Metrics for item recommendation: exact, sampled and corrected.",
        epilog=_EPILOG,
    )
    stated = f"%(prog)s {version('recsample')}"
    parser.add_argument("--version", action="version", version=stated)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help, ask, run, forms in (
        ("report", "what sampled ranks say of the exact metrics", _ask_report, _report, _RESULT),
        (
            "published",
            "what the numbers of a printed table say",
            _ask_published,
            _published,
            _RESULT,
        ),
        ("plan", "how many users it takes for a width of limits", _ask_plan, _plan, _PLAN),
        ("evaluate", "recommenders from scores of items", _ask_evaluate, _evaluate, _RESULT),
    ):
        about = f"{help[0].upper()}{help[1:]}."
        command = commands.add_parser(name, help=help, description=about, epilog=_EPILOG)
        ask(command, command.add_argument)
        command.add_argument("--format", choices=[*forms], default="text", dest="form")
        command.set_defaults(command=run, forms=forms)
    return parser


def _ask_report(command, add):
    _ask_ranks(command, add)
    chosen = "the chance of each user to be so (default: chosen at random)"
    add("--chosen", metavar="COLUMN", help=chosen)
    _ask_metrics(add)


def _ask_plan(command, add):
    _ask_ranks(command, add, sampled="where ranks are sampled")
    add("--metric", required=True, help="such as ndcg@10")
    add("--width", required=True, type=float, help="the upper limit minus the lower one")
    add("--seed", type=int, default=0, help="of the choice of users (default: 0)")
    command.set_defaults(chosen=None)


def _ask_ranks(command, add, sampled=""):
    add("FILE", help="one row per user")
    several = "(default: rank); several: the ranks of a recommender each, in rows of the same users"
    add("--rank", metavar="COLUMN", nargs="+", default=["rank"], help=several)
    drawn = ", ".join(filter(None, ["items drawn for each user: number or column", sampled]))
    add("--m", required=not sampled, help=drawn)
    add("--items", required=True, help="size of the pool: number or column")
    add("--user", metavar="COLUMN", help="to match the rows of --model by")
    whose = "whose a row is, where one person has several: limits count groups"
    add("--groups", metavar="COLUMN", help=whose)
    add("--model", metavar="COLUMN", help="which recommender a row is of")
    exact = "ranks among all items of users chosen by chance, blank for others"
    add("--exact", metavar="COLUMN", help=exact)
    add("--columns", metavar="NAME,NAME", type=_names, help="of a file that begins with no names")
    _ask_draws(command, add, required=not sampled)


def _ask_published(command, add):
    add("FILE", help="text: recommenders and metrics as rows and columns; CSV, Markdown, pasted")
    numbers = {"required": True, "type": int, "nargs": "+"}
    add("--m", **numbers, help="items drawn for each user; several where the paper leaves it open")
    add("--items", **numbers, help="size of the pools, or of the smallest and the largest one")
    users = "of the test set, with one relevant item each, which a table seldom tells"
    add("--users", required=True, type=int, help=users)
    add("--metrics", metavar="METRIC", nargs="+", help="(default: those of the table)")
    _ask_draws(command, add)


def _ask_draws(command, add, required=True):
    add("--drawn", required=required, **_words("how the items were drawn", REPORTED))
    add = command.add_mutually_exclusive_group().add_argument
    one = {"action": "store_const", "dest": "with_replacement"}
    needed = "needed, this or the other, where a tenth of the pool was drawn, or not uniformly"
    add("--with-replacement", const=True, help=needed, **one)
    add("--without-replacement", const=False, help="(see --with-replacement)", **one)
    command.set_defaults(without_replacement=None)  # so that it is known by this name too


def _ask_metrics(add):
    add("--metrics", metavar="METRIC", nargs="+", help="(default: recall@10 ndcg@10 ap auc)")


def _ask_evaluate(command, add):
    scores = "columns user, item, score; several recommenders by names, or by a column model"
    add("--scores", metavar="[NAME=]FILE", nargs="+", required=True, help=scores)
    add("--held-out", metavar="FILE", required=True, help="columns user, item")
    relevance = command.add_mutually_exclusive_group().add_argument
    relevant = "of --held-out: rows above 0 are relevant, grades the gains of ndcg and dcg"
    relevance("--relevance", **_per_file("COLUMN"), help=relevant)
    every = "every row of --held-out is, whatever a column says"
    relevance("--all-relevant", action="store_true", help=every)
    add("--train", metavar="FILE", help="columns user, item: not ranked")
    catalogue = "column item: the catalogue (default: all items of the files), or how many it has"
    add("--items", metavar="FILE", help=catalogue)
    among = command.add_mutually_exclusive_group().add_argument
    among("--among", metavar="FILE", help="columns user, item: rank held-out items among these")
    among("--sample", metavar="M", type=int, help="rank them among M random items")
    add("--with-replacement", action="store_true", help="of --sample")
    add("--seed", type=int, default=0, help="of --sample (default: 0)")
    add("--unlisted", **_words("what an item is that --scores do not list for a user", UNLISTED))
    add("--drawn", **_words("how the items of --among, or those listed, were drawn", DRAWN))
    whose = "of --held-out: whose a user is, as of sessions: limits count groups"
    add("--groups", metavar="COLUMN", help=whose)
    add("--run", metavar="COLUMN", help="of --scores: the seed or fold; limits count runs too")
    _ask_metrics(add)
    for use in ("user", "item", "score"):
        add(f"--{use}", **_per_file("COLUMN"), help=f"(default: {use})")
    add("--model", **_per_file("COLUMN"), help="(default: model, where there is one)")
    add("--columns", **_per_file("NAME,NAME"), help="of a file that begins with no names")


def _per_file(value):
    """An option of which one value is for all files, and others for one file each."""
    return {"metavar": f"[FILE=]{value}", "nargs": "+", "action": "extend"}


def _names(text):
    return text.split(",")


def _metrics(asked):
    """The metrics that are asked for, between spaces or commas; those within brackets part none."""
    listed = ",".join(asked.metrics or ())
    return [one for one in re.split(r",(?![^(]*\))", listed) if one] or None


def _words(asked, words):
    """An option whose value is one of some words, which the package checks."""
    meanings = with_meanings(words).told(lambda argument, _: f"--{argument}")
    return {"metavar": f"{{{','.join(words)}}}", "help": f"{asked}: {meanings}"}


def _report(asked):
    return rs.report(**ranks_in(asked), **_draws(asked), metrics=_metrics(asked))


def _plan(asked):
    given, how = ranks_in(asked), (asked.metric, asked.width, asked.seed)
    if asked.m is None:
        from recsample.evaluation.exact import Exact  # which needs SciPy

        ranks, metric = given["sampled"], rs.metric(asked.metric)
        runs = ranks if isinstance(ranks, Mapping) else {"": ranks}
        study = Exact(ranks=runs, metrics=(metric,), named=len(runs) > 1)
        table = study.plan(metric, *how[1:])
        return table.to_string(), table.reset_index()
    plan = rs.report(**given, **_draws(asked), metrics=[asked.metric]).plan(*how)
    ids, first = given["sampled"].ids, np.arange(len(plan.users)) < plan.first
    users = plan.users if ids is None else ids[plan.users]
    return str(plan), extra("pandas").DataFrame({"user": users, "first": first})


def _draws(asked):
    return {"drawn": asked.drawn, "replace": asked.with_replacement}


def ranks_in(asked):
    """What a file of sampled ranks says, by the arguments of `rs.report`."""
    columns = _columns_of_ranks(asked)
    if asked.model is not None:
        parts = {name: ("rank 0", rows) for name, rows in _rows_by_model(columns).items()}
    else:
        parts = {name: (f"rank {k}", slice(None)) for k, name in enumerate(asked.rank)}
    ranks, exact = {}, {}
    for name, (use, rows) in parts.items():
        part = {key: column[rows] for key, column in columns.items()}
        ranks[name] = rs.Ranks(part[use], part["among"], ties=part["ties"], ids=part.get("user"))
        exact[name] = part.get("exact")
    first = next(iter(parts.values()))[1]
    several = asked.model is not None or len(parts) > 1
    found = {use: columns[use][first] for use in ("groups", "chosen") if use in columns}
    if asked.exact is not None:
        found["exact"] = exact if several else exact.popitem()[1]
    found["n_items"] = as_count(asked.items) or columns["items"][first]
    return {"sampled": ranks if several else ranks.popitem()[1], **found}


def _columns_of_ranks(asked):
    """The columns of a file of sampled ranks, by what they are for; "rank 0" is the first rank."""
    uses = ("m", "items", "user", "groups", "model", "exact", "chosen")
    wanted = {use: given for use in uses if (given := getattr(asked, use)) is not None}
    numbers = {use: as_count(wanted.get(use, "")) for use in ("m", "items")}
    numbers = {use: one for use, one in numbers.items() if one is not None}
    wanted |= {f"rank {k}": name for k, name in enumerate(asked.rank)} | {"ties": "ties"}
    found = read_columns(asked.FILE, wanted, {"ties", *numbers}, asked.columns)
    of_one = [use for use in ("model", "exact", "ties") if use in found.by_use]
    if len(asked.rank) > 1 and of_one:
        raise InputError("sampled", f"must be one column beside one of {of_one[0]}").got(asked.rank)
    columns = {use: np.full(len(found.numbers), one) for use, one in {"ties": 0, **numbers}.items()}
    columns |= found.by_use
    place = np.array([f"{found.place} {at}" for at in found.numbers])
    what, most = ("m + 1", columns["m"] + 1) if asked.m else ("items", columns["items"])
    got = "{1} in {2}"
    for k in range(len(asked.rank)):  # whose lines only the file knows
        rank, allowed = columns[f"rank {k}"], f"must be at most {what} = {{0}}"
        refuse_first(rank > most, "rank", allowed, got, most, rank, place)
    return columns | {"among": most}


def _rows_by_model(columns):
    """The rows of each recommender, by their users, of whom all else must say the same."""
    names, which = np.unique(columns["model"], return_inverse=True)
    if len(names) > 1 and "user" not in columns:
        raise InputError(
            "user",
            "must name the column of users where there are several recommenders, which are "
            "compared user by user",
        ).got(f"none for {names.tolist()}")
    users = columns.get("user", which)
    for use in ("items", "groups", "chosen"):
        if use in columns and len(names) > 1:
            by_user(use, users.tolist(), columns[use].tolist())
    order = np.argsort(users, kind="stable")
    return {name: order[which[order] == k] for k, name in enumerate(names)}


def _published(asked):
    return rs.from_published(
        text_of(asked.FILE),
        m=asked.m,
        n_items=tuple(asked.items),
        n_users=asked.users,
        drawn=asked.drawn,
        replace=asked.with_replacement,
        metrics=_metrics(asked),
    )


def _evaluate(asked):
    named = [text.partition("=")[::2] if "=" in text else ("", text) for text in asked.scores]
    if len(named) > 1 and not all(name for name, _ in named):
        raise InputError("scores", "must name each of several files, NAME=FILE").got(asked.scores)
    if len({name for name, _ in named}) < len(named):
        raise InputError("scores", "must have different names").got(asked.scores)
    said = {use: _by_file(use, getattr(asked, use)) for use in _SAID}
    said |= {use: dict.fromkeys(_FILES, getattr(asked, use)) for use in ("groups", "run")}
    of_held_out, of_train = (said["relevance"][file] for file in ("held-out", "train"))
    relevance = None if asked.all_relevant else of_held_out or of_train or ...

    def read(file, path, uses, optional=()):
        wanted = {use: said[use][file] or (use if use != "relevance" else ...) for use in uses}
        header = said["columns"][file]
        return read_file(path, wanted, optional, header and _names(header))

    model = () if said["model"]["scores"] else ("model",)
    pair = ["user", "item"]
    relevant = pair if asked.all_relevant else [*pair, "relevance"]
    whose, run = (["groups"] if asked.groups else []), (["run"] if asked.run else [])
    scored = [*pair, "score", "model", *run]
    scores = {name: read("scores", path, scored, model) for name, path in named}
    train = asked.train
    if train is not None:
        train = read("train", train, relevant, ["relevance"] * (of_train == of_held_out))
        train = train.rename(columns={of_train: relevance})
    items = as_count(asked.items or "") or asked.items
    if isinstance(items, str):
        items = read("items", items, ["item"])["item"].to_numpy()
    among = asked.among and read("among", asked.among, pair)
    if asked.sample is not None:
        among = rs.UniformSampling(asked.sample, asked.with_replacement)
    elif asked.with_replacement:
        raise InputError("replace", "must stand beside --sample").got("it without")
    return rs.evaluate(
        scores.get("", scores),
        read("held-out", asked.held_out, [*relevant, *whose]),
        train=train,
        items=items,
        among=among,
        unlisted=asked.unlisted,
        drawn=asked.drawn,
        relevance=relevance,
        groups=asked.groups,
        run=asked.run,
        metrics=_metrics(asked),
        rng=asked.seed,
    )


def _by_file(use, given):
    """What an option says of each file: of one after its name and =, else of all others."""
    form = rf"(?:({'|'.join(_FILES)})=)?(.*)"
    said = [re.fullmatch(form, one, re.DOTALL).groups() for one in given or ()]
    found = dict(said)
    if len(found) < len(said):
        raise InputError(use, "must be said once for each file").got(given)
    return {file: found.get(file, found.get(None)) for file in _FILES}
