"""Draws the pictures that are committed: `python scripts/draw_pictures.py`.

order.svg         the curves that the README shows
concept_map.svg   the map on the landing page of the book; each box links to a page beside it
logo.svg          in the sidebar, and as the icon of the page
social_card.png   what other sites show beside a link to the book

and book/data/metrics_by_samples.json, the expected metrics of the paper's three recommenders on
MovieLens-1M, which the figure on the landing page shows.
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
BY_SAMPLES = IMAGES.parent / "data" / "metrics_by_samples.json"

# The boxes of the map: column, row, width in columns, page, name, meaning.
BOXES = [
    (0, 0, 1, "metrics", "Ranks", "where relevant|items stand"),
    (1, 0, 1, "sampled_metrics", "Sampler", "draws m items|to rank among"),
    (2, 0, 1, "metrics", "Metric", "what a rank|is worth"),
    (0, 1, 1, "sampled_metrics", "Sampled|ranks", "all that the|study sees"),
    (1, 1, 1, "rank_distribution", "Law of the|sampled rank", "what becomes|of a rank"),
    (2, 1, 1, "expected_metrics", "Expected|metric", "what it reports,|on average"),
    (0, 2, 1, "your_study", "Estimate", "of the metric,|with its error"),
    (1, 2, 2, "corrected_metrics", "Correction", "what to read off a sampled|rank, to come closer"),
]
WIDTH, COLUMN = 116, 132  # of a box, and from one to the next
TOP, HEIGHT = (0, 104, 226), (74, 92, 74)  # of the boxes of each row
# The logo, on a square of 64 by 64 with round corners: a relevant item among a few sampled ones.
RELEVANT, OTHERS, CORNER = (23, 32), [(14, 12), (38, 47), (54, 53)], 12


def order(ax=None):
    """The expected average precision of A, B and C: an axes."""
    ax = plotting.metric_by_samples(experiments.figure2().loc["AP"], ax)
    ax.set_ylabel("expected average precision")
    return ax


def concept_map():
    """The concepts of the book and how one leads to the other: the text of an SVG file.

    It stands inside the page, so it takes the colours of the page, light or dark, and says itself
    what it shows.
    """
    boxes, arrows = "".join(_box(*box) for box in BOXES), "".join(_arrows())
    width, height = 2 * COLUMN + WIDTH + 4, TOP[-1] + HEIGHT[-1] + 4
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" class="concept-map" viewBox="-2 -2 {width} {height}"
  role="group" aria-label="A map of eight boxes with arrows. Ranks and a sampler lead to the sampled
  ranks. The sampler leads to the law of the sampled rank. The law and a metric lead to the expected
  metric. The law and the expected metric lead to the correction. The sampled ranks and the
  correction lead to the estimate.">
<style>
.concept-map {{ display: block; width: 100%; max-width: 30rem; margin: auto;
  font: 13px var(--pst-font-family-base, sans-serif); text-anchor: middle; fill: currentColor; }}
.concept-map rect {{ fill: var(--pst-color-surface, #f3f4f5); stroke: currentColor; }}
.concept-map .noun rect {{ stroke: var(--pst-color-primary, {plotting.BLUE}); stroke-width: 2.5; }}
.concept-map path {{ fill: none; stroke: currentColor; stroke-width: 1.5; }}
.concept-map a {{ color: inherit; text-decoration: none; }}
.concept-map .name {{ font-weight: bold; fill: var(--pst-color-link, {plotting.BLUE}); }}
.concept-map a:is(:hover, :focus-visible) rect {{ stroke-width: 3.5; }}
.concept-map a:is(:hover, :focus-visible) .name {{ text-decoration: underline; }}
.concept-map marker path {{ fill: currentColor; stroke: none; }}
</style>
<defs><marker id="concept-map-head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6"
  markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
<g marker-end="url(#concept-map-head)">
{arrows}</g>
{boxes}</svg>
"""


def _box(column, row, columns, page, name, meaning):
    """A rectangle with a name and what it means, as a link."""
    x, width = column * COLUMN, (columns - 1) * COLUMN + WIDTH
    names, words = name.split("|"), meaning.split("|")
    kinds = ["name"] * len(names) + ["words"] * len(words)
    y = TOP[row] + HEIGHT[row] / 2 - 9 * len(kinds) + 14
    lines = "".join(
        f'<text class="{kind}" x="{x + width / 2:g}" y="{y + 18 * i:g}">{line}</text>\n'
        for i, (kind, line) in enumerate(zip(kinds, names + words))
    )
    kind = ' class="noun"' if row == 0 else ""
    return f"""\
<a href="{page}.html"{kind}>
<rect x="{x}" y="{TOP[row]}" width="{width}" height="{HEIGHT[row]}" rx="6"/>
{lines}</a>
"""


def _arrows():
    """From each box to those that are made from it, as paths."""
    middle = [WIDTH / 2 + column * COLUMN for column in range(3)]
    ends = [(x, TOP[row] + HEIGHT[row], x, TOP[row + 1]) for row in (0, 1) for x in middle]
    ends.append((middle[1] - 30, HEIGHT[0], middle[0] + 30, TOP[1]))
    ends.append((COLUMN + WIDTH, TOP[1] + HEIGHT[1] / 2, 2 * COLUMN, TOP[1] + HEIGHT[1] / 2))
    ends.append((COLUMN, TOP[2] + HEIGHT[2] / 2, WIDTH, TOP[2] + HEIGHT[2] / 2))
    for x, y, to_x, to_y in ends:
        yield f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>\n'


def logo():
    """A relevant item among a few others, on the curve of a metric: the text of an SVG file."""
    others = "".join(f'<circle cx="{x}" cy="{y}" r="6"/>' for x, y in OTHERS)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
<rect width="64" height="64" rx="{CORNER}" fill="{plotting.BLUE}"/>
<g fill="#fff">{others}</g>
<g transform="translate({RELEVANT[0]} {RELEVANT[1]})">
<circle r="10.5" fill="#fff"/><circle r="7.5" fill="{plotting.ORANGE}"/></g>
</svg>
"""


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


def metrics_by_samples(sizes=None):
    """Expected metrics of X, Y and Z at some numbers of sampled items, up to all: a dictionary."""
    recorded = rs.datasets.recorded_ranks()
    most = int(max(ranks.n_irrelevant.max() for ranks in recorded.values()))
    if sizes is None:
        sizes = np.unique(np.geomspace(1, most, 44).round().astype(int)).tolist()
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
    (folder / "concept_map.svg").write_text(concept_map(), encoding="utf-8")
    (folder / "logo.svg").write_text(logo(), encoding="utf-8")
    with plt.rc_context({"svg.hashsalt": "recsample"}):  # the same file on every run
        plotting.use_style()
        order().figure.savefig(folder / "order.svg", metadata={"Date": None})
        social_card().savefig(folder / "social_card.png", metadata={"Software": None})
        plt.close("all")


if __name__ == "__main__":
    main()
    BY_SAMPLES.write_text(json.dumps(metrics_by_samples(), separators=(",", ":")), encoding="utf-8")
