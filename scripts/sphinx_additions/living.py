"""Figures that answer to the reader's hand, around the pictures that cells draw.

A cell with the option `living: NAME` has its picture put into an element <living-figure>, and the
page gets the script of that figure, book/_static/living/NAME.js, and element.js, which all share.
The script shows the living figure in place of the picture; without scripts and on paper the picture
stays, and caption, number and name are those of the cell in any case.
"""

import json
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

import recsample as rs

SCRIPTS = Path(__file__).parents[2] / "book/_static/living"
BY_SAMPLES = SCRIPTS.parents[1] / "images/metrics_by_samples.json"
NAMES = sorted({path.stem for path in SCRIPTS.glob("*.js")} - {"element"})


class LivingFigure(nodes.General, nodes.Element):
    """A living figure, with the picture that stands in its place."""


class WrapPictures(SphinxTransform):
    """Put the picture of a cell with the option `living` into the figure of that name."""

    default_priority = 10

    def apply(self):
        for cell in self.document.findall(nodes.container):
            name = cell.get("cell_metadata", {}).get("living")
            for figure in cell.findall(nodes.figure) if name else []:
                if name not in NAMES:
                    raise ExtensionError(f"living must be one of {', '.join(NAMES)}, got {name!r}")
                captions = [child for child in figure if isinstance(child, nodes.caption)]
                picture = [child for child in figure if child not in captions]
                figure.children = []
                figure += [LivingFigure("", *picture, living=name), *captions]


@cache
def given(name):
    """What a figure is given by the package; None for one that computes what it shows."""
    if name == "order":
        return {"A, B, C": _toy_metrics(), "X, Y, Z on MovieLens-1M": _real_metrics()}
    if name == "guess":
        return _recall_and_what_it_reads(**_real_metrics())
    return _corrections() if name == "gamma" else None


def _real_metrics():
    return json.loads(BY_SAMPLES.read_text(encoding="utf-8"))


def _recall_and_what_it_reads(m, values):
    """Recall@10 from 20 sampled films on, and the K of the exact Recall@K that it averages."""
    start, cutoffs = m.index(20), []
    for size in m[start:-1]:
        one = rs.UniformSampling(size).effective_cutoffs("Recall@10", 3_541)
        cutoffs.append([one.low, one.high])
    recall = {name: column[start:] for name, column in values["Recall@10"].items()}
    return {"m": m[start:], "values": recall, "cutoffs": cutoffs}


def _toy_metrics():
    """The expected metrics of A, B and C at numbers of sampled items, up to all."""
    sizes = np.unique(np.geomspace(1, 10_000, 81).round().astype(int).clip(max=9_999)).tolist()
    values = {
        name: {
            recommender: [
                _rounded(rs.UniformSampling(m).expect(rs.metric(name), ranks).mean()) for m in sizes
            ]
            for recommender, ranks in rs.experiments.toy_ranks().items()
        }
        for name in ("AP", "NDCG@10", "Recall@10", "AUC")
    }
    return {"m": sizes, "values": values}


def _corrections():
    """The bias-variance correction of three metrics at values of gamma, with its errors."""
    steps = [1, 1.5, 2, 3, 5, 7]
    gammas = [_rounded(step * 10**power) for power in (-3, -2, -1) for step in steps] + [1]
    found = {}
    for name in ("AP", "NDCG@10", "Recall@10"):
        for gamma in gammas:
            sampler = rs.UniformSampling(100)
            one = rs.BiasVariance(rs.metric(name), sampler, 10_000, gamma=gamma)
            errors = {"bias": one.squared_bias**0.5, "std": one.mean_variance**0.5}
            row = {error: _rounded(value) for error, value in errors.items()}
            values = [_rounded(value) for value in one.values[:20]]
            found.setdefault(name, []).append({**row, "values": values})
    return {"gamma": gammas, "metrics": found}


def _rounded(number):
    """A number to five digits: more than the figures say, and short in the page."""
    return float(f"{number:.5g}")


def _visit(translator, node):
    data = escape(json.dumps(given(node["living"]), separators=(",", ":")))
    name = node["living"]
    opening = f'<living-figure class="{name}" name="{name}" data-given="{data}">'
    translator.body.append(f'{opening}\n<div class="drawn">\n')


def _depart(translator, node):
    translator.body.append("</div>\n</living-figure>\n")


def add_scripts(app, page, template, context, document):
    """Load the scripts of the living figures of a page, and none on other pages."""
    found = document.findall(LivingFigure) if document else []
    if names := sorted({node["living"] for node in found}):
        for name in ["element", *names]:
            app.add_js_file(f"living/{name}.js", loading_method="defer")


def setup(app):
    app.add_node(LivingFigure, html=(_visit, _depart))
    app.add_transform(WrapPictures)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
