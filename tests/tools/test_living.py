"""The living figures: what they compute, against the package, and how they answer to a reader."""

from math import comb
from types import SimpleNamespace

import browser
import numpy as np
import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError
from sphinx_additions import living

import recsample as rs
from recsample import AP, AUC, NDCG, Recall, experiments

METRICS = {str(metric): metric for metric in (AP, NDCG @ 10, Recall @ 10, AUC)}


# What they compute.


@pytest.fixture(scope="module")
def compute(chromium):
    """A function that evaluates an expression of JavaScript where all scripts are loaded."""
    page = chromium.new_page()
    for name in [*living.SHARED, *living.NAMES]:
        page.add_script_tag(path=living.SCRIPTS / f"{name}.js")
    return page.evaluate


def values(compute, figure, states, what, data=None):
    """What a figure computes for some states: `what` is the part of it that is wanted."""
    return compute(
        f"([states, data]) => states.map((state) => "
        f"{{ const found = living.figures.{figure}.values(state, data); return {what}; }})",
        [states, data],
    )


@pytest.mark.parametrize("replace", [False, True])
def test_the_law_is_that_of_counting(compute, replace):
    cases = [(a, pool, m) for pool in (1, 2, 9, 40) for a in range(pool + 1) for m in (1, 3, 40)]
    cases += [(a, 9_999, m) for a in (0, 1, 99, 4_000, 9_990, 9_999) for m in (1, 100, 1_000)]
    cases = [(a, pool, m) for a, pool, m in cases if replace or m <= pool]
    laws = compute(
        "([cases, replace]) => cases.map((one) => Array.from(living.law(...one, replace)))",
        [cases, replace],
    )
    for (a, pool, m), law in zip(cases, laws, strict=True):
        if replace:
            exact = [comb(m, s) * a**s * (pool - a) ** (m - s) / pool**m for s in range(m + 1)]
        else:
            exact = [comb(a, s) * comb(pool - a, m - s) / comb(pool, m) for s in range(m + 1)]
        assert np.allclose(law, exact, rtol=0, atol=1e-12), (a, pool, m)


def test_the_expected_metrics_of_a_b_and_c(compute):
    ranks = experiments.toy_ranks()
    sizes = [1, 2, 10, 11, 99, 100, 500, 2_000, 9_998, 9_999]
    for name, metric in METRICS.items():
        states = [{"recommenders": "A, B, C", "metric": name, "m": m} for m in sizes]
        for m, found in zip(sizes, values(compute, "order", states, "found"), strict=True):
            wanted = {a: rs.UniformSampling(m).expect(metric, r).mean() for a, r in ranks.items()}
            assert found["sampled"] == pytest.approx(wanted, rel=0, abs=1e-9), (name, m)
            exact = {a: metric(r).mean() for a, r in ranks.items()}
            assert found["exact"] == pytest.approx(exact, rel=0, abs=1e-9), name


def test_the_expected_metrics_of_x_y_and_z(compute):
    data, recorded = living.given("order"), rs.datasets.recorded_ranks()
    assert data["m"][-1] == max(ranks.n_irrelevant.max() for ranks in recorded.values())
    some = {m: data["m"].index(m) for m in data["m"][20:] if m < 1_393}  # all users have as many
    assert len(some) > 10
    for name, metric in METRICS.items():
        exact = {x: metric(ranks).mean() for x, ranks in recorded.items()}
        states = [{"recommenders": "X, Y, Z on MovieLens-1M", "metric": name, "m": m} for m in some]
        for m, found in zip(some, values(compute, "order", states, "found", data), strict=True):
            assert found["exact"] == pytest.approx(exact, rel=0, abs=1e-6), name
            sampler = rs.UniformSampling(m)
            wanted = {x: sampler.expect(metric, ranks).mean() for x, ranks in recorded.items()}
            assert found["sampled"] == pytest.approx(wanted, rel=0, abs=1e-6), (name, m)


def test_the_sampled_rank(compute):
    states = [
        {"n": n, "r": r, "m": m, "draws": draws}
        for n, r, m in [(10, 1, 9), (10, 10, 1), (200, 50, 100), (10_000, 100, 100)]
        for draws in ("without replacement", "with replacement")
    ]
    found = values(
        compute, "sampled_rank", states, "[[...found.law], [...found.other], found.mean]"
    )
    for state, (law, other, mean) in zip(states, found, strict=True):
        ranks = rs.Ranks([state["r"]], n_items=state["n"])
        ways = [rs.UniformSampling(state["m"], replace=way) for way in (False, True)]
        laws = [sampler.pmf(ranks)[0] for sampler in ways]
        wanted = laws if state["draws"].startswith("without") else laws[::-1]
        assert np.allclose([law, other], wanted, rtol=0, atol=1e-12)
        assert mean == pytest.approx(1 + state["m"] * (state["r"] - 1) / (state["n"] - 1), abs=1e-9)


