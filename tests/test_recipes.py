"""What CONTRIBUTING says of adding a metric or a sampler, done as it says."""

import doctest
import inspect
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample._support.typing import Floats, Rng
from recsample.metrics import base, names, ranking

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests/metrics"))

import test_metric_base  # noqa: E402
import test_names  # noqa: E402
import test_shapes  # noqa: E402
import test_values  # noqa: E402

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def made(what, **known):
    """The class that a recipe defines, where these names are known."""
    (code,) = re.findall(rf"<!-- recipe: {what} -->\n```python\n(.*?)^```$", PAGE, re.M | re.S)
    module = types.ModuleType(f"recipe_{what}")
    sys.modules[module.__name__] = module  # where data classes look
    vars(module).update(known)
    before = {*vars(module)}
    exec(code, vars(module))
    added = [getattr(module, name) for name in {*vars(module)} - before - {"__builtins__"}]
    (found,) = filter(inspect.isclass, added)
    return found


@pytest.fixture
def metric(monkeypatch):
    """The recipe's metric, added to the module that it says; forgotten after the test."""
    known = dict(base.REGISTERED)
    for module in (base, names):
        monkeypatch.setattr(module, "REGISTERED", known)
    made("metric", **vars(ranking))
    *_, added = rs.metrics.every_metric()
    return added


def test_a_metric_is_one_class_and_one_value(metric):
    (name, value) = re.search(r'`"(\w+)": ([\d /]+)`', PAGE).groups()
    assert name == str(metric)
    test_values.check_value(metric, eval(value))


def test_its_example_runs(metric):
    found = doctest.DocTestParser().get_doctest(type(metric).__doc__, {}, "recipe", None, None)
    assert found.examples and not doctest.DocTestRunner().run(found).failed


def test_it_passes_what_all_metrics_pass(metric):
    test_names.test_a_printed_name_parses_back(metric)
    for one in (metric, metric @ 4):
        test_metric_base.test_a_metric_is_the_sum_of_its_terms(one)
        test_metric_base.test_metrics_of_exact_ranks_are_made_for_no_sampler(one)
        for order, n_relevant in ((1, 1), (1, 3), (2, 3), (3, 3)):
            test_shapes.test_values_have_the_shape(one, order, n_relevant)
    test_metric_base.test_ranks_beyond_the_cut_off_do_not_count(metric)


def test_it_works_with_ties_samplers_and_corrections(metric):
    short, other = rs.metric("rr2@10"), rs.metric("squared rr @ 10")
    assert short == other == metric @ 10
    tied = metric(rs.Ranks([2], 40, ties=[3]))
    assert tied == pytest.approx([np.mean([1 / r**2 for r in (2, 3, 4, 5)])])
    every, sampler = rs.Ranks(range(1, 41), 40), rs.UniformSampling(6)
    law, values = sampler.law(40), 1 / np.arange(1.0, 8) ** 2
    assert sampler.expect("rr2", every) == pytest.approx(law @ values)
    assert sampler.variance("rr2", every) == pytest.approx(law @ values**2 - (law @ values) ** 2)
    corrected = rs.BiasVariance("rr2", sampler, 40, gamma=0.01)
    naive = ((law @ values - metric(every)) ** 2).mean()
    assert corrected.metric == metric and corrected.squared_bias < naive / 2


@pytest.fixture(scope="module")
def sampler():
    known = dict(dataclass=dataclass, np=np, stats=stats, Floats=Floats, Rng=Rng, Ranks=rs.Ranks)
    return made("sampler", SumsOverLaw=rs.sampling.SumsOverLaw, **known)(6)


def test_a_sampler_is_a_law_and_a_draw(sampler):
    ranks, every = rs.Ranks([3, 9], 40, ties=[0, 5]), rs.Ranks(range(1, 41), 40)
    means = rs.AP(sampler.draw(ranks[np.repeat([0, 1], 4_000)], 1)).reshape(2, -1).mean(axis=1)
    error = np.sqrt(sampler.variance("AP", ranks) / 4_000)
    assert (abs(means - sampler.expect("AP", ranks)) < 4 * error).all()
    corrected = rs.BiasVariance("AP", sampler, 40, gamma=0.1)
    mean = sampler.law(40) @ corrected.values
    assert sampler.expect(corrected, every) == pytest.approx(mean)
    table = rs.experiments.bias_and_variance({"raw": "AP", "ours": corrected}, "AP", sampler, 40)
    assert table.loc["ours", "rms bias"] < table.loc["raw", "rms bias"]
    several = rs.Ranks([[1, 2]], 40)
    other = rs.BiasVariance("AP", rs.UniformSampling(6), 40, gamma=1)
    with pytest.raises(ValueError, match="one relevant item per instance"):
        sampler.expect("AP", several)
    with pytest.raises(ValueError, match="metric must read what HardNegatives"):
        sampler.expect(other, every)
