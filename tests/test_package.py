"""The package as a whole: its names and version, how it loads, and which extras it asks for."""

import importlib
import inspect
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import public
import pytest
from scipy import sparse

import recsample as rs
from recsample._support import extras

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def run(code):
    """What a fresh interpreter prints."""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    return found.stdout.split()


# Names


def test_version_is_that_of_the_project():
    assert rs.__version__ == metadata.version("recsample")
    assert f'version = "{rs.__version__}"' in PYPROJECT


def test_every_name_that_is_offered_is_there():
    for module in [rs, *public.MODULES]:
        names = public.offered(module)
        assert names and len(set(names)) == len(names), module
        for name in names:
            assert getattr(module, name) is not None
            assert name in dir(module)


def test_what_packages_offer_is_defined_in_their_public_modules():
    defined = list(public.names().values())
    for module in [rs, *public.MODULES]:
        for name in public.offered(module):
            offered = getattr(module, name)
            if inspect.isclass(offered) or inspect.isfunction(offered):
                assert any(offered is one for one in defined), (module, name)


def test_public_names_and_their_parameters_are_those_that_were_promised():
    """See "API stability and deprecation" of the book for what to do where they are to change."""
    promised = Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8")
    assert public.listed() == promised.splitlines()


def test_names_that_are_not_there_are_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        rs.no_such_name  # noqa: B018


def test_public_names_are_few():
    """Those of functions, classes and constants; modules that a package lists are not counted."""
    stubs = [path.read_text(encoding="utf-8") for path in Path(rs.__path__[0]).rglob("*.pyi")]
    names = set(re.findall(r"^from \.\S+ import (\w+) as \1$", "\n".join(stubs), re.M))
    assert {"Ranks", "evaluate", "rank_distribution"} <= names and len(names) <= 115


def test_stubs_can_be_read_in_any_encoding():
    """lazy_loader reads them and names none."""
    for stub in Path(rs.__path__[0]).rglob("__init__.pyi"):
        assert stub.read_text(encoding="utf-8").isascii(), stub


# Loading


HEAVY = {"matplotlib", "pandas", "narwhals", "implicit", "pooch", "tqdm", "requests"}


def test_importing_the_package_loads_nothing_else():
    modules = run("import sys, recsample; print(' '.join(sys.modules))")
    assert {name for name in modules if name.startswith("recsample")} == {"recsample"}
    assert not {name.partition(".")[0] for name in modules} & {"numpy", "scipy", *HEAVY}


def test_the_core_needs_numpy_and_scipy_only_and_nothing_of_the_second_tier():
    uses = [
        "import recsample.datasets.interactions, recsample.recommenders, recsample.plotting",
        "rs.experiments.toy_ranks(), rs.predicted_ranks([[0.1, 0.9, 0.5]], [0])",
        "ranks = rs.given_ranks([[1, 2]], [0], [[1]]); ranks = rs.Ranks([3, 50], 99)",
        "sampler = rs.UniformSampling(9); sampled = sampler.draw(ranks, 0)",
        "rs.BiasVariance(rs.AP, sampler, 99, gamma=0.1)(sampled)",
        "rs.ConstrainedLeastSquares(rs.AP, sampler, 99), rs.MinimalBias(rs.AP, sampler, 99)",
        "rs.PooledSampling(9).expect(rs.NDCG, ranks)",
        "rs.InverseSampling().estimate('ap', ranks, 0)",
        "rs.EarlyStopping(5).estimate('rr@5', ranks, 0)",
    ]
    modules = run(f"import sys, recsample as rs; {'; '.join(uses)}; print(' '.join(sys.modules))")
    second_tier = {"recsample.inference", "recsample.evaluation"}
    assert not (HEAVY | second_tier) & {*modules} and "scipy" in modules


def test_metrics_and_uniform_sampling_need_numpy_alone():
    uses = [
        "ranks = rs.Ranks([[1, 2], [3]], 999, ties=[[0, 0], [4]])",
        "sampler = rs.UniformSampling(100); (rs.Recall @ 10)(ranks); sampler.pmf(ranks)",
        "asked = sampler.expect, sampler.moments, sampler.std_of_mean; tied = ranks[1:]",
        "[ask(metric, tied) for ask in asked for metric in (rs.AUC, rs.AP, rs.Recall @ 10)]",
        "sampler.expect(rs.AP, ranks)",
        "rs.AP(sampler.draw(ranks, 0)), rs.AP.of_rank([1, 2], 9); one = rs.Ranks([1, 2], 9)",
        "sampler.draw(rs.RankCounts([1, 7], [9, 9], 999), 0).mean(rs.AP)",
        "[(m @ 3 if m.takes_cutoff else m)(one) for m in rs.metrics.every_metric()]",
        "rs.metrics.graded, rs.metrics.ratings, rs.metrics.averages",
        "rs.metrics.sets.precision([1, 2], [2, 3])",
    ]
    modules = run(f"import sys, recsample as rs; {'; '.join(uses)}; print(' '.join(sys.modules))")
    assert not {name.partition(".")[0] for name in modules} & {"scipy", *HEAVY}


