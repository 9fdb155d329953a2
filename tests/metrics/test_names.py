"""The names of metrics: what prints parses back, what others write is understood."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from all_metrics import ALL, CUT_OFF, EVERY

import recsample as rs
from recsample import RankScore, metric
from recsample.metrics import FScore, Metric, base, every_metric


@pytest.mark.parametrize("M", ALL + [M @ 10 for M in CUT_OFF], ids=str)
def test_a_printed_name_parses_back(M):
    assert metric(str(M)) == metric(str(M).lower()) == metric(f" {M} ".upper()) == M
    assert repr(M) == str(M)
    assert hash(metric(str(M))) == hash(M)


@pytest.mark.parametrize(
    "other, name",
    [
        *(("mrr", "RR"), ("MRR@10", "RR@10"), ("MAP@5", "AP@5"), ("map(relevant)@5", None)),
        *(("Hits@3", "HitRate@3"), ("hit@3", "HitRate@3"), ("HR@10", "HitRate@10")),
        *(("P@5", "Precision@5"), ("R-Precision", "RPrecision"), ("rprec", "RPrecision")),
        *(("MAR@5", "AR@5"), ("MPR", "PercentileRank"), ("success@1", "HitRate@1")),
        *(("F(2)@5", "F2@5"), ("F(1)@5", "F1@5"), ("AP(best)@5", "AP@5"), ("f.5@3", "F0.5@3")),
        *(("f-1@10", "F1@10"), ("F_0.5@3", "F0.5@3"), ("f 1", "F1")),
        *(("hit_rate@10", "HitRate@10"), ("hit ratio@10", "HitRate@10"), ("R@5", "Recall@5")),
        *(("rank-score (5) @ 3", "RankScore(5)@3"), ("percentile rank", "PercentileRank")),
    ],
)
def test_names_that_others_use(other, name):
    assert str(metric(other)) == (name or "AP(relevant)@5")


@pytest.mark.parametrize(
    "library, names",
    [
        ("trec_eval", "P_5:Precision@5 recall_10:Recall@10 recip_rank:RR Rprec:RPrecision map:AP"),
        ("trec_eval", "ndcg:NDCG ndcg_cut_10:NDCG@10 map_cut_10:AP(relevant)@10"),
        ("trec_eval", "success_5:HitRate@5"),
        ("ranx", "hit_rate@10:HitRate@10 precision@10:Precision@10 r-precision:RPrecision"),
        ("ranx", "f1@10:F1@10 rbp.95:RBP(0.95) dcg@10:DCG@10"),
        ("ir_measures", "nDCG@10:NDCG@10 P@5:Precision@5 R@10:Recall@10 Success@1:HitRate@1"),
        ("mteb", "ndcg_at_10:NDCG@10 mrr_at_10:RR@10 precision_at_1:Precision@1"),
        ("mteb", "map_at_10:AP@10 accuracy_at_5:HitRate@5 recall_at_10:Recall@10 f1_10:F1@10"),
        ("RecBole", "recall@10:Recall@10 hit@10:HitRate@10 mrr@10:RR@10 map@10:AP@10"),
        ("Elliot", "nDCGRendle2020@10:NDCG@10 HR@10:HitRate@10 MAR@10:AR@10 F1@10:F1@10"),
        ("Cornac", "HitRatio@10:HitRate@10 FMeasure@10:F1@10 AUC:AUC"),
        ("LensKit", "RecipRank@10:RR@10 AveragePrecision@10:AP@10 Hit@10:HitRate@10 RBP(0.85):"),
        ("TorchMetrics", "RetrievalNormalizedDCG@10:NDCG@10 RetrievalHitRate@10:HitRate@10"),
        ("TorchMetrics", "RetrievalMAP:AP RetrievalMAP@10:AP(hits)@10 RetrievalMRR@10:RR@10"),
        ("TorchMetrics", "retrieval_average_precision@5:AP(hits)@5 RetrievalAUROC:AUC"),
        ("TorchMetrics", "retrieval_reciprocal_rank:RR RetrievalRPrecision:RPrecision"),
        ("TFRS", "factorized_top_k/top_10_categorical_accuracy:HitRate@10"),
        ("Keras", "sparse_top_5_categorical_accuracy:HitRate@5"),
        ("sentence-transformers", "cosine_ndcg@10:NDCG@10 cos_sim-Accuracy@10:HitRate@10"),
        ("sentence-transformers", "cosine_map@100:AP@100 dot_accuracy@1:HitRate@1"),
        ("PyKEEN", "hits_at_10:HitRate@10 both.realistic.hits_at_10:HitRate@10"),
        ("OGB", "hits@50_list:HitRate@50 mrr_list:RR"),
        ("scikit-learn", "ndcg_score:NDCG roc_auc_score:AUC average_precision_score:AP"),
        ("LightFM", "precision_at_10:Precision@10 auc_score:AUC reciprocal_rank:RR"),
        ("papers", "H@10:HitRate@10 N@10:NDCG@10 Prec@5:Precision@5 Rec@20:Recall@20"),
        ("papers", "Acc@5:HitRate@5 F1-score@10:F1@10 F-measure@5:F1@5 F1_score@3:F1@3"),
        ("logs", "val/recall@10:Recall@10 eval_/next-item/ndcg_at_10:NDCG@10"),
    ],
)
def test_names_that_libraries_print(library, names):
    for name, _, ours in (one.rpartition(":") for one in names.split()):
        assert str(metric(name)) == (ours or name), (library, name)


@pytest.mark.parametrize(
    "name",
    ["bpref", "gm_map", "iprec_at_recall_0.10", "NCRR@10", "LAUC", "GiniIndex@10", "recall_cap@10"]
    + [
        "RetrievalFallOut@10",
        "alpha-nDCG@10",
        "nauc_map_at_10_max",
        "AP(rel=2)@10",
        "Improv. AUC",
        "score",
        "",
    ],
)
def test_what_is_no_metric_of_ours_is_refused(name):
    with pytest.raises(ValueError, match="got"):
        metric(name)


@pytest.mark.parametrize("half_life", [5, 0.1, 1 / 3, 2.5e-7, 1e22])
def test_every_half_life_parses_back(half_life):
    assert metric(str(RankScore(half_life) @ 3)) == RankScore(half_life) @ 3


@pytest.mark.parametrize("beta", [1e-200, 2.5e-7, 0.5, 1, 3, 1e16, 1e22, 1e160])
def test_every_beta_parses_back(beta):
    assert metric(str(FScore(beta) @ 5)) == FScore(beta) @ 5


@pytest.mark.parametrize(
    "name, message",
    [
        ("NCDG@10", "name must be that of a metric, got 'NCDG@10'; nearest: NDCG"),
        ("mrrr", "got 'mrrr'; nearest: RR$"),
        ("mmr", "got 'mmr'; there are AUC, "),
        ("pAUC", "got 'pAUC'; there are AUC, "),
        ("hitrat", "got 'hitrat'; nearest: HitRate$"),
        ("rankscore", r"got 'rankscore'; nearest: RankScore\(5\)"),
        ("rbp", r"got 'rbp'; nearest: RBP\(0.8\)"),
        ("", "got ''; there are AUC, Precision, Recall, F1, .*Accuracy, PercentileRank, RankSc"),
        (3, "got 3; there are AUC"),
        ("AP(5)", "over must be 'best', 'relevant', 'hits' or 'k', got '5'"),
        ("F0@10", "beta must be a finite number above 0, got '0'"),
        ("F1x@10", "beta must be a finite number above 0, got '1x'"),
        ("RBP(1)", "persistence must be between 0 and 1, both excluded, got '1'"),
        ("ndcg@-1", "cutoff must be a whole number of at least 1, got '-1'"),
        ("ndcg@1e1", "cutoff must be a whole number of at least 1, got '1e1'"),
        ("ndcg@", "got 'ndcg@'; nearest: NDCG"),
        ("ndcg@ten", "cutoff must be a whole number of at least 1, got 'ten'"),
        ("auc@10", "AUC takes no cut-off, got @ 10"),
        ("RankScore(x)", "half_life must be a finite number above 0, got 'x'"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        metric(name)


# What a class says of itself


@pytest.fixture
def registered(monkeypatch):
    """What a test registers is forgotten after it."""
    known = dict(base.REGISTERED)
    monkeypatch.setattr(base, "REGISTERED", known)
    monkeypatch.setattr("recsample.metrics.names.REGISTERED", known)
    return known


def made(name, aliases=(), examples=()):
    """A metric of one's own, of this module and of always the same name there."""

    @dataclass(frozen=True, repr=False)
    class Own(Metric):
        weight: float = 1.0
        cutoff: int | None = None

        def term(self, rank, order, n_relevant, n_items):
            return self.within(rank) * self.weight / (rank + 1) / n_relevant

        def label(self):
            return f"{self.name}({self.weight:g})" if self.weight != 1 else self.name

    body = {"name": name, "aliases": aliases, "examples": examples, "__module__": __name__}
    return dataclass(frozen=True, repr=False)(type("Own", (Own,), body))


