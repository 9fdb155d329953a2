"""Tables of numbers as papers print them: CSV, Markdown, pasted text, or dataframes."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import takewhile
from typing import Any, NamedTuple

from recsample._support.checks import is_missing, shown
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.frames import is_frame
from recsample.metrics.names import exact_metric

# What stands in place of a number.
_NONE = {"", "n/a", "n.a.", "na", "<na>", "nan", "nat", "none", "null", "oom", "oot", "/", "?"}
_NONE |= {"-", "--", "---", "‒", "–", "—", "―"}
_RULE = re.compile(r"[|\s:+=\u2500-\u257f-]*")
# Raised or lowered behind a number: no digit of it, but a mark, a rank or an error.
_RAISED = re.compile(r"(?<=[\d%>*_])[\s$]*(?:\^(\S)|<su[bp]>(.*?)</su[bp]>|([⁰¹²³⁴-⁹ᵃ-ᶻ]+))")
# What stands around numbers and names for their looks, and marks of significance.
_LOOKS = re.compile(r"</?[a-z]+>|\*\*|__|\\(?=[*%&_#])|[$^~`↑↓†‡§¶⋆∗▲▼△▽★☆•°]")
_NUMBER = re.compile(r"(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)\s*\**\s*(.*)", re.DOTALL)
# An error, a rank or the like behind a number.
_BESIDE = re.compile(r"[(\[].*[)\]]|(?:±|\+/?-)[^%]+")  # of which number is 0.7±0.1%?
# No metric has more digits or zeros, and no table as much text; csv reads no more in a cell.
_LONGEST, _LONGEST_TEXT = 40, 2**17
# Lines and columns that compare recommenders or say what they cost, such as "Rel. Impr.",
# "Δ vs. BPR", "p-value", "#Params" and "Training time / epoch".
_ASIDE = re.compile(
    r"\W*(?:(?:rel|abs|avg|max|min|relative|absolute|average)\b\W*)?(?:"
    r"improv(?:e|ements?)?\b.*|[Δ∆δ].*|.*\bvs\b.*|p\W*val.*|t\W*(?:test|stat|val).*"
    r"|(?:impr?|gains?|lift|diff(?:erence)?s?|delta)\W*(?:(?:over|to|from|of)\b.*)?"
    r"|std\b.*|st\w*\W+(?:dev|err).*|sig(?:nificance|\.)?"
    r"|(?:(?:no\.|num\w*\.?|of|model|train\w*|infer\w*|test|gpu|total) )*"
    r"(?:param(?:eter)?s?|(?:run)?time|s(?=/)|latency|memory|size|[gmt]?flops|epochs?|speed-?up)"
    r"\W*(?:(?:per\b|/).*)?)|\W+",
    re.IGNORECASE,
)
_DATA = re.compile(r"data\W*(?:sets?)?|corpus|benchmark|domain", re.IGNORECASE)
# What stands above numbers that have a line each.
_VALUES = ("value", "score", "mean", "result", "number", "0")


class Cell(NamedTuple):
    """A printed number, with half a unit of its last digit."""

    number: Decimal
    half: Decimal
    has_other: bool  # another number stands behind it, such as its error


def read_printed(values: Any) -> tuple[dict[str, dict[str, Cell]], bool, list[str]]:
    """The cells by recommender and metric, whether recommenders have names, and what is left out.

    Metrics stand in the first lines or in the first column, or one with its number on each line;
    what is missing is left out, and lines and columns that hold no metric of a recommender.
    """
    left_out: list[str] = []
    if not isinstance(values, Mapping):
        heads, body = _grid_of_frame(values) if is_frame(values) else _grid_of_text(values)
        values, left_out = _by_recommender(heads, body)
    elif any(isinstance(one, Mapping) for one in values.values()):
        left_out = [name for name in values if _is_aside(name)]
        values = {name: one for name, one in values.items() if name not in left_out}
    else:
        values = {"": values}
    if not values:
        raise InputError("values", "must hold at least one recommender").got(shown(left_out))
    named = [*values] != [""]
    return {name: _cells_of(name, one) for name, one in values.items()}, named, left_out


def called(name: str) -> str:
    """The numbers of a recommender, in a message."""
    return f"values of {name!r}" if name else "values"


def _cells_of(name, values):
    of = called(name)
    if not isinstance(values, Mapping):
        allowed = "must be numbers by metric, as those of other recommenders are"
        raise InputError(of, allowed).got(shown(values))
    found = {str(key): _cell(of, str(key), one) for key, one in values.items()}
    found = {key: one for key, one in found.items() if one is not None}
    if not found:
        raise InputError(of, "must hold at least one number").got("none")
    return found


def _cell(of, name, value):
    """A number, or None where there is none; of percent, a hundredth."""
    if is_missing(value) or _plain(value).lower() in _NONE:
        return None
    found = _NUMBER.fullmatch(_plain(value))
    digits, percent, rest = found.groups() if found else ("0", "", "none")
    number = Decimal(digits)
    if rest.endswith("%") and (percent or number > 1):  # 67.0 is no share: both are of percent
        percent, rest = "%", rest[:-1]
    longest = max(len(digits), abs(number.adjusted()))
    if longest > _LONGEST or (rest and not _BESIDE.fullmatch(rest)):
        allowed = "must be numbers with a decimal point, 0.670, 67.0% or 0.670±0.003"
        raise InputError(of, allowed).got(f"{shown(value)} for {name!r}")
    if percent or "%" in name:
        number = number.scaleb(-2)
    return Cell(
        number, Decimal(5).scaleb(int(number.as_tuple().exponent) - 1), any(map(str.isdigit, rest))
    )


def _plain(text):
    """A cell without what is there for its looks."""
    text = re.sub(r"[\s\u00a0\u2009]+", " ", str(text)).replace("\u2212", "-")
    text = re.sub(r"\s+", " ", _LOOKS.sub("", _RAISED.sub(_beside, text))).strip("*_ ")
    text = re.sub(r"^\(([\d.]+)([^()]*)\) ?%", r"\1%\2", text)  # (67.0±0.3)%
    return re.sub(r"\([×x] ?100\)", "(%)", text)


def _beside(found):
    """What is raised behind a number: another number in brackets, or nothing."""
    raised = "".join(filter(None, found.groups()))
    return f" ({raised})" if re.search(r"[0-9]", raised) else ""


def metric_name(text: str) -> str:
    """The name of a metric without its unit."""
    return re.sub(r"[([]?\s*%\s*[)\]]?", "", text).strip()


def _is_metric(text):
    try:
        exact_metric(metric_name(text))
    except ValueError:
        return False
    return True


def _is_aside(text):
    """Whether a line or column of this name holds no metric of a recommender."""
    named = re.sub(r"[(\[].*?[)\]]", "", text).strip()  # without a unit
    return _ASIDE.fullmatch(named) is not None and not _is_metric(text)


def _is_number(text):
    """Whether a cell is a number, as it seems, or stands for a missing one; 2-layer is a name."""
    found = _NUMBER.fullmatch(text.lstrip("+<≤"))  # as improvements and p-values have them
    if found is None:
        return text.lower() in _NONE
    digits, _, rest = found.groups()
    return "." in digits or rest[:1] in ",./" or bool(_BESIDE.fullmatch(rest))


def _grid_of_frame(frame):
    """The lines of names above the numbers, and the rows below, of a dataframe."""
    pd = extra("pandas")
    table = extra("narwhals.stable.v2").from_native(frame).lazy().collect().to_pandas()
    if not isinstance(table.index, pd.RangeIndex):
        names = [name or "" for name in table.index.names]
        table = table.reset_index(names=names, allow_duplicates=True)
    heads = [table.columns.get_level_values(k) for k in range(table.columns.nlevels)]
    body = table.astype(object).to_numpy().tolist()
    return [[*map(_plain, line)] for line in heads], [[*map(_plain, row)] for row in body]


def _grid_of_text(text):
    """The same of text."""
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST_TEXT:
        raise InputError(
            "values",
            "must be numbers by metric, {'HR@10': '0.670'}, by recommender and metric, a "
            f"dataframe, or the text of a table, of at most {_LONGEST_TEXT:,} letters",
        ).got(shown(text))
    rows = [[_plain(one) for one in row] for row in _rows_of(text.strip("\ufeff\r\n"))]
    rows = [row for row in rows if any(row)]
    n_heads = sum(1 for _ in takewhile(_is_head, rows))
    # Below names of metrics their cut-offs may stand, beside no name of a recommender.
    n_heads += 0 < n_heads < len(rows) and not rows[n_heads][0] and _are_cutoffs(rows[n_heads][1:])
    heads, body = rows[:n_heads], rows[n_heads:]
    if not heads and all(len(row) == 2 and _is_metric(row[0]) for row in rows):
        heads = [["", ""]]  # a metric and its number on each line
    if not (heads and body):
        allowed = "must have a line of names above lines of numbers"
        raise InputError("values", allowed).got(shown(text.strip().splitlines()[0]))
    width = max(map(len, rows))
    names = [row[0] for row in body]
    numbered = len(names) > 1 and names == [*map(str, range(len(names)))]  # by pandas
    nameless = len(heads[-1]) == width - 1 and not numbered
    heads = [["", *row] if len(row) == width - 1 else row for row in heads]
    for row in (*heads, *body):
        if len(row) != width:
            raise InputError("values", f"must have {width} cells in each line").got(row)
    for row in body:
        if nameless and _is_value(row[0]):
            raise InputError(
                "values",
                "must have a word above the names of recommenders where these are numbers, and "
                "a decimal point in numbers",
            ).got(f"{row} below {heads[-1][1:]}")
    # A line that only names the lines below it holds no numbers.
    return heads, [row for row in body if any(row[1:]) or width == 1]


def _is_head(row):
    """Whether a row has names and no numbers; a recommender may have none at all."""
    cells = row[1:] or row
    nothing = any(cells) and all(one.lower() in _NONE for one in cells)
    of_metric = _is_metric(row[0]) and any(cells) and not any(map(_is_metric, row[1:]))
    return not (any(map(_is_value, cells)) or nothing or (of_metric and len(row) > 1))


def _are_cutoffs(names):
    return any(names) and all(one.isdecimal() for one in names if one)


def _is_value(text):
    return text.lower() not in _NONE and _is_number(text)


def _rows_of(text):
    """The cells of each line, by what stands between them."""
    text = re.sub("[│┃┆┇┊┋║]", "|", text)
    lines = [line.strip("\r") for line in text.splitlines() if not _RULE.fullmatch(line)]
    latex = [line for line in lines if re.search(r"\\[\\a-zA-Z]", line)]
    if latex or all("&" in line for line in lines):
        raise InputError("values", "must be a table as it is printed, as CSV, or in Markdown").got(
            f"LaTeX in {shown((latex or lines)[0])}", "copy the table out of the PDF"
        )
    if sum("|" in line for line in lines) > 1:
        lines = [line.strip() for line in lines]
        return [line.removeprefix("|").removesuffix("|").split("|") for line in lines]
    marks = [mark for mark in "\t;," if any(mark in line for line in lines)]
    readings = [[*csv.reader(lines, delimiter=mark)] for mark in marks]
    readings.append([re.split(r"\s{2,}", line.strip()) for line in lines])
    for corner in (0, 1):  # with it, and without
        for rows in readings:
            widths = {len(rows[0]) + corner, *map(len, rows[1:])}
            if len(rows) > 1 and len(widths) == 1 and max(widths) > 1:
                return rows
    if marks:
        return readings[0]
    aligned, rows = readings[-1], [_words_of(line) for line in lines]
    # Above metrics as rows nobody knows where a name ends: in "SAS Rec A" SAS may be a corner.
    heads = rows[0] if len(aligned[0]) == 1 else aligned[0]
    a_name = not (_is_metric(heads[-1]) or _is_value(heads[-1]))
    if len(heads) == len(rows[-1]) and _is_metric(rows[-1][0]) and a_name:
        allowed = "must have tabs, commas or | between cells where metrics are rows"
        raise InputError("values", allowed).got(shown(lines[0]))
    return [heads, *rows[1:]]


def _words_of(line):
    """The cells of a line where spaces stand between them: a name may hold some too."""
    line = re.sub(r"\s+(?=[@±(\[%])", "", line.strip())
    words = re.sub(r"(?<=±)\s+", "", line).split()
    values = [*takewhile(lambda one: _is_number(_plain(one)), reversed(words))][::-1]
    if not values:
        return words
    name = words[: len(words) - len(values)]
    if any(re.fullmatch(r"\d*\.\d+", one) for one in name):
        allowed = "must have tabs, commas or | between cells where names hold numbers"
        raise InputError("values", allowed).got(shown(line.strip()))
    return [" ".join(name), *values] if name else values


def _by_recommender(heads, body):
    """The cells by recommender and metric, and the names of lines and columns that hold neither.

    The metrics are names of all columns, or of all rows.
    """
    columns = _names_of(heads)
    labels = [*takewhile(lambda k: _is_label(k, columns, body), range(len(columns)))]
    texts = [*columns, *(row[k] for row in body for k in labels)]
    metrics, left_out = {*filter(_is_metric, texts)}, [*filter(_is_aside, texts)]
    body = [row for row in body if not any(row[k] in left_out for k in labels)]
    for k in [k for k in labels if _DATA.fullmatch(columns[k])]:
        if not {row[k] for row in body} <= metrics:
            _check_one(row[k] for row in body if row[k])
            left_out.append(columns[k])
    labels = [k for k in labels if columns[k] not in left_out]
    numbers = [k for k in range(len(columns)) if columns[k] not in left_out and k not in labels]
    is_long = len(numbers) == 1 and columns[numbers[0]].lower() in _VALUES
    by_columns = all(columns[k] in metrics for k in numbers)
    found: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(body, 1):
        unnamed = "" if labels or len(body) == 1 else f"row {number}"
        for k in numbers:
            parts = [row[label] for label in labels] + [columns[k]] * (not is_long)
            parts = parts[::-1] if by_columns else parts  # a recommender may be called AP
            metric = next((one for one in parts if one in metrics), None)
            names = [one for one in parts if one != metric] or [unnamed]
            if metric is None or len(names) > 1:
                allowed = "must have one metric and one recommender for each number"
                got = f"{shown(parts)} for {shown(row[k])}"
                raise InputError("values", allowed).got(got, "leave out what is neither")
            of = found.setdefault(names[0], {})
            if metric in of or (len(found) > 1 and not names[0]):
                allowed = "must name each recommender once, and each metric once"
                raise InputError("values", allowed).got(f"{metric} of {names[0]!r} twice")
            of[metric] = row[k]
    return found, left_out


def _is_label(k, columns, body):
    """Whether a column holds names, and no numbers."""
    cells = [row[k] for row in body]
    is_text = any(one.lower() not in _NONE for one in cells) and not any(map(_is_value, cells))
    return not _is_metric(columns[k]) and (k == 0 or is_text)


def _check_one(data_sets):
    if len(different := [*dict.fromkeys(data_sets)]) > 1:
        allowed = "must be of one data set"
        raise InputError("values", allowed).got(shown(different), "give one after the other")


def _names_of(heads):
    """One name for each column, from several lines of names of which some hold for several."""
    *above, last = heads
    if not above:
        return last
    if _are_cutoffs(last[1:]):
        last[1:] = [one and f"@{one}" for one in last[1:]]
    for line in above:
        for k in range(2, len(line)):
            line[k] = line[k] or line[k - 1]
    joined = [" ".join(filter(None, parts)) for parts in zip(*heads)]
    if not all(map(_is_metric, last[1:])):
        return joined if any(map(_is_metric, joined[1:])) else last
    _check_one(" ".join(filter(None, parts)) for parts in zip(*(a[1:] for a in above)))
    return last
