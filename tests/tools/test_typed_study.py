"""The types of the public API are of use to those who check their own code with mypy."""

from pathlib import Path

from mypy import api

import recsample

ROOT = Path(recsample.__file__).parents[1]

# A study as a reader might write it.
STUDY = """\
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from typing_extensions import assert_type
import recsample as rs
from recsample import AP, AUC, NDCG, RR, Recall
from recsample.datasets.interactions import make_interactions
from recsample.recommenders import ItemKNN, MatrixFactorization

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)
several = rs.Ranks([[1, 4], [3]], n_items=np.array([10, 20]), ties=[[0, 0], [2]])
scored = rs.predicted_ranks(np.eye(3), [0, 1, 2], exclude=sparse.csr_matrix((3, 3)))
assert_type(scored, rs.Ranks)
assert_type(ranks.n_relevant, Integers)
assert_type(several.values, Integers | tuple[Integers, ...])

assert_type(NDCG @ 10, rs.metrics.ranking.NormalizedDCG)
assert_type(rs.RankScore(5).half_life, float)
assert_type(rs.metric("recall@10"), rs.metrics.Metric)
assert_type(AP(ranks), Floats)
assert_type(AP.of_rank(3, 10), float)
assert_type(AP.of_rank([1, 2, 3], 10), Floats)
assert_type(AUC.cutoff, int | None)
assert_type(Recall.name, str)
table = rs.compare({"C": ranks, "D": ranks}, [AP, RR, NDCG @ 10, "recall@10"])

sampler = rs.UniformSampling(m=99)
assert_type(sampler.draw(ranks, rng=0), rs.Ranks)
assert_type(sampler.law(1000), Floats)
assert_type(sampler.expect(Recall @ 10, ranks), Floats)
assert_type(sampler.draw(several.each_alone(), rng=0), rs.Ranks)
assert_type(rs.InverseSampling().estimate(AP, ranks, rng=0), Floats)
assert_type(rs.EarlyStopping(10).cost(ranks), Floats)
assert_type(rs.EarlyStopping(10).std_of_mean(Recall @ 10, ranks), float)

best = rs.MinimalBias(AP, sampler, n_items=10_000)
assert_type(best.path.squared_bias, Floats)
corrected = rs.BiasVariance(AP, sampler, 10_000, gamma=0.01, prior=[1.0] * 10_000)
assert_type(corrected.values, Floats)
assert_type(rs.RankEstimate(AP, sampler, 10_000, rounding="linear")(ranks), Floats)

data = make_interactions(600, 400, 30_000, rng=1)
assert_type(data.held_out, Integers)
assert_type(MatrixFactorization(n_iterations=2).fit(data.train).ranks(data), rs.Ranks)
assert_type(ItemKNN(n_neighbors=10).fit(data.train).scores([0]), Floats)
assert_type(rs.experiments.order_changes(AP), list[tuple[int, str]])

# Every line below is a mistake: what is not found to be one is an error, too.
rs.AP(0.5)  # type: ignore
rs.AP @ "10"  # type: ignore
rs.Ranks([1, 2])  # type: ignore
rs.UniformSampling(m="99")  # type: ignore
rs.UniformSampling(99).draw(rs.Ranks([1], 100), rng="seed")  # type: ignore
rs.BiasVariance(rs.AP, sampler, 100, rounding="linear", gamma=0.1)  # type: ignore
rs.RankEstimate(rs.AP, sampler, 100, rounding="up")  # type: ignore
rs.compare([rs.Ranks([1], 100)], [rs.AP])  # type: ignore
rs.compare({"A": rs.Ranks([1], 100)}, rs.AP)  # type: ignore
"""


def test_a_typed_study_passes_the_strictest_check(tmp_path, monkeypatch):
    (tmp_path / "study.py").write_text(STUDY, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    # Not every reader has stubs of SciPy, and the types of this package do without.
    options = ["--strict", "--follow-imports=silent", "--disable-error-code=import-untyped"]
    out, err, _ = api.run([*options, "--config-file", "", "study.py"])
    assert not err and [line for line in out.splitlines() if line.startswith("study.py")] == []
