"""Draws the pictures that are committed: `python scripts/draw_pictures.py`.

order.svg         the lines that the README shows
social_card.png   what other sites show beside a link to the book

and metrics_by_samples.json beside them, the expected metrics of the paper's three recommenders on
MovieLens-1M, which the living figures show.
"""

import json
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, FancyBboxPatch

import recsample as rs
from recsample import plotting

IMAGES = Path(__file__).parents[1] / "book" / "images"
BY_SAMPLES = IMAGES / "metrics_by_samples.json"

# Of what is sampled, and of what is exact.
COLOURS = plotting.ORANGE, plotting.GREEN

# The logo as in logo.svg: a relevant item among a few sampled ones, on 64 by 64 with round corners.
RELEVANT, OTHERS, CORNER = (23, 32), [(14, 12), (38, 47), (54, 53)], 12


def order(ax=None):
    """Recall@10 of X, Y and Z on MovieLens-1M, sampled and exact, each on a scale of its own."""
    ax = plt.subplots(figsize=(5.4, 2.6))[1] if ax is None else ax
    names, *sides = _sides()
    for side, (values, colour, place) in enumerate(zip(sides, COLOURS, ("right", "left"))):
        for name, value, height in zip(names, values, _heights(values)):
            words = f"{value:.3f}   {name}" if side else f"{name}   {value:.3f}"
            x = side + (0.05 if side else -0.05)
            ax.text(x, height, words, ha=place, va="center", color=colour)
    for name, *heights in zip(names, *map(_heights, sides)):
        colour, marker, line = plotting.RECOMMENDER[name]
        ax.plot([0, 1], heights, color=colour, marker=marker, linestyle=line)
    ax.set(xlim=(-0.5, 1.5), ylim=(-0.1, 1.1))
    ax.axis("off")
    for side, words in enumerate(("among 100\nrandom films", "among\nall films")):
        ax.text(side, 1.18, words, ha="center", va="bottom", color=COLOURS[side])
    return ax


def _sides():
    """The recommenders, their Recall@10 among 100 random films, and that among all."""
    recorded, recall = rs.datasets.recorded_ranks(), rs.Recall @ 10
    sampled = [expected(recall, ranks, 100) for ranks in recorded.values()]
    return [*recorded], sampled, [recall(r).mean() for r in recorded.values()]


def _heights(values):
    return (np.array(values) - min(values)) / (max(values) - min(values))


def social_card():
    """The claim, and the lines, 1,200 by 630 pixels."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, layout="none")
    write = partial(figure.text, va="center")
    write(0.06, 0.86, "First among 100, last among all", fontsize=42, fontweight="bold")
    what = "Recall@10 of\nthree recommenders\non MovieLens-1M"
    write(0.06, 0.5, what, fontsize=28, linespacing=1.5, color=plotting.INK)
    write(0.115, 0.09, "recsample", fontsize=26, color=plotting.BLUE)
    _mark(figure.add_axes((0.06, 0.05, 0.08 * 6.3 / 12, 0.08), aspect="equal"))
    with plt.rc_context({"font.size": 22, "lines.linewidth": 5, "lines.markersize": 14}):
        order(figure.add_axes((0.47, 0.1, 0.5, 0.5), facecolor="none"))
    return figure


def _mark(ax):
    """The logo on an axes."""
    ax.set(xlim=(0, 64), ylim=(64, 0))
    corner = {"boxstyle": f"round,pad=0,rounding_size={CORNER}", "linewidth": 0}
    ax.add_patch(FancyBboxPatch((0, 0), 64, 64, color=plotting.BLUE, **corner))
    for x, y in OTHERS:
        ax.add_patch(Circle((x, y), 6, color="white", linewidth=0))
    ax.add_patch(Circle(RELEVANT, 10.5, color="white", linewidth=0))
    ax.add_patch(Circle(RELEVANT, 7.5, color=plotting.ORANGE, linewidth=0))
    ax.axis("off")


def metrics_by_samples():
    """Expected metrics of X, Y and Z at round numbers of sampled items, and at all of them."""
    recorded = rs.datasets.recorded_ranks()
    most = int(max(ranks.n_irrelevant.max() for ranks in recorded.values()))
    steps = np.outer([1, 10, 100, 1000], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8])
    sizes = [*np.unique(steps[steps < most].astype(int)).tolist(), most]
    metrics = [rs.metric(name) for name in ("AP", "NDCG@10", "Recall@10", "AUC")]
    values = {
        str(metric): {
            name: [round(expected(metric, ranks, m), 6) for m in sizes]
            for name, ranks in recorded.items()
        }
        for metric in metrics
    }
    return {"m": sizes, "values": values}


def expected(metric, ranks, m):
    """The mean over the users if each ranks among m sampled items, or among all they have."""
    values, more = metric(ranks), ranks.n_irrelevant > m
    if more.any():
        some = {"n_items": ranks.n_items[more], "ties": ranks.ties[more]}
        sampler = rs.UniformSampling(m)
        values[more] = sampler.expect(metric, rs.Ranks(ranks.values[more], **some))
    return float(values.mean())


def main(folder=IMAGES):
    with plt.rc_context({"svg.hashsalt": "recsample"}):  # the same file on every run
        plotting.use_style()
        order().figure.savefig(folder / "order.svg", metadata={"Date": None})
        social_card().savefig(folder / "social_card.png", metadata={"Software": None})
        plt.close("all")


if __name__ == "__main__":
    main()
    BY_SAMPLES.write_text(json.dumps(metrics_by_samples(), separators=(",", ":")), encoding="utf-8")
