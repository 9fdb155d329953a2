"""What the page "Your own numbers" computes, with this package and nothing else.

The page hands over a text and its settings, and shows the HTML that comes back.
"""

import base64
import io
from contextlib import suppress
from html import escape
from math import isfinite

import numpy as np
import pandas as pd

import recsample as rs
from recsample._support.checks import as_float, positive_float
from recsample.evaluation.files import as_count

REPLACE = {"": None, "with": True, "without": False}
MOST_COLUMNS = 12
# How a column of ids is called on the first line.
IDS = "user users user_id userid uid query query_id qid session session_id instance id".split()
FALLING = "good ranks are no rarer than worse ones"


class Answer:
    """Something to show: HTML."""

    def __init__(self, *parts):
        self.html = "\n".join(filter(None, parts))

    def _repr_html_(self):
        return self.html


def answer(text, settings):
    """What the numbers say in one paragraph, a figure, the table, what it rests on, and copies."""
    result, _ = reported(text, settings)
    return Answer(
        f'<p class="own-verdict">{escape(verdict(result))}</p>',
        picture(result),
        result.table.to_html(border=0, float_format="{:.4f}".format, na_rep="–"),
        f"<p>{escape(result.footnote)}</p>",
        notes(result),
        pairs(result),
        ladder(result),
        copied("Sentences and a footnote", "\n\n".join((*result.sentences, result.footnote))),
        copied("The same in LaTeX", result.to_latex()),
    )


def verdict(result):
    """What the first metric is, by its limits, for each recommender, and who is better."""
    table, metric = result.table, result.table.index.get_level_values("metric")[0]
    if table.index.nlevels == 1:
        table = pd.concat({"": table}, names=["recommender"])
    said = []
    for name, row in table.xs(metric, level="metric").iterrows():
        what = f"{metric} of {name}" if name else metric
        narrow = "" if np.isnan(row["if_low"]) else f", and {between(row, 'if_')} if {FALLING}"
        said.append(f"{what} is between {between(row)}{narrow}.")
        if np.isnan(row["low"]):
            said[-1] = f"Nothing can be said of {what}: such draws hardly give these ranks."
    if len(result.pairs):
        for (a, b), row in result.pairs.xs(metric, level="metric").iterrows():
            ahead, assumed = row["ahead"], row["if_ahead"] or "undecided"
            if ahead in (a, b):
                said.append(f"{ahead} is better than {b if ahead == a else a}.")
                continue
            only = f"; if {FALLING}, {assumed} is" * (assumed in (a, b))
            said.append(f"Whether {a} is better than {b} these numbers do not say{only}.")
    return " ".join(said)


def between(row, prefix=""):
    return f"{row[f'{prefix}low']:.3f} and {row[f'{prefix}high']:.3f}"


def plan(text, settings):
    """How many users to rank among all items for narrower limits of the first metric."""
    if settings["kind"] == "printed":
        raise ValueError("a plan needs the sampled ranks themselves, got the numbers of a table")
    result, sampled = reported(text, settings)
    if len(sampled) > 1:
        raise ValueError(f"a plan needs one recommender, got {len(sampled)} columns: {[*sampled]}")
    (ranks,) = sampled.values()
    metric = metrics_of(settings)[0]
    low, high = result.table.iloc[0][["low", "high"]]
    width = positive_float("width", settings["width"] or f"{(high - low) / 2:.2g}")
    needed = result.plan(metric, width)
    n_items = count("n_items", settings["items"])
    replace = bool(REPLACE[settings["replace"]])  # a report tells what must be known
    audit = rs.inference.plan_audit(metric, width, ranks, n_items, 0, replace=replace)
    return Answer(
        f"<p>The limits of {escape(str(metric))} are {high - low:.2g} apart now. So many users, "
        f"chosen at random and ranked among all items, bring them to {width:.2g}, if the ranks are "
        "as they are estimated here:</p>",
        needed.rename_axis("for the mean over").to_html(border=0),
        f"<p>Or audit {len(audit.users):,} of the {len(ranks):,} users: give their exact ranks to "
        "<code>rs.report</code> as <code>exact</code>. That number assumes nothing about the "
        "ranks; after a first hundred users a better one is known.</p>",
    )


def reported(text, settings):
    """The result, and the sampled ranks by recommender."""
    metrics, stated = metrics_of(settings), {"drawn": settings["drawn"]}
    stated["replace"] = REPLACE[settings["replace"]]
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
        return result, {}
    names, columns, ids = columns_of(text)
    if settings["kind"] == "scores":
        if len(names) < 2:
            raise ValueError("scores must have two columns or more: the positive item's first")
        found = rs.predicted_ranks(columns, np.zeros(len(columns), np.intp))
        sampled = {"": rs.Ranks(found.values, found.n_items, ties=found.ties, ids=ids)}
    elif len(names) > MOST_COLUMNS:
        raise ValueError(f"at most {MOST_COLUMNS} columns of ranks are read, got {len(names)}")
    else:
        m = count("m", settings["m"])
        each = enumerate(names)
        sampled = {name: ranks_of(columns[:, k], m, name, ids) for k, name in each}
    stated["rows"] = settings.get("rows") or None
    (first, *others) = sampled.values()
    n_items = count("n_items", settings["items"])
    result = rs.report(sampled if others else first, n_items=n_items, metrics=metrics, **stated)
    return result, sampled


