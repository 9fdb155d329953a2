"""What the page "Your own numbers" computes, with this package and nothing else.

The page hands over a text and its settings, and shows the HTML that comes back. Ranks are read and
reported by the command of the package, whose line stands in the answer.
"""

import base64
import csv
import io
import os
import re
import shlex
import tempfile
from argparse import Namespace
from html import escape
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

import recsample as rs
from recsample._support.checks import as_float, positive_float
from recsample.evaluation import command_line, say
from recsample.evaluation.files import FURTHER, as_count, read_columns

REPLACE = {"": None, "with": True, "without": False}
MOST_COLUMNS, MOST_NAMED = 12, 3
# How columns are called on the first line that are no ranks of a recommender of that name.
CALLED = {
    "user": "user users user_id userid uid query query_id qid session session_id instance id",
    "rank": "rank sampled_rank",
    "model": "model recommender system",
    "groups": "group groups person",
    "ties": "ties",
}
FALLING = "good ranks are no rarer than worse ones"
WORDS = """<dl>
<dt>value</dt>
<dd>The estimate of the metric with all items ranked. It may be outside of its limits.</dd>
<dt>95 % limits</dt>
<dd>In at least 95 of 100 studies like this one the metric lies between them, wherever the held-out
items stand among all items.</dd>
<dt>if decreasing</dt>
<dd>Limits that hold only if good ranks are no rarer than worse ones, which is likely for a
recommender that works, but can hardly be seen in sampled ranks.</dd>
<dt>vs best</dt>
<dd>Whether the limits of the difference to the best one leave out 0. Undecided: these numbers do
not say who is better, only how far apart the two are at most.</dd>
<dt>sampled</dt>
<dd>The metric of the sampled ranks themselves. It does not estimate the metric with all items
ranked, and may put recommenders in the wrong order.</dd>
</dl>"""
LADDER = """<p>Limits without any assumption, and if no rank within the best fifth is more frequent
than a better one:</p>"""


class Answer:
    """Something to show: HTML."""

    def __init__(self, *parts):
        self.html = "\n".join(filter(None, parts))

    def _repr_html_(self):
        return self.html


def answered_or_refused(what, text, settings):
    """An answer or a plan, or why there is none."""
    try:
        return what(text, settings)
    except rs.InputError as error:
        return Answer(f'<p class="run-error own-refusal" role="alert">{escape(str(error))}</p>')


def answer(text, settings):
    """A verdict, a figure, the table, a sentence to copy, and in folds what else there is."""
    result, read, line = reported(text, settings)
    said = say.averages(result.findings)
    return Answer(
        f'<p class="own-verdict">{escape(verdict(result))}</p>',
        said and f"<p>{escape(said)}</p>",
        picture(result),
        result._repr_html_(),
        f"<p>{escape(read)}</p>",
        notes(result),
        copied("For a paper", "\n\n".join((*result.sentences, result.footnote))),
        fold("What the words mean", WORDS),
        len(result.pairs) and fold("The differences", shown(result.pairs, "")),
        len(result.ladder) and fold("What each assumption buys", LADDER, shown(result.ladder)),
        fold("The table in LaTeX", copied("", result.to_latex())),
        line and fold("The same from a terminal", copied("", line)),
    )


def verdict(result):
    """What the first metric is, by its limits, for each recommender, and who is better."""
    table, metric = result.table, result.table.index.get_level_values("metric")[0]
    if table.index.nlevels == 1:
        table = pd.concat({"": table}, names=["recommender"])
    table = table.xs(metric, level="metric")
    said = [value_of(metric, name, row) for name, row in table.iloc[:MOST_NAMED].iterrows()]
    if len(table) > MOST_NAMED:
        said.append(f"The table has all {len(table)} recommenders.")
    if len(result.pairs):
        pairs = result.pairs.xs(metric, level="metric")
        for (a, b), ahead in pairs["ahead"].items():
            if ahead in (a, b):
                said.append(f"{ahead} is better than {b if ahead == a else a}.")
        open_pairs = pairs[~pairs["ahead"].isin(table.index)]
        if len(pairs) == len(open_pairs) == 1:
            (((a, b), row),) = open_pairs.iterrows()
            only = f"; if {FALLING}, {row['if_ahead']} is" * (row["if_ahead"] in (a, b))
            said.append(
                f"Whether {a} is better than {b} these numbers do not say"
                f"{at_most(open_pairs)}{only}."
            )
        elif len(open_pairs):
            n = f"{len(open_pairs)} of the {len(pairs)} pairs"
            said.append(
                f"Which one is better these numbers do not say for {n}{at_most(open_pairs)}."
            )
    return " ".join(said)


