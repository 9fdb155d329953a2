"""The living figures: what they compute, against the package, and how they answer to a reader."""

from math import comb

import numpy as np
import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError
from sphinx_additions import living

import recsample as rs

# What they show.


def test_the_law_is_that_of_counting(opened):
    page, _ = opened("sampled_rank")
    cases = [(a, pool, m) for pool in (1, 2, 9, 40) for a in range(pool + 1) for m in (1, 3, 40)]
    cases += [(a, 9_999, m) for a in (0, 1, 99, 4_000, 9_990, 9_999) for m in (1, 100, 1_000)]
    cases = [(*case, replace) for case in cases for replace in (False, True)]
    cases = [case for case in cases if case[-1] or case[2] <= case[1]]
    laws = page.evaluate("(cases) => cases.map((one) => living.law(...one))", cases)
    for (a, pool, m, replace), law in zip(cases, laws, strict=True):
        if replace:
            exact = [comb(m, s) * a**s * (pool - a) ** (m - s) / pool**m for s in range(m + 1)]
        else:
            exact = [comb(a, s) * comb(pool - a, m - s) / comb(pool, m) for s in range(m + 1)]
        assert np.allclose(law, exact, rtol=0, atol=1e-12), (a, pool, m, replace)


def test_metrics_of_a_b_and_c_are_those_of_figure_2():
    given = living.given("order")["A, B, C"]
    assert given["m"][0] == 1 and 100 in given["m"] and given["m"][-1] == 9_999
    figure = rs.experiments.figure2(given["m"])
    for metric in ("AP", "Recall@10", "AUC"):
        for name, values in given["values"][metric].items():
            assert np.allclose(values, figure.loc[metric][name], rtol=1e-4, atol=1e-12), name


def test_metrics_of_x_y_and_z_end_in_the_exact_ones():
    given, recorded = living.given("order")["X, Y, Z on MovieLens-1M"], rs.datasets.recorded_ranks()
    assert given["m"][-1] == max(ranks.n_irrelevant.max() for ranks in recorded.values())
    for metric in given["values"]:
        exact = {x: rs.metric(metric)(ranks).mean() for x, ranks in recorded.items()}
        found = {x: values[-1] for x, values in given["values"][metric].items()}
        assert found == pytest.approx(exact, rel=0, abs=1e-6), metric
    given = living.given("guess")
    for x, ranks in recorded.items():
        sampled = rs.UniformSampling(100).expect(rs.Recall @ 10, ranks).mean()
        assert given["values"][x][given["m"].index(100)] == pytest.approx(sampled, rel=0, abs=1e-6)


# How they answer.

PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='90' height='60'></svg>"


class Translator:
    """What writes a page, as far as a living figure needs it."""

    def __init__(self):
        self.body = []


def document(name):
    """A page with the living figure of a name, with a picture to stand in its place."""
    node, translator = living.LivingFigure("", living=name), Translator()
    living._visit(translator, node)
    translator.body.append(f'<img src="{PICTURE}" alt="What stands in the place of {name}.">')
    living._depart(translator, node)
    scripts = "".join(
        f'<script defer src="{(living.SCRIPTS / script).as_uri()}.js"></script>'
        for script in ["element", *living.NAMES]
    )
    style = (living.SCRIPTS.parent / "living.css").as_uri()
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Living</title>'
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{style}">{scripts}</head>'
        f"<body><main>{''.join(translator.body)}</main></body></html>"
    )


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a page with a living figure, as a file: the page and its errors."""
    windows, errors = [], []

    def opened(name, **options):
        (tmp_path / "page.html").write_text(document(name), encoding="utf-8")
        windows.append(chromium.new_context(**options))
        page = windows[-1].new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page, errors

    yield opened
    for window in windows:
        window.close()


@pytest.mark.parametrize("name", sorted({*living.NAMES} - {"guess"}))  # which asks first
def test_every_control_is_a_matter_of_keys_and_changes_what_is_said(opened, name):
    page, errors = opened(name)
    said, reached = page.locator("output[aria-live=polite]"), 0
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement !== document.body"):
        texts = [said.text_content()]
        for key in ("ArrowLeft", "ArrowRight"):
            page.keyboard.press(key)
            texts.append(said.text_content())
        assert texts[0] != texts[1] and texts[2] == texts[0], texts
        reached += 1
        page.keyboard.press("Tab")
    controls = ":is([type=range], [role=radiogroup])"
    assert reached == page.locator(f"living-figure {controls}").count() > 1
    assert errors == []


def test_a_guess_is_answered_and_only_then_the_sample_can_be_changed(opened):
    page, errors = opened("guess")
    said, slider = page.locator(".guess-answer[aria-live=polite]"), page.locator("[type=range]")
    first, _, last = page.locator(".guess button").all()
    assert first.text_content() == "X0.663" and said.text_content() == ""
    assert not slider.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert said.text_content().startswith("No: X is first among 100 random films, and last among")
    assert said.text_content().endswith("mostly from K = 198 to 535.")  # see effective_cutoffs
    assert first.text_content() == "X0.077" and first.get_attribute("aria-pressed") == "true"
    slider.fill("0")
    assert "Among 20 random films the order is X > Y > Z, wrong" in said.text_content()
    last.click()
    assert said.text_content().startswith("Yes: Z is last among 100") and errors == []


def test_the_words_are_those_of_the_package(opened):
    page, _ = opened("gamma")
    one = rs.BiasVariance(rs.AP, rs.UniformSampling(100), 10_000, gamma=0.1)
    bias, std = np.sqrt([one.squared_bias, one.mean_variance])
    said = page.locator("output").text_content()
    assert f"rms bias of {bias:.4f} and a standard deviation of {std:.4f}" in said
    assert f"It reads {one.values[0]:.3f} off the sampled rank 1" in said


def test_a_pool_that_shrinks_takes_rank_and_sample_with_it_and_gives_them_back(opened):
    page, _ = opened("sampled_rank")
    said, pool = page.locator("output"), page.locator("input").first
    before, place = said.text_content(), pool.input_value()
    pool.fill("0")
    assert "rank 10 of 10 " in said.text_content() and "m = 9 sampled" in said.text_content()
    pool.fill(place)
    assert said.text_content() == before


def shown(page):
    """Whether the living figure is seen, and whether the picture is."""
    return [page.locator(part).first.is_visible() for part in (".living", ".drawn")]


def test_the_picture_stays_without_scripts_and_on_paper(opened):
    page, _ = opened("order", java_script_enabled=False)
    assert shown(page) == [False, True]
    page, _ = opened("order")
    assert shown(page) == [True, False]
    page.emulate_media(media="print")
    assert shown(page) == [False, True]


# How they come into a page.


def test_a_cell_with_the_option_becomes_a_living_figure_within_its_caption():
    def figure(**options):
        figure = nodes.figure("", nodes.image(uri="a.svg"), nodes.caption("", "What it shows."))
        made = new_document("page")
        made += nodes.container("", figure, cell_metadata=options)
        living.WrapPictures(made).apply()
        return figure

    wrapped, caption = figure(living="order")
    assert isinstance(wrapped, living.LivingFigure) and wrapped["living"] == "order"
    assert isinstance(wrapped[0], nodes.image) and isinstance(caption, nodes.caption)
    assert isinstance(figure()[0], nodes.image)
    with pytest.raises(ExtensionError, match="living must be one of gamma, .*, got 'orders'"):
        figure(living="orders")
