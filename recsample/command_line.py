"""The command ``recsample``: reports, evaluations and plans from files, without a script.

    recsample report ranks.csv --rank sampled_rank --m 100 --items 3541
    recsample evaluate --scores mine=scores.parquet --held-out test.csv --train train.csv
    recsample plan ranks.csv --rank sampled_rank --m 100 --items 3541 --metric recall@10 --width .02

Files end in .csv, .tsv or .parquet. A mistake ends with one line and exit status 2; whatever else
goes wrong is a mistake of this package, and ends with Python's traceback.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recsample._extras import extra
from recsample._validation import shown
from recsample.evaluation import evaluate
from recsample.inference.planning import required_samples_from_pilot
from recsample.inference.reporting import report
from recsample.metrics.names import metric
from recsample.ranks import Ranks
from recsample.sampling.uniform import UniformSampling

__all__ = ["main"]

_METRICS = ["recall@10", "ndcg@10", "ap", "auc"]


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
    >>> from recsample.command_line import main
    >>> main(["report", "nothing.csv", "--m", "100", "--items", "3541"])
    2
    """
    asked = _parser().parse_args(arguments)
    try:
        print(asked.run(asked).rstrip("\n"))
    except BrokenPipeError:  # who reads on has had enough
        sys.stderr.close()
    except (ValueError, ModuleNotFoundError, MemoryError) as error:
        if not _is_refusal(error):
            raise
        print(f"recsample: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _is_refusal(error):
    """Whether this package itself raised it, as it does for what it was handed and nothing else."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__package__")).partition(".")[0] == __package__


def _parser():
    parser = argparse.ArgumentParser(
        prog="recsample",
        description="Metrics for item recommendation: exact, sampled and corrected.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    said = _command(commands, "report", "what sampled ranks say of the exact metrics", _report)
    _add_ranks(said)
    _add_metrics(said)
    plan = _command(commands, "plan", "what would make limits narrow, or an order sure", _plan)
    _add_ranks(plan)
    plan.add_argument("--metric", required=True, help="such as ndcg@10")
    aim = plan.add_mutually_exclusive_group(required=True)
    aim.add_argument("--width", type=float, help="the upper limit minus the lower one")
    aim.add_argument(
        "--order",
        type=float,
        metavar="PROBABILITY",
        help="that two recommenders of the file come in the right order, such as .95",
    )
    plan.add_argument(
        "--per-second", type=float, metavar="ITEMS", help="items scored in a second: adds seconds"
    )
    scored = _command(commands, "evaluate", "recommenders from scores of items", _evaluate)
    scored.add_argument(
        "--scores",
        required=True,
        nargs="+",
        metavar="[NAME=]FILE",
        help="columns user, item, score; several recommenders by names, or by a column model",
    )
    scored.add_argument("--held-out", required=True, metavar="FILE", help="columns user, item")
    scored.add_argument("--train", metavar="FILE", help="columns user, item: not ranked")
    among = scored.add_mutually_exclusive_group()
    among.add_argument("--sample", type=int, metavar="M", help="rank among M random items")
    among.add_argument("--negatives", metavar="FILE", help="columns user, item: rank among these")
    scored.add_argument("--with-replacement", action="store_true", help="of --sample")
    scored.add_argument("--seed", type=int, default=0, help="of --sample (default: 0)")
    for column in ("user", "item", "score", "model"):
        scored.add_argument(f"--{column}", default=column, metavar="COLUMN")
    _add_metrics(scored)
    return parser


def _command(commands, name, help, run):
    command = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
    command.set_defaults(run=run)
    command.add_argument(
        "--format", choices=["text", "json", "markdown", "latex"], default="text", dest="form"
    )
    command.add_argument(
        "--simultaneous", action="store_true", help="limits that hold for all pairs at once"
    )
    return command


def _add_ranks(command):
    command.add_argument("ranks", metavar="FILE", help="one row per user and relevant item")
    command.add_argument("--rank", default="rank", metavar="COLUMN", help="(default: rank)")
    command.add_argument("--m", required=True, help="items drawn for each user: number or column")
    command.add_argument("--items", required=True, help="size of the pool: number or column")
    command.add_argument(
        "--user", metavar="COLUMN", help="where users have several rows, or with --model"
    )
    command.add_argument("--model", metavar="COLUMN", help="which recommender a row is of")
    command.add_argument("--with-replacement", action="store_true", help="how items were drawn")


def _add_metrics(command):
    command.add_argument(
        "--metrics", nargs="+", default=_METRICS, metavar="METRIC", help=f"(default: {_METRICS})"
    )


def _table(path):
    """The table in a file."""
    pd, kind = extra("pandas"), Path(path).suffix.lower()
    if kind == ".parquet":
        extra("pyarrow")
    elif kind not in (".csv", ".tsv"):
        raise ValueError(f"a file must end in .csv, .tsv or .parquet, got {path}")
    try:
        if kind == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep="\t" if kind == ".tsv" else ",")
    except (OSError, ValueError) as error:  # as pandas and PyArrow say that they cannot read it
        raise ValueError(f"{path} must be a file that holds a table: {error}") from None


def _sampled(asked):
    """The sampled ranks in the file, by recommender, and the sizes of the pools."""
    table = _table(asked.ranks)
    for name, given in (("m", asked.m), ("items", asked.items)):
        if given not in table:
            table[name] = _number(f"--{name}", given, table)
    drawn = asked.m if asked.m in table else "m"
    pool = asked.items if asked.items in table else "items"
    if asked.model is None:
        return {"": _ranks(table, drawn, asked)}, _sizes(table, pool, asked)
    _check_column(table, asked.model, "--model")
    if table[asked.model].isna().any():
        raise ValueError(f"--model must name a column without gaps, got one in {asked.model!r}")
    parts = {str(name): part for name, part in table.groupby(asked.model, sort=True)}
    if asked.user is not None:  # the same users in the same order
        _check_column(table, asked.user, "--user")
        parts = {name: part.sort_values(asked.user, kind="stable") for name, part in parts.items()}
    elif len(parts) > 1:
        raise ValueError(
            "--user must name the column of users where there are several recommenders, which are "
            f"compared user by user, got none for {list(parts)}"
        )
    ranks = {name: _ranks(part, drawn, asked) for name, part in parts.items()}
    sizes = {name: _sizes(part, pool, asked) for name, part in parts.items()}
    first, *others = ranks
    for name in others:
        alone = np.setxor1d(ranks[first].ids, ranks[name].ids)
        if len(alone):
            raise ValueError(
                "--user must name the same users for each recommender, got "
                f"{shown(alone[0])} for only one of {first!r} and {name!r}"
            )
        if not np.array_equal(sizes[first], sizes[name]):
            raise ValueError(
                "--items must be the same for all recommenders of a user, got other numbers for "
                f"{name!r} than for {first!r}"
            )
    return ranks, sizes[first]


def _ranks(table, drawn, asked):
    for option, column in (("--rank", asked.rank), ("--user", asked.user)):
        if column is not None:
            _check_column(table, column, option)
    if asked.user is None:
        sizes = table[drawn] + 1
    else:
        sizes = table[drawn] + table.groupby(asked.user)[asked.rank].transform("size")
    table = table.assign(**{"items among which they are ranked": sizes})
    return Ranks.from_frame(
        table, "items among which they are ranked", user=asked.user, rank=asked.rank
    )


def _sizes(table, pool, asked):
    if asked.user is None:
        return table[pool].to_numpy()
    sizes = table.groupby(asked.user, sort=False)[pool]
    if (sizes.nunique(dropna=False) > 1).any():
        raise ValueError(f"--items must be one number for each user, got several in {pool!r}")
    return sizes.first().to_numpy()


def _number(option, text, table):
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"{option} must be a whole number or a column of the file, got {text!r} where the "
            f"columns are {list(table.columns)}"
        ) from None


def _check_column(table, column, option):
    if column not in table:
        raise ValueError(
            f"{option} must name a column of the file, got {column!r} where the columns are "
            f"{list(table.columns)}"
        )


def _shown(result, form):
    if form == "json":
        return result.to_json()
    return {"text": str, "markdown": type(result).to_markdown, "latex": type(result).to_latex}[
        form
    ](result)


def _reported(asked, metrics):
    runs, sizes = _sampled(asked)
    return report(
        runs[""] if asked.model is None else runs,
        n_items=sizes,
        metrics=metrics,
        replace=asked.with_replacement,
        simultaneous=asked.simultaneous,
    )


def _report(asked):
    return _shown(_reported(asked, asked.metrics), asked.form)


def _plan(asked):
    table = _ways_to_width(asked) if asked.order is None else _samples_for_order(asked)
    if asked.per_second is not None:
        if not asked.per_second > 0:
            raise ValueError(f"--per-second must be above 0, got {asked.per_second}")
        table = table.assign(seconds=table["users"] * table["scored"] / asked.per_second)
    if asked.form == "json":
        return json.dumps(json.loads(table.reset_index().to_json(orient="records")), indent=2)
    if asked.form == "markdown":
        extra("tabulate")
        return table.to_markdown()
    return table.to_latex(escape=True) if asked.form == "latex" else table.to_string()


def _ways_to_width(asked):
    if asked.model is not None:
        raise ValueError("--width plans for one recommender: give a file without --model")
    table = _reported(asked, [asked.metric]).plan(asked.metric, asked.width)
    return table.rename_axis("way")


def _samples_for_order(asked):
    runs, sizes = _sampled(asked)
    if asked.model is None or len(runs) != 2:
        raise ValueError(f"--order needs a file with two recommenders (--model), got {len(runs)}")
    a, b = runs.values()
    drawn = {int(m) for one in (a, b) for m in one.n_irrelevant}
    pools = {int(n) for n in sizes}
    if len(drawn) > 1 or len(pools) > 1:
        raise ValueError(
            f"--order needs one m and one size of the pools, got m = {sorted(drawn)[:3]} and "
            f"sizes {sorted(pools)[:3]}"
        )
    sampler, n_items = UniformSampling(drawn.pop(), asked.with_replacement), pools.pop()
    found = required_samples_from_pilot(
        metric(asked.metric), a, b, sampler, n_items, 0, probability=asked.order
    )
    rows = {"samples": found.samples, "at least": found.low, "at most": found.high}
    table = extra("pandas").DataFrame({"scored": rows}).rename_axis("way")
    return table.assign(users=len(a))


def _evaluate(asked):
    named = [text.partition("=")[::2] if "=" in text else ("", text) for text in asked.scores]
    if len(named) > 1 and not all(name for name, _ in named):
        raise ValueError(f"--scores must name each of several files, NAME=FILE, got {asked.scores}")
    if len({name for name, _ in named}) < len(named):
        raise ValueError(f"--scores must have different names, got {asked.scores}")
    tables: Any = {name: _table(path) for name, path in named}
    sampler = None
    if asked.sample is not None:
        sampler = UniformSampling(asked.sample, asked.with_replacement)
    result = evaluate(
        tables[""] if "" in tables else tables,
        _table(asked.held_out),
        train=None if asked.train is None else _table(asked.train),
        negatives=None if asked.negatives is None else _table(asked.negatives),
        metrics=asked.metrics,
        sampler=sampler,
        simultaneous=asked.simultaneous,
        rng=asked.seed,
        **{name: getattr(asked, name) for name in ("user", "item", "score", "model")},
    )
    return _shown(result, asked.form)


if __name__ == "__main__":
    sys.exit(main())
