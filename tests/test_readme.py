"""The README's code, run on the files that it speaks of: what it prints must stand there."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jupytext
import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
import yaml
from thorough import thorough

import recsample as rs
from recsample.evaluation.command_line import main
from recsample.recommenders import ItemKNN

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Those of which the README shows what comes out."""
    return written(tmp_path_factory.mktemp("readme"), 800, 600, 24_000)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The same of fewer users and items."""
    return written(tmp_path_factory.mktemp("few"), 100, 240, 3_000)


def written(folder, *size):
    """Tables of scores, training and held-out events, and a column of sampled ranks."""
    data = rs.datasets.make_interactions(*size, rng=0)
    users = np.arange(data.n_users)
    models = {
        "popular": np.tile(data.train.sum(axis=0), (data.n_users, 1)),
        "similar": ItemKNN(exponent=3).fit(data.train).scores(users),
        "neighbours": ItemKNN(exponent=1, n_neighbors=10).fit(data.train).scores(users),
    }
    one = pd.MultiIndex.from_product([users, np.arange(data.n_items)], names=["user", "item"])
    tables = [
        one.to_frame(index=False).assign(model=name, score=np.ravel(scores).astype(float))
        for name, scores in models.items()
    ]
    # In a tenth of the time that pandas takes
    scores = pd.concat(tables)[["model", "user", "item", "score"]]
    table = pyarrow.Table.from_pandas(scores, preserve_index=False)
    pyarrow.csv.write_csv(table, folder / "scores.csv")
    held_out = pd.DataFrame({"user": users, "item": data.held_out})
    held_out.to_csv(folder / "held_out.csv", index=False)
    pairs = zip(("user", "item"), data.train.nonzero())
    pd.DataFrame(dict(pairs)).to_csv(folder / "train.csv", index=False)
    (folder / "table.csv").write_text("model,HR@10,NDCG@10,AUC\nX,0.662,0.392,0.891\n", "utf-8")
    sampled = rs.UniformSampling(m=100).draw(rs.datasets.recorded_ranks()["Y"], rng=0)
    pd.DataFrame({"sampled_rank": sampled.values}).to_csv(folder / "results.csv", index=False)
    return folder


def without_trailing_spaces(text):
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


FIRST, FROM_FILES = (text for kind, text in BLOCKS if kind == "python")
FRESH = """\
import sys
from recsample._support.extras import _EXTRAS
names = [name for name, of in _EXTRAS.items() if of != "tables" and name != "tqdm"]
sys.modules.update(dict.fromkeys(names))  # which cannot be imported then
"""


@pytest.mark.thorough
def test_the_table_is_what_the_first_code_prints_without_any_files(tmp_path):
    """As it is pasted, where what is installed is what the page says how to install."""
    code, printed = FRESH + FIRST, next(text for kind, text in BLOCKS if kind == "text")
    out = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, encoding="utf-8")
    assert without_trailing_spaces(out) == without_trailing_spaces(printed)


@pytest.mark.thorough
def test_what_is_said_below_the_table(files, monkeypatch):
    monkeypatch.chdir(files)
    found = {}
    exec(FIRST, found)
    exact, sampled = found["exact"].table, found["sampled"].table
    first, second = ("neighbours", "Recall@10"), ("similar", "Recall@10")
    assert exact["value"][first] > exact["value"][second]
    assert sampled["sampled"][first] < sampled["sampled"][second]
    assert sampled["value"][first] > sampled["value"][second]
    exec(FROM_FILES, found)
    pd.testing.assert_frame_equal(found["exact"].table, exact, check_like=True)


def test_the_landing_page_runs_the_same_lines():
    """And shows no code before."""
    page = (ROOT / "book/index.md").read_text(encoding="utf-8")
    cells = jupytext.reads(page, fmt="md:myst").cells
    blocks = [
        cell.source
        for cell in cells
        if cell.cell_type == "code" and not cell.metadata.get("tags", [])
    ]
    first, *_ = ast.parse(FIRST).body
    assert ast.unparse(ast.parse(blocks[0]).body[0]) == ast.unparse(first)
    there = [ast.unparse(line) for block in blocks for line in ast.parse(block).body]
    lines = [ast.unparse(line) for line in ast.parse(FIRST).body]
    assert len(lines) == 10 and [line for line in lines if line not in there] == lines[-1:]


COMMANDS = next(text for kind, text in BLOCKS if kind == "sh").splitlines()


@pytest.mark.parametrize("command", [thorough(one) if " plan " in one else one for one in COMMANDS])
def test_the_commands_run(few, monkeypatch, capsys, command):
    monkeypatch.chdir(few)
    program, *arguments = shlex.split(command)
    assert program == "recsample" and main(arguments) == 0
    said = {
        "evaluate": "sampled",
        "report": "The estimated Recall@10 is",
        "plan": "users",
        "published": "3 printed numbers, 6,040 users",
    }
    printed, noted = capsys.readouterr()
    assert said[arguments[0]] in printed and not noted
    if arguments[0] == "plan":
        users, first = re.search(r"of ([\d,]+) users .*\n.*first ([\d,]+)", printed).groups()
        assert (
            f"apart: {users} of these 6,040 users at most; plan again after the first {first} of"
            in README
        )
    if arguments[0] == "report":
        quoted = re.search(r"(?:^> .*\n)+", README, re.M)[0].replace("> ", "")
        assert " ".join(quoted.split()) in " ".join(printed.split())


def test_the_picture_is_described_by_what_is_computed():
    ranks, sampler = rs.datasets.recorded_ranks(), rs.UniformSampling(m=100)
    sampled = [sampler.expect("Recall@10", r).mean() for r in ranks.values()]
    exact = rs.compare(ranks, ["Recall@10"])["Recall@10"]
    of_three = "{:.3f}, {:.3f} and {:.3f}"
    said = f"among 100 random films is {of_three}. Among all films it is {of_three}, so"
    assert said.format(*sampled, *exact) in README


def test_links_hold_wherever_the_page_is_shown():
    """A package registry shows it too, where a relative address leads nowhere."""
    found = re.findall(r"\]\(([^)\s]+)\)", README)
    assert [address for address in found if not address.startswith("https://")] == []
    repository, branch = CONFIG["repository"]["url"], CONFIG["repository"]["branch"]
    raw = repository.replace("https://github.com", "https://raw.githubusercontent.com")
    for prefix, folder in [
        (f"{repository}/blob/{branch}/", ROOT),
        (f"{raw}/{branch}/", ROOT),
        (f"{repository}/actions/workflows/", ROOT / ".github/workflows"),
    ]:
        inside = [address.removeprefix(prefix) for address in found if address.startswith(prefix)]
        assert inside and all(
            (folder / name.split("/badge.svg")[0]).is_file() for name in inside
        ), prefix
        found = [address for address in found if not address.startswith(prefix)]
    assert CONFIG["html"]["baseurl"] in found
    assert not [address for address in found if address.startswith((repository, raw))]


def test_what_is_installed_can_be_had():
    repository = CONFIG["repository"]["url"]
    assert f"git clone {repository} && cd {repository.split('/')[-1]}\n" in README
    (extra, address) = re.search(r'pip install "recsample\[(\w+)\] @ git\+(\S+)"', README).groups()
    assert address == repository and f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(
        encoding="utf-8"
    )


def test_what_needs_a_newer_python_says_so():
    lists = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    (needed,) = re.findall(r'^sphinx-book-theme\S+ python_version >= "([\d.]+)"', lists, re.M)
    for name in ["README.md", "CONTRIBUTING.md", "Makefile"]:
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert f"needs Python {needed} or newer" in text, name


def test_every_name_of_the_package_exists():
    for name in re.findall(r"`rs\.([a-zA-Z_.]+)", README):
        found = rs
        for part in name.split("."):
            found = getattr(found, part)