def test_a_class_says_its_names(registered):
    cls = made("Slow Gain", aliases=("SG", "slowest"), examples=(2, 3))
    assert metric("slow_gain@3") == metric("SG @ 3") == metric("SLOWEST@3") == cls() @ 3
    assert metric("sg(0.5)") == cls(0.5) and metric("sg(0.5)").weight == 0.5
    assert [m for m in every_metric() if type(m) is cls] == [cls(), cls(2), cls(3)]
    with pytest.raises(ValueError, match="got 'slw gain'; nearest: Slow Gain"):
        metric("slw gain")
    with pytest.raises(ValueError, match="weight must be a number, got 'x'"):
        metric("sg(x)")
    sampler = rs.UniformSampling(5)
    assert sampler.expect("sg@3", rs.Ranks([3], 40)) == sampler.expect(cls() @ 3, rs.Ranks([3], 40))


@pytest.mark.parametrize(
    "name", ["AP", "a-p", "MAP", "precision", "hit rate", "F", "F1", "f.5", "RBP", "Acc"]
)
def test_a_name_that_another_metric_has_is_refused_where_the_class_is_made(registered, name):
    known = dict(registered)
    for names in ((name, ()), ("Own name", (name,))):
        with pytest.raises(ValueError, match=r"got .*, which is recsample\.metrics\."):
            made(*names)
    assert registered == known