def at_most(pairs):
    """How far apart the recommenders of such pairs can be."""
    apart = np.nanmax(np.append(pairs[["low", "high"]].abs().to_numpy(), -1))
    return "" if apart < 0 else f", only that they are at most {apart:.3f} apart"


def value_of(metric, name, row):
    what = f"{metric} of {name}" if name else metric
    is_other = "if_low" not in row  # of draws that are not uniform
    if np.isnan(row["low"]):
        why = "such draws hardly give these ranks"
        why = "it depends on the number of items" if is_other else why
        return f"Nothing can be said of {what}: {why}."
    if is_other:
        return f"{what} is between {between(row)}, however these items were drawn."
    narrow = "" if np.isnan(row["if_low"]) else f", and {between(row, 'if_')} if {FALLING}"
    return f"{what} is between {between(row)}{narrow}."


def between(row, prefix=""):
    return f"{row[f'{prefix}low']:.3f} and {row[f'{prefix}high']:.3f}"


def plan(text, settings):
    """How many users to rank among all items for narrower limits of the first metric."""
    if settings["kind"] == "printed":
        raise rs.InputError("a plan", "needs the sampled ranks themselves").got(
            "the numbers of a table"
        )
    result, read, _ = reported(text, settings)
    names = [*dict.fromkeys(result.table.index.get_level_values(0))]
    if result.table.index.nlevels > 1 and len(names) > 1:
        raise rs.InputError("a plan", "needs one recommender").got(f"{len(names)}: {names}")
    metric = metrics_of(settings)[0]
    low, high = result.table.iloc[0][["low", "high"]]
    if np.isnan(low):
        why = "such draws hardly give these ranks"
        raise rs.InputError("a plan", f"needs limits of {metric}", remedy=why)
    width = positive_float("width", settings["width"] or f"{(high - low) / 2:.2g}")
    needed = result.plan(metric, width)
    return Answer(
        f"<p>The limits of {escape(str(metric))} are {high - low:.2g} apart now. Whatever the "
        f"exact ranks are, {len(needed.users):,} of the {len(needed.chances):,} users, chosen at "
        f"random and ranked among all items, bring them to {width:.2g}. Rank {needed.first:,} "
        "first: with their exact ranks, in <code>rs.report</code> as <code>exact</code>, "
        "<code>plan</code> mostly asks for far fewer.</p>",
        f"<p>{escape(read)}</p>",
    )


def reported(text, settings):
    """The result, what was read in words, and the command that answers the same."""
    stated = {"drawn": settings["drawn"], "replace": REPLACE[settings["replace"]]}
    metrics = metrics_of(settings)
    if settings["kind"] == "printed":
        sizes = counts("n_items", settings["items"])
        result = rs.from_published(
            text,
            m=counts("m", settings["m"]),
            n_items=sizes[0] if len(sizes) == 1 else tuple(sizes),
            n_users=count("n_users", settings["users"]),
            metrics=metrics if settings["metrics"].strip() else None,
            **stated,
        )
        of = result.table.index
        printed = ", ".join(dict.fromkeys(of.get_level_values("metric")))
        return result, f"Read: {printed}.", None
    n_items = count("n_items", settings["items"])
    with tempfile.TemporaryDirectory() as folder:
        path, columns, named = laid(text, Path(folder))
        try:
            if settings["kind"] == "scores":
                given, read = ranks_of_scores(path, columns, named)
                return rs.report(**given, n_items=n_items, metrics=metrics, **stated), read, None
            asked = Namespace(
                FILE=str(path),
                m=str(count("m", settings["m"])),
                items=str(n_items),
                columns=None if named else columns,
                drawn=settings["drawn"],
                with_replacement=stated["replace"],
                metrics=metrics,
                exact=None,
                chosen=None,
            )
            read = choose_columns(asked, columns)
            result = rs.report(**command_line.ranks_in(asked), metrics=metrics, **stated)
            return result, read, line_of(asked)
        except rs.InputError as error:
            parts = (in_words(part, path.parent) for part in error.args)
            raise rs.InputError(*parts) from None


