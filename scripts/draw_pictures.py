"""Draws the pictures that are committed: `python scripts/draw_pictures.py`.

order.svg         the curves that the README shows
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
from recsample import experiments, plotting

IMAGES = Path(__file__).parents[1] / "book" / "images"
BY_SAMPLES = IMAGES / "metrics_by_samples.json"

# The logo as in logo.svg: a relevant item among a few sampled ones, on 64 by 64 with round corners.
RELEVANT, OTHERS, CORNER = (23, 32), [(14, 12), (38, 47), (54, 53)], 12


def order(ax=None):
    """The expected average precision of A, B and C: an axes."""
    ax = plotting.metric_by_samples(experiments.figure2().loc["AP"], ax)
    ax.set_ylabel("expected average precision")
    return ax


def social_card():
    """The claim, the order at 100 items and of all, and the curves, 1,200 by 630 pixels."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, layout="none")
    write = partial(figure.text, va="center")
    write(0.06, 0.86, "The best of three comes last", fontsize=45, fontweight="bold")
    orders = dict(experiments.order_changes(rs.AP, samples=[100, 9_999]))
    for place, m, words, colour in [
        (0.62, 100, "among 100 random items", plotting.ORANGE),
        (0.36, 9_999, "among all 9,999", plotting.GREEN),
    ]:
        write(0.06, place, orders[m], fontsize=44, fontweight="bold", color=colour)
        write(0.06, place - 0.09, words, fontsize=24, color=colour)
    write(0.115, 0.09, "recsample", fontsize=26, color=plotting.BLUE)
    _mark(figure.add_axes((0.06, 0.05, 0.08 * 6.3 / 12, 0.08), aspect="equal"))
    with plt.rc_context({"font.size": 18, "lines.linewidth": 5, "lines.markersize": 0}):
        curves = order(figure.add_axes((0.52, 0.15, 0.42, 0.58), facecolor="none"))
    right = experiments.order_changes(rs.AP)[-1][0]  # from here on the order is the exact one
    for start, end, colour in [(1, right, plotting.ORANGE), (right, 9_999, plotting.GREEN)]:
        curves.axvspan(start, end, color=colour, alpha=0.12, linewidth=0, zorder=-1)
    curves.axvline(100, color=plotting.GREY, linestyle=":", linewidth=3)
    curves.set(xlabel="number of sampled items", ylabel="average precision", xlim=(1, 9_999))
    curves.tick_params(which="both", length=0, labelleft=False)
    curves.grid(False)
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