@pytest.mark.thorough
def test_the_first_chapters_need_no_scipy():
    modules = run(
        "import sys, recsample as rs; rs.plotting.BLUE; rs.datasets.recorded_ranks(); "
        "rs.experiments.toy_ranks(); rs.experiments.table1(); data = rs.experiments.figure2(); "
        "rs.plotting.metric_by_samples(data.loc['AP']); rs.experiments.order_changes(rs.AP); "
        "rs.BiasVariance, rs.MinimalBias, rs.ConstrainedLeastSquares; print(' '.join(sys.modules))"
    )
    assert {"recsample.plotting", "recsample.experiments.paper"} <= set(modules)
    assert "scipy" not in modules


# Extras


def test_extras_are_those_of_the_project():
    given = metadata.metadata("recsample").get_all("Provides-Extra")
    assert set(extras._EXTRAS.values()) == set(given)
    listed = set()
    for line in metadata.requires("recsample"):
        if found := re.match(r"(\w+).*extra == .(\w+)", line):
            listed.add(found.groups())
    libraries = {library for library, _ in listed}
    # Others come along with one that is listed: cycler with matplotlib, requests with pooch.
    assert libraries <= set(extras._EXTRAS)
    for library, extra in extras._EXTRAS.items():
        assert (library, extra) in listed or library not in libraries


@pytest.fixture
def blocked(monkeypatch):
    """Makes a library look as if it were not installed."""

    def block(library):
        for name in [*sys.modules]:
            if name.partition(".")[0] == library:
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Missing(library), *sys.meta_path])

    return block


class Missing:
    """A finder that has never heard of a library."""

    def __init__(self, library):
        self.library = library

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=self.library)


RANKS = {"A": rs.Ranks([1, 2], 9)}
SMALL = sparse.csr_matrix([[1, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize(
    ("library", "extra", "call"),
    [
        ("pandas", "tables", lambda: rs.compare(RANKS, [rs.AP])),
        ("pandas", "tables", lambda: RANKS["A"].to_frame()),
        ("pandas", "tables", lambda: rs.experiments.table1()),
        ("pooch", "data", lambda: rs.datasets.load_movielens()),
        ("implicit", "models", lambda: rs.recommenders.MatrixFactorization().fit(SMALL)),
        ("matplotlib", "plots", lambda: rs.plotting.use_style()),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(blocked, library, extra, call):
    blocked(library)
    message = (
        f"^{library} is needed here and is not installed: "
        rf'pip install "recsample\[{extra}\] @ git\+https://[\w./-]+"$'
    )
    with pytest.raises(ModuleNotFoundError, match=message) as caught:
        call()
    assert caught.value.name == library


@pytest.mark.parametrize(
    ("libraries", "extra", "call"),
    [
        (
            ["tqdm", "implicit", "threadpoolctl"],
            "models",
            lambda: rs.recommenders.MatrixFactorization().fit(SMALL),
        ),
        (["tqdm", "implicit"], "models", lambda: rs.recommenders.ItemKNN(1, 1).fit(SMALL)),
        (["tqdm", "implicit"], "tables", lambda: rs.evaluate([[0.1, 0.2]], [1])),
    ],
)
def test_the_extra_is_that_of_what_is_asked_for(blocked, libraries, extra, call):
    """Several extras have some libraries; without any of them, one is enough."""
    for library in libraries:
        blocked(library)
    with pytest.raises(ModuleNotFoundError, match=rf'pip install "recsample\[{extra}\]'):
        call()


def test_what_an_extra_itself_lacks_is_not_blamed_on_the_extra(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'pytz'", name="pytz")

    monkeypatch.setattr(extras, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="^No module named 'pytz'$"):
        extras.extra("pandas")


def test_an_extra_that_is_there_is_given():
    assert extras.extra("pandas") is importlib.import_module("pandas")
    assert extras.extra("matplotlib.pyplot") is importlib.import_module("matplotlib.pyplot")
