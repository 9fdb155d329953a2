"""What the page "Your own numbers" computes, with this package and nothing else.

The page hands over a text and its settings, and shows the HTML that comes back.
"""

import base64
import csv
import io
import json
from html import escape

import numpy as np

import recsample as rs
from recsample.evaluation import from_published

REPLACE = {"": None, "with": True, "without": False}
MOST_COLUMNS = 12


class Answer:
    """Something to show: HTML."""

    def __init__(self, *parts):
        self.html = "\n".join(filter(None, parts))

    def _repr_html_(self):
        return self.html


def answer(text, settings):
    """The table, the ladder, the blind spot, the figure, and sentences to copy."""
    result, sampled = reported(text, settings)
    return Answer(
        f"<p>{escape(result.head)}</p>",
        result.table.to_html(border=0, float_format="{:.4f}".format, na_rep="–"),
        *listed("Notes", [*result.notes, *poor_fits(result)]),
        ladder(result),
        pairs(result),
        picture(result),
        copied("Sentences for a paper", "\n\n".join(result.sentences)),
        copied("The same in LaTeX", result.to_latex()),
        what_if(sampled, settings),
    )


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
    width = number("width", settings.get("width") or f"{(high - low) / 2:.2g}")
    needed = result.plan(metric, width)
    sizes = whole("n_items", settings["items"])
    replace = bool(REPLACE[settings["replace"]])  # a report tells what must be known
    audit = rs.inference.plan_audit(metric, width, ranks, sizes, 0, replace=replace)
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
    metrics, replace = metrics_of(settings), REPLACE[settings["replace"]]
    drawn = settings["drawn"]
    if settings["kind"] == "printed":
        sizes = [whole("n_items", one) for one in settings["items"].split()]
        several = [whole("m", one) for one in settings["m"].split()]
        users = whole("n_users", settings["users"])
        result = from_published(
            printed(text),
            m=several,
            n_items=sizes[0] if len(sizes) == 1 else tuple(sizes),
            n_users=users,
            drawn=drawn,
            replace=replace,
            metrics=metrics if settings["metrics"].strip() else None,
        )
        return result, {}
    names, columns = columns_of(text)
    if settings["kind"] == "scores":
        if columns.shape[1] < 2:
            raise ValueError("scores must have two columns or more: the positive item's first")
        positive = np.zeros(len(columns), np.intp)
        sampled = {"": rs.predicted_ranks(columns, positive)}
    else:
        m = whole("m", settings["m"])
        sampled = {name: ranks_of(columns[:, k], m, name) for k, name in enumerate(names)}
        if len(names) > MOST_COLUMNS:
            raise ValueError(f"at most {MOST_COLUMNS} columns of ranks are read, got {len(names)}")
    result = rs.report(
        sampled if len(sampled) > 1 else next(iter(sampled.values())),
        n_items=whole("n_items", settings["items"]),
        drawn=drawn,
        replace=replace,
        metrics=metrics,
    )
    return result, sampled


# Reading


def metrics_of(settings):
    """The metrics that are asked for; without any, those that `report` chooses."""
    names = [one.strip() for one in settings["metrics"].split(",") if one.strip()]
    return [rs.metric(one) for one in names or ["Recall@10", "NDCG@10", "AP", "AUC"]]


def columns_of(text):
    """The names and the numbers of columns; names stand on the first line, if anywhere."""
    lines = text.strip("\ufeff\r\n ").splitlines()
    if not lines:
        raise ValueError("there must be at least one row of numbers, got nothing")
    mark = next((mark for mark in "\t;," if mark in lines[0]), None)
    first = [one.strip().strip('"') for one in lines[0].split(mark)]
    named = not all(map(is_number, first))
    names = first if named else [f"column {k + 1}" for k in range(len(first))]
    if len(set(names)) < len(names):
        raise ValueError(f"columns must have different names, got {names}")
    rows = lines[named:]
    if not rows:
        raise ValueError("there must be at least one row of numbers below the names, got none")
    try:
        columns = np.loadtxt(rows, delimiter=mark, ndmin=2, comments=None)
    except ValueError:
        columns = None
    if columns is None or columns.shape[1] != len(names) or not np.isfinite(columns).all():
        refuse_a_line(rows, mark, len(names), 1 + named)
    return names, columns


def refuse_a_line(rows, mark, width, start):
    """Say which line is not made of numbers."""
    for place, row in enumerate(rows, start):
        fields = row.split(mark)
        wrong = [one for one in fields if not is_number(one)]
        if wrong or len(fields) != width:
            what = f"got {wrong[0].strip()!r}" if wrong else f"got {len(fields)}"
            plural = "number" if width == 1 else "numbers"
            raise ValueError(f"line {place} must hold {width} {plural}, {what}")