@pytest.mark.parametrize("name", ["AP", "NDCG@10", "Recall@10"])
def test_the_correction_and_its_errors(compute, name):
    gammas = [1, 0.5, 0.1, 0.015, 0.001]
    states = [{"metric": name, "gamma": gamma} for gamma in gammas]
    found = values(compute, "gamma", states, "[[...found.values], found.bias, found.std]")
    for gamma, (read, bias, std) in zip(gammas, found, strict=True):
        wanted = rs.BiasVariance(METRICS[name], rs.UniformSampling(100), 10_000, gamma=gamma)
        assert np.allclose(read, wanted.values, rtol=0, atol=1e-9)
        errors = np.sqrt([wanted.squared_bias, wanted.mean_variance])
        assert np.allclose([bias, std], errors, rtol=0, atol=1e-9)


# How they answer.

PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='90' height='60'></svg>"


def document(names):
    """A page with the living figures of these names, each with a picture to stand in its place."""
    figures = []
    for name in names:
        node, translator = living.LivingFigure("", living=name), SimpleNamespace(body=[])
        living._visit(translator, node)
        translator.body.append(f'<img src="{PICTURE}" alt="What stands in the place of {name}.">')
        living._depart(translator, node)
        figures.append(
            f"<figure>{''.join(translator.body)}<figcaption>{name}</figcaption></figure>"
        )
    scripts = "".join(
        f'<script defer src="{(living.SCRIPTS / name).as_uri()}.js"></script>'
        for name in [*living.SHARED, *living.NAMES]
    )
    style = (living.SCRIPTS.parent / "living.css").as_uri()
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Living</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{style}">'
        f"{scripts}</head><body><main><article><h1>Living</h1>{''.join(figures)}"
        f"</article></main></body></html>"
    )


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a page with living figures, as a file: the page and its errors."""
    windows = []

    def opened(*names):
        (tmp_path / "page.html").write_text(document(names), encoding="utf-8")
        windows.append(browser.open_window(chromium))
        return browser.visit(windows[-1], (tmp_path / "page.html").as_uri())[:2]

    yield opened
    for window in windows:
        window.close()


@pytest.mark.parametrize("name", living.NAMES)
def test_every_control_is_a_matter_of_keys_and_changes_what_is_said(opened, name):
    page, errors = opened(name)
    said = page.locator("output[aria-live=polite]")
    reached = 0
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement !== document.body"):
        kind = page.evaluate("document.activeElement.type")
        label = "document.activeElement.ariaValueText"
        texts, labels = [said.text_content()], [page.evaluate(label)]
        for key in ("ArrowLeft", "ArrowRight"):
            page.keyboard.press(key)
            texts.append(said.text_content())
            labels.append(page.evaluate(label))
        assert texts[0] != texts[1] and texts[2] == texts[0], (kind, texts)
        assert kind == "radio" or (labels[0] != labels[1] and labels[2] == labels[0])
        reached += 1
        page.keyboard.press("Tab")
    controls = ":is([type=range], [role=radiogroup])"
    assert reached == page.locator(f"living-figure {controls}").count() > 1
    assert errors == []


def test_a_pool_that_shrinks_takes_rank_and_sample_with_it_and_gives_them_back(opened):
    page, _ = opened("sampled_rank")
    said, pool = page.locator("output"), page.locator("input").first
    before = said.text_content()
    pool.fill("0")
    assert "rank 10 of 10 " in said.text_content() and "m = 9 sampled" in said.text_content()
    pool.fill(str(np.log(1_000) / np.log(10_000)))
    assert said.text_content() == before


def shown(page):
    """Whether the living figure is seen, and whether the picture is."""
    return [page.locator(part).first.is_visible() for part in (".living", ".drawn")]


def test_the_picture_stays_where_scripts_do_not_run_or_fail(chromium, tmp_path, opened):
    (tmp_path / "page.html").write_text(document(["order"]), encoding="utf-8")
    window = chromium.new_context(java_script_enabled=False)
    page = window.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert shown(page) == [False, True]
    window.close()
    page, errors = opened("nowhere")
    assert shown(page) == [False, True] and len(errors) == 1


# How they come into a page.


def cell(**options):
    """A cell that has drawn a picture with a caption."""
    figure = nodes.figure("", nodes.image(uri="a.svg"), nodes.caption("", "What it shows."))
    made = new_document("page")
    made += nodes.container("", figure, nb_element="cell_code", cell_metadata=options)
    living.WrapPictures(made).apply()
    return figure


def test_a_cell_with_the_option_becomes_a_living_figure_within_its_caption():
    wrapped, caption = cell(living="order")
    assert isinstance(wrapped, living.LivingFigure) and wrapped["living"] == "order"
    assert isinstance(wrapped[0], nodes.image) and isinstance(caption, nodes.caption)


def test_other_cells_stay_pictures():
    assert [type(part) for part in cell()] == [nodes.image, nodes.caption]


def test_a_figure_that_there_is_not_is_named():
    with pytest.raises(ExtensionError, match="living must be one of gamma, .*, got 'orders'"):
        cell(living="orders")