# Reading


def metrics_of(settings):
    """The metrics that are asked for; without any, those that `report` chooses."""
    names = [one.strip() for one in settings["metrics"].split(",") if one.strip()]
    return [rs.metric(one) for one in names or ["Recall@10", "NDCG@10", "AP", "AUC"]]


def counts(name, text):
    """The whole numbers of a field, between spaces."""
    found = [as_count(one.replace(",", "")) for one in text.split()]
    if not found or None in found:
        raise ValueError(f"{name} must be a whole number from 1, got {text!r}")
    return found


def count(name, text):
    found = counts(name, text)
    if len(found) > 1:
        raise ValueError(f"{name} must be one whole number, got {text!r}")
    return found[0]


def mark_of(line):
    """What stands between the fields of a line; None for blanks."""
    return next((mark for mark in "\t;," if mark in line), None)


def columns_of(text):
    """The names and the numbers of columns, and the ids of the rows, or None without any.

    Names stand on the first line, if anywhere. Ids are a column of text, or one that is called so.
    """
    lines = text.strip("\ufeff\r\n ").splitlines()
    if not lines:
        raise ValueError("there must be at least one row of numbers, got nothing")
    mark = mark_of(lines[0])
    first = [one.strip().strip('"') for one in lines[0].split(mark)]
    of_text = [k for k, one in enumerate(first) if not isfinite(as_float(one))]
    # A line of names has no number: where it has, text is an id, such as that of a user.
    named = len(of_text) == len(first)
    names = first if named else [f"column {k + 1}" for k in range(len(first))]
    if len(set(names)) < len(names):
        raise ValueError(f"columns must have different names, got {names}")
    if len(lines) == named:
        raise ValueError("there must be at least one row of numbers below the names, got none")
    if named:
        of_text = [k for k, one in enumerate(first) if one.lower() in IDS]
    if len(of_text) > 1:
        raise ValueError(f"one column may hold ids, got {[names[k] for k in of_text]}")
    ids = None
    if of_text:
        ids, lines[named:] = split_off(lines[named:], mark, len(names), of_text[0])
        del names[of_text[0]]
    if not names:
        raise ValueError(f"there must be a column of numbers beside the ids, got only {first}")
    columns = numbers_of(lines, named, mark, names)
    for name, column in zip(names, columns.T):
        if ids is None and len(column) > 2 and (np.diff(column) == 1).all():
            raise ValueError(
                f"{name} counts {column[0]:g}, {column[1]:g}, {column[2]:g}, ... as ids do: call "
                "it user on the first line, or leave it out"
            )
    return names, columns, ids


def split_off(lines, mark, n, k):
    """The k-th field of each line, and the lines without it."""
    fields = [line.split(mark) for line in lines]
    short = next((row for row in fields if len(row) != n), None)
    if short:
        raise ValueError(f"each line must hold {n} fields, got {(mark or ' ').join(short)!r}")
    ids = np.array([row.pop(k).strip().strip('"') for row in fields])
    return ids, [(mark or " ").join(row) for row in fields]


def numbers_of(lines, named, mark, names):
    """The numbers below the names, shape (rows, columns)."""
    with suppress(ValueError):  # a million lines at once; one by one they say what is wrong
        columns = np.loadtxt(lines[named:], delimiter=mark, ndmin=2, comments=None)
        if columns.shape[1] == len(names) and np.isfinite(columns).all():
            return columns
    rows = [[as_float(one) for one in line.split(mark)] for line in lines[named:]]
    for place, row in enumerate(rows):
        if len(row) != len(names) or not all(map(isfinite, row)):
            line, plural = lines[named + place], "s" * (len(names) > 1)
            raise ValueError(
                f"line {named + place + 1} must hold {len(names)} number{plural}, got {line!r}"
            )
    return np.array(rows)


def ranks_of(column, m, name, ids):
    """A column of ranks among m drawn items and the relevant one."""
    wrong = (column != np.floor(column)) | (column < 1) | (column > m + 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"ranks must be whole numbers from 1 to m + 1 = {m + 1}, got {column[place]:g} "
            f"in row {place + 1} of {name}; a column of ids is called user on the first line"
        )
    return rs.Ranks(column, m + 1, ids=ids)


# Showing


def notes(result):
    lines = "".join(f"<li>{escape(line)}</li>" for line in result.notes)
    return lines and f"<h2>Notes</h2>\n<ul>{lines}</ul>"


def ladder(result):
    if not len(result.ladder):
        return None
    table = result.ladder.to_html(border=0, float_format="{:.4f}".format, na_rep="refuted")
    return (
        "<h2>What each assumption buys</h2>\n"
        "<p>Limits without any assumption, if no rank is more frequent than a better one, and if "
        f"the distribution of the ranks is smooth as well:</p>\n{table}"
    )


def pairs(result):
    if not len(result.pairs):
        return None
    table = result.pairs.to_html(border=0, float_format="{:.4f}".format, na_rep="")
    return f"<h2>Who is ahead</h2>\n{table}"


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
    return f'<h2>{title}</h2>\n<pre class="run-copied" tabindex="0">{escape(text)}</pre>'