def is_number(text):
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def ranks_of(column, m, name):
    """A column of ranks among m drawn items and the relevant one."""
    wrong = (column != np.floor(column)) | (column < 1) | (column > m + 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"ranks must be whole numbers from 1 to m + 1 = {m + 1}, got {column[place]:g} "
            f"in row {place + 1} of {name}"
        )
    return rs.Ranks(column.astype(np.int64), m + 1)


def printed(text):
    """The numbers of a printed table as text, by recommender and metric."""
    rows = [row for row in csv.reader(io.StringIO(text.strip()), delimiter=mark_of(text)) if row]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise ValueError("a table must have a line of metrics and a line for each recommender")
    (_, *metrics), *others = [[one.strip() for one in row] for row in rows]
    for place, row in enumerate(others, 2):
        if len(row) != len(rows[0]):
            raise ValueError(f"line {place} must have {len(rows[0])} fields, got {len(row)}")
    return {name: dict(zip(metrics, values)) for name, *values in others}


def mark_of(text):
    return next((mark for mark in "\t;," if mark in text.splitlines()[0]), ",") if text else ","


def whole(name, text):
    value = number(name, text)
    if value != int(value) or not 1 <= value < 2**53:
        raise ValueError(f"{name} must be a whole number from 1, got {text}")
    return int(value)


def number(name, text):
    text = str(text).replace("_", "").replace(",", "").strip()
    if not is_number(text):
        raise ValueError(f"{name} must be a number, got {text!r}")
    return float(text)


# Showing


def ladder(result):
    if not len(result.ladder):
        return None
    said = f"<p>{escape(str(result.blind))}</p>" if result.blind is not None else None
    return "\n".join(
        filter(
            None,
            [
                "<h2>What each assumption buys</h2>",
                "<p>Limits without any assumption, if no rank is more frequent than a better one, "
                "and if the distribution of the ranks is smooth as well:</p>",
                result.ladder.to_html(border=0, float_format="{:.4f}".format, na_rep="refuted"),
                said,
            ],
        )
    )


def pairs(result):
    if not len(result.pairs):
        return None
    table = result.pairs.to_html(border=0, float_format="{:.4f}".format, na_rep="")
    return f"<h2>Who is ahead</h2>\n{table}"


def poor_fits(result):
    return [
        f"{name}: ranks that fit the stated draws as badly have a chance of {row.p_corrected:.1g}."
        for name, row in result.fit.iterrows()
        if row.p_corrected < 0.01
    ]


def listed(title, lines):
    if lines:
        yield f"<h2>{title}</h2>"
        yield f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in lines)}</ul>"


def picture(result):
    stream = io.StringIO()
    rs.plotting.use_style()
    figure = result.plot()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    figure.clear()
    __import__("matplotlib.pyplot").pyplot.close(figure)
    data = base64.b64encode(stream.getvalue().encode()).decode()
    said = "The values and limits of the table above, drawn."
    return f'<figure><img alt="{said}" src="data:image/svg+xml;base64,{data}"></figure>'


def copied(title, text):
    return f'<h2>{title}</h2>\n<pre class="run-copied" tabindex="0">{escape(text)}</pre>'


def what_if(sampled, settings):
    """The first metric, uncorrected, as a smaller sample of the same draws gives it on average.

    Of m drawn items, m' chosen at random are a sample of m': no assumption is needed.
    """
    if not sampled:
        return None
    metric, found = metrics_of(settings)[0], {}
    largest = int(np.max(next(iter(sampled.values())).n_irrelevant))
    sizes = np.unique(np.geomspace(1, largest, 25).round().astype(int)).tolist()
    for name, ranks in sampled.items():
        draws = [rs.UniformSampling(m) for m in sizes]
        found[name or str(metric)] = [mean_of(metric, draw, ranks) for draw in draws]
    data = escape(json.dumps({"m": sizes, "metric": str(metric), "values": found}))
    return f'<h2>What if m were smaller?</h2>\n<div class="run-what-if" data-values="{data}"></div>'


def mean_of(metric, draw, ranks):
    """The mean that is expected of a smaller sample; each different rank is taken once."""
    if np.any(ranks.ties):
        return float(draw.expect(metric, ranks).mean())
    places, counts = np.unique(ranks.values, return_counts=True)
    values = draw.expect(metric, rs.Ranks(places, int(np.max(ranks.n_items))))
    return float(values @ counts / counts.sum())