def in_words(part, folder):
    """A part of a refusal for those who see a form, neither files nor Python."""
    part = part.replace(f"{folder}{os.sep}", "").replace("as --columns names", "as the first line")
    return part.replace("with groups=", "with a column that is called group")


# Reading


def metrics_of(settings):
    """The metrics that are asked for; without any, those that `report` chooses."""
    names = [one.strip() for one in settings["metrics"].split(",") if one.strip()]
    return [rs.metric(one) for one in names or ["Recall@10", "NDCG@10", "AP", "AUC"]]


def counts(name, text):
    """The whole numbers of a field, between spaces."""
    found = [as_count(one.replace(",", "")) for one in text.split()]
    if not found or None in found:
        raise rs.InputError(name, "must be a whole number from 1").got(repr(text))
    return found


def count(name, text):
    found = counts(name, text)
    if len(found) > 1:
        raise rs.InputError(name, "must be one whole number").got(repr(text))
    return found[0]


def laid(text, folder):
    """A file with the text, the names of its columns, and whether they stand on the first line.

    A line of names has no number: where it has, text is an id, such as that of a user.
    """
    text = re.sub("\r\n?", "\n", text).strip("\ufeff\n ")
    if not text:
        raise rs.InputError("there", "must be at least one row of numbers").got("nothing")
    line = text.partition("\n")[0]
    mark = next((mark for mark in "\t;," if mark in line), None)
    if mark is None:  # blanks
        text = "\n".join("\t".join(line.split()) for line in text.splitlines())
    elif mark == ";":
        text = text.replace(";", "\t")
    mark = "," if mark == "," else "\t"
    path = folder / f"pasted.{'csv' if mark == ',' else 'tsv'}"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        first, *below = islice(csv.reader(io.StringIO(text), delimiter=mark), 100)
    except csv.Error as error:
        raise rs.InputError(path.name, f"must be fields between {mark!r}: {error}") from None
    of_text = [is_text(one) for one in first]
    named = any(of_text) and not any(one.strip() and not is_text(one) for one in first)
    if named and not all(of_text):
        raise rs.InputError("every column", "must have a name, which is user for ids").got(first)
    if named:
        columns = first
    elif sum(of_text) > 1:
        raise rs.InputError("one column", "may hold text, the ids").got(first)
    else:
        below = [first, *below]
        columns = ["user" if one else f"column {k + 1}" for k, one in enumerate(of_text)]
    uses, _ = uses_of(columns, ["user", "groups"])
    for name, column in zip(columns, zip(*below)):
        values = [as_float(one) for one in column]
        if not uses and len(values) > 2 and set(np.diff(values)) == {1.0}:
            counted = f"counts {', '.join(column[:3])}, ... as ids do"
            remedy = "call it user on the first line, or leave it out"
            raise rs.InputError(name, counted, remedy=remedy)
    return path, columns, named


def is_text(cell):
    """Whether a cell is a name or an id: no number, of which nan and inf are, and not empty."""
    try:
        float(cell)
    except ValueError:
        return bool(cell.strip())
    return False


def uses_of(columns, of=CALLED):
    """The columns that are called as in CALLED, by what they are for, and all others."""
    uses = {}
    for use in of:
        words = CALLED[use].split()
        found = [name for name in columns if name.strip().lower() in words]
        if len(found) > 1:
            raise rs.InputError("one column", f"may be for {use}").got(found)
        if found:
            uses[use] = found[0]
    return uses, [name for name in columns if name not in uses.values()]