@pytest.mark.parametrize("name", ["", " - ", "Top@4", "Top(4)"])
def test_a_name_that_cannot_be_read_is_refused(registered, name):
    with pytest.raises(ValueError, match="name must be one without brackets and @, got"):
        made(name)


def test_aliases_are_no_text(registered):
    known = dict(registered)
    with pytest.raises(ValueError, match="aliases must be a tuple of names, got 'SG'"):
        made("Slow Gain", aliases=("SG"))  # the comma is missing
    assert registered == known


def test_a_class_that_is_no_data_class_takes_no_cut_off(registered):
    class Plain(Metric):
        name = "Plain"

        def term(self, rank, order, n_relevant, n_items):
            return 1.0 / rank

    assert metric("plain").of_rank(2, 9) == 0.5
    for cut in (lambda: Plain() @ 3, lambda: metric("plain@3")):
        with pytest.raises(ValueError, match="Plain takes no cut-off, got @ 3"):
            cut()


def test_a_class_can_be_made_again_as_by_a_cell_that_is_run_twice(registered):
    first, second = made("Own"), made("Own")
    assert first is not second and type(metric("own")) is second
    # Another class of that name, from elsewhere, is another matter.
    body = {"name": "own", "__module__": "elsewhere"}
    with pytest.raises(ValueError, match=r"got 'own', which is .*test_names\.Own"):
        type("Own", (Metric,), body)


def test_what_inherits_its_name_or_makes_it_in_the_constructor_takes_none(registered):
    known = dict(registered)
    type("Mine", (type(rs.AP),), {})
    rs.BiasVariance("AP", rs.UniformSampling(3), 9, gamma=0.1)
    assert registered == known


def test_the_stubs_hold_what_the_classes_say():
    """Checkers of types read these lists, which nothing makes: what is missing is shown."""
    offered = {}  # by module: ready-made metrics, and classes of which there are none
    for cls in {type(one) for one in EVERY}:
        names = vars(sys.modules[cls.__module__])
        ready = [name for name in names if type(names[name]) is cls]
        offered |= dict.fromkeys(ready or [cls.__name__], cls.__module__.rpartition(".")[2])
    house = Path(rs.__path__[0])
    for stub, line in (
        ("metrics/__init__.pyi", "from .{module} import {name} as {name}"),
        ("__init__.pyi", "from .metrics import {name} as {name}"),
    ):
        wanted = {line.format(name=name, module=module) for name, module in offered.items()}
        missing = wanted - {*(house / stub).read_text(encoding="utf-8").splitlines()}
        assert not missing, (stub, missing)
    assert len(offered) >= 15
