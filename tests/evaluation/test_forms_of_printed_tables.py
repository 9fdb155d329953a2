"""Tables as papers, spreadsheets and people write them: each form holds the same four numbers."""

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample.evaluation.printed import read_printed

SAME = {"SAS Rec": {"HR@5": "0.670", "NDCG@10": "0.3"}, "B": {"HR@5": "0.680", "NDCG@10": "0.512"}}

FORMS = {
    "Markdown": "| Model | HR@5 ↑ | NDCG@10 (%) |\n|:--|--:|--:|\n| SAS Rec | **0.670** | 3e1 |\n"
    "| B | 0.680† | 51.2 |",
    "CSV": "model,HR@5,NDCG@10\nSAS Rec,0.670,0.3\nB,0.680 (0.002),0.512\n",
    "CSV, an empty corner": '\ufeff,HR@5,NDCG@10\r\n"SAS Rec",0.670,0.3\r\nB,0.680,0.512\r\n',
    "tabs, merged cells": "Model\tHR\tNDCG\n\t5\t10\nSAS Rec\t0.670\t0.3\nB\t0.680\t0.512",
    "metrics as rows": "metric;SAS Rec;B\nHR@5;0.670;0.680\nNDCG@10;0.3;0.512",
    "pasted, without a corner": "HR @5 NDCG@10\nSAS Rec 0.670 0.3\nB 0.680 0.512 ± 0.01",
    "a printed dataframe": "         HR@5  NDCG@10\nSAS Rec 0.670    0.3  \nB       0.680    0.512",
    "metrics as rows, pasted": "      SAS Rec     B\nHR@5    0.670  0.680\nNDCG@10 0.3    0.512",
    "Markdown, italics and HTML": "|Model|HR@5|NDCG@10|\n|-|-|-|\n| *SAS Rec* | *0.670* | 0.3² |\n"
    "| __B__ | _0.680_ | <u>0.512</u><sup>1</sup> |",
    "a grid": """
+---------+-------+---------+
| model   | HR@5  | NDCG@10 |
+=========+=======+=========+
| SAS Rec | 0.670 | 0.3     |
+---------+-------+---------+
| B       | 0.680 | 0.512   |
+---------+-------+---------+""",
    "lines as borders": """
┌─────────┬──────┬─────────┐
│ model   ┆ HR@5 ┆ NDCG@10 │
╞═════════╪══════╪═════════╡
│ SAS Rec ┆ 0.67 ┆ 0.3     │
│ B       ┆ 0.68 ┆ 0.512   │
└─────────┴──────┴─────────┘""",
    "underlined": """
model      HR@5    NDCG@10
-------  ------  ---------
SAS Rec    0.67      0.3
B          0.68      0.512""",
    "groups of rows": "Model,HR@5,NDCG@10\nBaselines,,\nSAS Rec,0.670,0.3\nOurs,,\n"
    "B,*0.680,0.512 (+3.2%)",
    "dataframe": pd.DataFrame(SAME).T,
    "dataframe, metrics as rows": pd.DataFrame(SAME),
    "dataframe with a column of names": pd.DataFrame(SAME).T.reset_index(names="model"),
    "dataframe with two levels": pd.DataFrame(
        [["0.670", "0.3"], ["0.680", "0.512"]],
        index=[*SAME],
        columns=pd.MultiIndex.from_tuples([("HR", 5), ("NDCG", 10)]),
    ),
    "mapping": SAME,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_table(form):
    cells, named, _ = read_printed(FORMS[form])
    found = {
        name: {str(rs.metric(key.replace("(%)", ""))): one for key, one in row.items()}
        for name, row in cells.items()
    }
    assert named and list(found) == list(SAME)
    for name, row in SAME.items():
        wanted = {str(rs.metric(key)): float(text) for key, text in row.items()}
        assert {key: float(one.number) for key, one in found[name].items()} == wanted


LOOKS = [
    "{}",
    "**{}**",
    "*{}*",
    "{}*",
    "{}†",
    "{}±0.003",
    "{} ± 0.003",
    "{} (0.01)",
    "__{}__",
    "{}²",
]
LOOKS += ["{}<sup>1</sup>", "<b>{}</b>", "${}$", "${}^2$"]
NAMES = ["SASRec", "S3-Rec", "BPR (ours)", "GRU4Rec+", "MF 64d", "2-layer", "50% pop", "a,b", "k=5"]
WRITTEN = (
    "github grid simple tsv orgtbl psql rst pretty fancy_grid presto outline plain csv".split()
)


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("turned", [False, True])
def test_whatever_writes_a_table_no_number_is_lost(written, turned):
    tabulate = pytest.importorskip("tabulate").tabulate
    rng = np.random.default_rng(0)
    for _ in range(10):
        numbers = rng.random((4, 3)).round(4)
        looks = rng.choice(LOOKS, numbers.shape)
        cells = [[look.format(f"{x:.4f}") for x, look in zip(*row)] for row in zip(numbers, looks)]
        names, metrics = [*rng.choice(NAMES, 4, replace=False)], ["HR@5", "NDCG@10", "mrr"]
        table = pd.DataFrame(cells, names, metrics)
        table = (table.T if turned else table).rename_axis("what").reset_index()
        if written == "csv":
            text = table.to_csv(index=False)
        else:
            text = tabulate(table, "keys", written, showindex=False, disable_numparse=True)
        found, _, _ = read_printed(text)
        values = [[float(one.number) for one in row.values()] for row in found.values()]
        assert np.array_equal(values, numbers), text


def test_digits_of_percentages_count_as_they_were_printed():
    cells, *_ = read_printed("HR@5,HR@10 (%)\n67.0%,70\n")
    assert [float(one.half) for one in cells[""].values()] == [0.0005, 0.005]


@pytest.mark.parametrize("unit", ["(%)", "(×100)", "(x100)", "[%]", "%"])
def test_a_unit_in_the_name_of_a_metric(unit):
    cells, *_ = read_printed(f"Model\tHR@5 {unit}\tAP\nA\t67.0\t0.3")
    assert [float(one.number) for one in cells["A"].values()] == [0.67, 0.3]


def test_a_table_without_names_has_one_recommender_or_numbered_rows():
    assert read_printed("HR@5;HR@10\n0.5;0.6")[1] is False
    assert list(read_printed("HR@5;HR@10\n0.5;0.6\n0.4;0.5")[0]) == ["row 1", "row 2"]


def test_a_metric_and_its_number_on_each_line():
    for mark in (" ", ",", "\t"):
        cells, named, _ = read_printed(f"HR@10{mark}0.670\nNDCG@10{mark}0.396")
        assert not named and [str(one.number) for one in cells[""].values()] == ["0.670", "0.396"]


def test_numbers_behind_others_are_counted():
    study = {"m": 30, "n_items": 300, "n_users": 5_000, "drawn": "uniform"}
    plain, errors = (rs.from_published(f"HR@5,HR@10\n{a},0.6", **study) for a in ("0.5", "0.5±0.1"))
    assert errors.notes[0].endswith("not used: 1") and not plain.notes
    assert np.array_equal(plain.table[["low", "high"]], errors.table[["low", "high"]])


ASIDE = """Improv.|Impr.|Imp.|%Improv.|Improv. (%)|Rel. Imp.|Relative improvement|Avg. Improv. ↑|Δ
Δ%|Improvement over SASRec|Ours vs. BPR|Δ (vs. best)|Gain|Gains over BPR|Diff.|p-value|P value
p-val.|t-test|Sig.|Std.|Std. dev.|#params|# Params (M)|No. of parameters|Time (s)|Training time
s/epoch|%|Train Time per epoch|Runtime|Latency (ms)|GPU memory|GFLOPs|Model size|Epochs|Speedup"""
RECOMMENDERS = """Ours|S3-Rec|IMP-GCN|TimeSVD++|Time-LSTM|Memory network|DeltaNet|GainRec|DiffRec
MinHash|Max|Average|Improved SASRec|ImprovedGCN|SigNet|Relational GNN|StdMF|Size-aware|100%|P|1"""


@pytest.mark.parametrize("name", ASIDE.replace("\n", "|").split("|"))
def test_what_compares_recommenders_or_says_their_cost_is_left_out_and_named(name):
    number, plain = "8.3%", name.replace(" ↑", "")
    for table in (
        f"Model,HR@5,NDCG@10\nSAS Rec,0.670,0.3\nB,0.680,0.512\n{name},{number},+5.94%*",
        f"Model,HR@5,NDCG@10,{name}\nSAS Rec,0.670,0.3,{number}\nB,0.680,0.512,<0.01",
        f"metric,SAS Rec,B,{name}\nHR@5,0.670,0.680,{number}\nNDCG@10,0.3,0.512,-",
        f"metric,SAS Rec,B\nHR@5,0.670,0.680\nNDCG@10,0.3,0.512\n{name},{number},1.2M",
        SAME | {plain: {"HR@5": number}},
    ):
        cells, _, left_out = read_printed(table)
        assert left_out == [plain]
        numbers = {a: {m: float(one.number) for m, one in row.items()} for a, row in cells.items()}
        assert numbers == {a: {m: float(x) for m, x in row.items()} for a, row in SAME.items()}


@pytest.mark.parametrize("name", RECOMMENDERS.replace("\n", "|").split("|"))
def test_what_sounds_like_a_comparison_or_a_cost_is_a_recommender(name):
    cells, _, left_out = read_printed(f"Model,HR@5\nB,0.680\n{name},0.670")
    assert [*cells] == ["B", name] and not left_out


def test_a_recommender_may_have_the_name_of_a_metric():
    wanted = {"BPR": {"HR@5": 0.6, "MRR": 0.3}, "MAP": {"HR@5": 0.5, "MRR": 0.2}}
    rows = "metric,BPR,MAP\nHR@5,.6,.5\nMRR,.3,.2", "Model,HR@5,MRR\nBPR,.6,.3\nMAP,.5,.2"
    for table in rows:
        cells = read_printed(table)[0]
        assert wanted == {a: {m: float(x.number) for m, x in of.items()} for a, of in cells.items()}


def test_what_is_left_out_is_counted_and_noted():
    study = {"m": 30, "n_items": 300, "n_users": 5_000, "drawn": "uniform"}
    table = "Dataset,Model,HR@5,Time (s)\nML,A,0.5,10\n,B,0.6,20\nImprov.,,20%,"
    found = rs.from_published(table, **study)
    (note,) = found.notes
    assert note.endswith("left out (Time (s), Improv., Dataset): 3")
    assert found.table.index.get_level_values(0).tolist() == ["A", "B"]
    none = rs.from_published({"A": {"HR@5": "0.5"}, "B": {"HR@5": "0.6"}}, **study)
    assert none.counts["count"].tolist() == [0, 0] and not none.notes
    assert np.array_equal(found.table[["low", "high"]], none.table[["low", "high"]])


LONG = {
    "a number on each line": "model,metric,value\nSAS Rec,HR@5,.670\nB,HR@5,.680\n"
    "SAS Rec,NDCG@10,.3\nB,NDCG@10,.512",
    "with their spread": "metric,dataset,model,mean,std\nHR@5,ML,SAS Rec,.670,.1\n"
    "HR@5,ML,B,.680,.1\nNDCG@10,ML,SAS Rec,.3,.1\nNDCG@10,ML,B,.512,.1",
    "one data set": "Dataset,Metric,SAS Rec,B\nML,HR@5,.670,.680\n,NDCG@10,.3,.512",
    "dataframe": pd.DataFrame(SAME).stack().rename("value").reset_index(),
    "dataframe with a level of data sets": pd.concat({"ML": pd.DataFrame(SAME).T}, names=["data"]),
}


@pytest.mark.parametrize("form", LONG)
def test_long_tables_and_those_of_one_data_set_are_the_same(form):
    cells, _, _ = read_printed(LONG[form])
    numbers = {a: {m: float(one.number) for m, one in row.items()} for a, row in cells.items()}
    assert numbers == {a: {m: float(x) for m, x in row.items()} for a, row in SAME.items()}


@pytest.mark.parametrize("cell", ["67.0 ± 0.3%", "67.0% ± 0.3%", "(67.0±0.3)%", "(0.67±0.3)%"])
def test_an_error_in_percent_stands_beside_a_number_in_percent(cell):
    (one,) = read_printed(f"Model,HR@5\nA,{cell}")[0]["A"].values()
    assert one.has_other and float(one.number) == (0.67 if "67.0" in cell else 0.0067)


@pytest.mark.parametrize(
    "cell", ["0.5e-99999999", "0.5e99999999", "1" * 50 + ".5", "0." + "0" * 50 + "1", "9" * 200_000]
)
def test_numbers_of_absurd_size_are_one_sentence(cell):
    for table in ({"HR@5": cell}, f"Model,HR@5\nA,{cell}"):
        with pytest.raises(rs.InputError) as error:
            read_printed(table)
        assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "values must be numbers by metric"),
        (
            "SAS Rec B\nHR@5 0.67 0.68\nAP 0.3 0.5",
            "must have tabs, commas or | between .* 'SAS Rec B'",
        ),
        ("HR@10", "a line of names above lines of numbers"),
        (
            "Model,ML,,Beauty,\n,HR@5,AP,HR@5,AP\nA,.1,.2,.3,.4",
            r"\['ML', 'Beauty'\]: give one after",
        ),
        ("Dataset,Model,HR@5\nML,A,.1\n,B,.2\nTV,A,.3", r"got \['ML', 'TV'\]: give one after"),
        ("Dataset,Metric,A,B\nML,HR@5,.1,.2\nTV,HR@5,.3,.4", "of one data set"),
        ("Dataset,HR@5\nML,.1\nTV,.3", "of one data set"),
        ("Kind,Model,HR@5\nold,A,0.1", r"got \['HR@5', 'A', 'old'\] for '0.1': leave out"),
        ("Model,HR@5,Serendipity\nA,0.67,0.1", r"got \['A', 'Serendipity'\] for '0.1': leave"),
        ("Model,HR@5\nImprov.,3%", r"at least one recommender, got \['Improv.'\]"),
        ("Model,HR@5\nA,+0.67", "got '[+]0.67'"),  # a difference
        ("Model;HR@5\nA;0,670", "with a decimal point, .* got '0,670' for 'HR@5'"),
        ("Model,HR@5,AP\nA,0.67", r"3 cells in each line, got \['A', '0.67'\]"),
        ("Model,HR@5\nA,0.67\nA,0.5", "name each recommender once"),
        ("Model,HR@5,HR@5\nA,0.67,0.5", "each metric once, got HR@5 of 'A' twice"),
        ("Model,HR@5\nA,0.67\n,0.5", "name each recommender once"),
        ("model,metric,value\nA,HR@5,.1\nA,HR@5,.2", "HR@5 of 'A' twice"),
        ("Model,HR@5\nA,0.67a", "got '0.67a'"),
        # What could be taken for a name, or for another number
        ("HR@5\n0,1", r"a decimal point in numbers, got \['0', '1'\] below \['HR@5'\]"),
        ("HR@5,AP\n0.9,0.5,0.6", "a word above the names of recommenders where these are numbers"),
        ("Model HR@5\nA 0.67 x 0.3", "between cells where names hold numbers, got 'A 0.67 x 0.3'"),
        ("Model,HR@5\nA,0.9±0.1%", "got '0.9±0.1%'"),
        ("metric;A;B\nHR@5;x;y\nAP;0.1;0.2", "got 'x' for 'HR@5'"),
        ("Model,HR@5\nA,$6.7×10^{-1}$", "got '6.7×10"),
        ("|Model|HR@5|\n|-|-|\n|A|$\\mathbf{0.67}$|\n|B|.5|", "got LaTeX in '.A.[$].*0.67"),
        (
            "Model & HR@5 \\\\\nA & 0.67 \\\\",
            "got LaTeX in 'Model & HR@5 .*: copy the table out of",
        ),
        ("\\begin{tabular}{lc}\nModel & HR@5\nA & 0.67\n\\end{tabular}", "got LaTeX"),
        ("Model & HR@5\nA & 0.67", "got LaTeX"),
        ("Model,HR@5,AP\nA,-,-\nB,0.3,0.4", "values of 'A' must hold at least one number"),
    ],
)
def test_what_is_no_such_table_is_refused_with_the_way_out(text, message):
    with pytest.raises(ValueError, match=message):
        read_printed(text)