def choose_columns(asked, columns):
    """Tell the command what columns are for, and say so in words.

    Without a column that is called rank, each that is for nothing else is of one recommender.
    """
    uses, others = uses_of(columns)
    rank = uses.pop("rank", None)
    if rank is None and "model" in uses:
        allowed = f"must be called rank beside {uses['model']}"
        raise rs.InputError("a column of ranks", allowed).got(columns)
    asked.rank, unread = (others, []) if rank is None else ([rank], others)
    if not asked.rank:
        allowed = "must be a column of ranks beside the ids"
        raise rs.InputError("there", allowed).got(f"only {columns}")
    if len(asked.rank) > MOST_COLUMNS:
        most = f"at most {MOST_COLUMNS} columns of ranks"
        raise rs.InputError(most, "are read").got(len(asked.rank))
    for use in ("user", "model", "groups"):
        setattr(asked, use, uses.get(use))
    parts = [f"ranks in {', '.join(asked.rank)}", *(f"{use} in {uses[use]}" for use in uses)]
    return f"Read: {', '.join(parts)}{'; not read: ' * bool(unread)}{', '.join(unread)}."


def line_of(asked):
    """The line of a terminal that asks the same."""
    line = ["recsample", "report", f"ranks{Path(asked.FILE).suffix}", "--rank", *asked.rank]
    for option in ("m", "items", "user", "model", "groups", "drawn"):
        value = getattr(asked, option)
        line += [f"--{option}", value] if value else []
    if asked.with_replacement is not None:
        line += ["--with-replacement" if asked.with_replacement else "--without-replacement"]
    line += ["--columns", ",".join(asked.columns)] if asked.columns else []
    return shlex.join([*line, "--metrics", *map(str, asked.metrics)])


def ranks_of_scores(path, columns, named):
    """The ranks that scores make, the positive item's in the first column, and what was read."""
    uses, scores = uses_of(columns, ["user", "groups"])
    found = read_columns(str(path), uses | {"relevance": ...}, header=None if named else columns)
    if len(scores) < 2:
        allowed = "must have two columns or more"
        raise rs.InputError("scores", allowed, remedy="the positive item's first")
    table = np.column_stack([found.by_use[FURTHER + name] for name in scores])
    if table.dtype.kind != "f":
        raise rs.InputError("scores", "must be numbers").got(f"text among {table[0].tolist()}")
    made = rs.predicted_ranks(table, np.zeros(len(table), np.intp))
    ranks = rs.Ranks(made.values, made.n_items, ties=made.ties, ids=found.by_use.get("user"))
    what = f"scores of the positive item in {scores[0]}, of {len(scores) - 1} others beside it"
    read = ", ".join([what, *(f"{use} in {uses[use]}" for use in uses)])
    return {"sampled": ranks, "groups": found.by_use.get("groups")}, f"Read: {read}."


# Showing


def notes(result):
    lines = "".join(f"<li>{escape(line)}</li>" for line in result.notes)
    return lines and f"<h2>Notes</h2>\n<ul>{lines}</ul>"


def shown(table, undefined="refuted"):
    return table.to_html(border=0, float_format="{:.4f}".format, na_rep=undefined)


def fold(title, *parts):
    return f"<details><summary>{title}</summary>\n{''.join(parts)}</details>"


def picture(result):
    import matplotlib.pyplot as plt

    stream = io.StringIO()
    rs.plotting.use_style()
    figure = result.plot()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    data = base64.b64encode(stream.getvalue().encode()).decode()
    said = "The values and limits of the table above, drawn."
    return f'<figure><img alt="{said}" src="data:image/svg+xml;base64,{data}"></figure>'


def copied(title, text):
    head = title and f"<h2>{title}</h2>\n"
    return f'{head}<pre class="run-copied" tabindex="0">{escape(text)}</pre>'
