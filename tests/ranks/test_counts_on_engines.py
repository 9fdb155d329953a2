"""The same counts from every engine: in this process, on clusters, and when a worker dies."""

import os
import signal
import threading
import time
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from frames import FRAMES, cluster, parquet, pytestmark, spark  # noqa: F401

from recsample import RankCounts

COLUMNS = ["rank", "n_items", "ties"]


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.choice([50, 60], n)
    rank = 1 + np.floor(rng.random(n) ** 2 * sizes).astype(int)
    ties = rng.integers(0, np.minimum(sizes - rank, 2), endpoint=True)
    return pd.DataFrame({"user": np.arange(n), "rank": rank, "n_items": sizes, "ties": ties})


TABLE = table()
EXPECTED = RankCounts.of(TABLE["rank"], TABLE["n_items"], ties=TABLE["ties"])


# Counts of two rows, and what the message says of them.
WRONG_COUNTS = {
    "NaN": ([3.0, np.nan], "(nan|None)"),
    "a null": (pd.array([3, None], "Int64"), "(<NA>|None)"),
    "halves": ([0.5, 0.7], "0.5"),
    "below 0": ([5, -2], "-2"),
    "infinite": ([1, np.inf], "inf"),
    "text": (["3", "4"], "String"),
    "logical": ([True, False], "Boolean"),
    "beyond int64": ([2**62, 2**62], str(2**62)),
    "a float that may stand for several": ([1, 2.0**53], r"9007199254740992\.0"),
    "a sum beyond 2**53": ([2**52, 2**52], str(2**53)),
}


# Rows that are added up and rows that stand apart, in turn, and a fault of sums in both. A library
# that computes at once and one that does not know each fault, the others two of them.
REFUSED = [
    *zip(WRONG_COUNTS, cycle([[1, 1], [1, 2]])),
    ("a float that may stand for several", [1, 2]),
    ("a sum beyond 2**53", [1, 1]),
]
CASES = [
    (library, *case)
    for library in FRAMES
    for case in (REFUSED if library in ("pandas", "duckdb") else REFUSED[::8])
]


@pytest.mark.parametrize(("library", "given", "rank"), CASES)
def test_counts_that_are_none_are_refused(library, given, rank):
    values, said = WRONG_COUNTS[given]
    frame = FRAMES[library](pd.DataFrame({"rank": rank, "n": values}))
    with pytest.raises(ValueError, match=rf"counts must .* got {said} in column 'n'"):
        RankCounts.from_frame(frame, 5, counts="n")


@pytest.mark.parametrize("library", FRAMES)
class TestFrames:
    def test_the_same_counts(self, library):
        assert RankCounts.from_frame(FRAMES[library](TABLE)) == EXPECTED

    def test_other_columns_and_one_number_for_all(self, library):
        renamed = TABLE.rename(columns={"rank": "place", "ties": "other"})
        found = RankCounts.from_frame(FRAMES[library](renamed), 60, rank="place")
        assert found == RankCounts.of(TABLE["rank"], 60)
        found = RankCounts.from_frame(FRAMES[library](renamed), 62, rank="place", ties=2)
        assert found == RankCounts.of(TABLE["rank"], 62, ties=2)

    def test_counts_of_parts_are_added_up(self, library):
        some = np.arange(len(TABLE)) % 3 == 0
        parts = [
            part.groupby(COLUMNS, as_index=False).size() for part in (TABLE[some], TABLE[~some])
        ]
        table = pd.concat(parts, ignore_index=True)
        assert table.duplicated(COLUMNS).any()
        assert RankCounts.from_frame(FRAMES[library](table), counts="size") == EXPECTED

    @pytest.mark.parametrize("kind", ["uint64", "float32"])
    def test_counts_of_any_kind_of_number(self, library, kind):
        table = pd.DataFrame({"rank": [1, 1], "n": np.array([100, 27], kind)})
        found = RankCounts.from_frame(FRAMES[library](table), 5, counts="n")
        assert found == RankCounts([1], [127], 5)

    def test_a_column_may_have_any_name(self, library):
        names = dict(zip(COLUMNS, ["rows", "number", "right"]))
        frame = FRAMES[library](TABLE.rename(columns=names).assign(counts=1))
        found = RankCounts.from_frame(frame, "number", rank="rows", ties="right", counts="counts")
        assert found == EXPECTED

    def test_missing_values_are_refused(self, library):
        holes = TABLE.astype({"rank": "Int64"})
        holes.loc[[5, 9], "rank"] = None
        with pytest.raises(ValueError, match="missing values, got 2 in column 'rank'"):
            RankCounts.from_frame(FRAMES[library](holes), 60, ties=0)

    def test_a_missing_column_is_named(self, library):
        message = r"must have the column 'place' \(another one: rank=...\)"
        with pytest.raises(ValueError, match=message):
            RankCounts.from_frame(FRAMES[library](TABLE), rank="place")

    def test_no_row_and_no_rank(self, library):
        with pytest.raises(ValueError, match="at least one row, got none"):
            RankCounts.from_frame(FRAMES[library](TABLE.iloc[:0]))
        wrong = TABLE.assign(rank=TABLE["rank"] - 1)
        with pytest.raises(ValueError, match="at least 1,.* got rank 0 among 50 items"):
            RankCounts.from_frame(FRAMES[library](wrong))


class TestPaths:
    def test_a_folder_a_file_and_a_pattern(self, tmp_path):
        pytest.importorskip("duckdb")
        folder = parquet(tmp_path, TABLE)
        for path in (folder, str(folder), f"{folder}/part-*.parquet"):
            assert RankCounts.from_frame(path) == EXPECTED
        parts = [RankCounts.from_frame(folder / f"part-{i}.parquet") for i in range(4)]
        assert RankCounts.concatenate(parts) == EXPECTED

    def test_no_files(self, tmp_path):
        pytest.importorskip("duckdb")
        for path in (tmp_path, tmp_path / "none.parquet", f"{tmp_path}/*.parquet"):
            with pytest.raises(
                FileNotFoundError, match="^frame must be a path of Parquet files on"
            ):
                RankCounts.from_frame(path)

    @pytest.mark.parametrize("scheme", ["https", "s3", "hf"])
    def test_nothing_is_downloaded(self, scheme, monkeypatch, tmp_path):
        duckdb = pytest.importorskip("duckdb")
        connect, asked = duckdb.connect, []

        def recorded(*arguments, config=None):
            asked.append(config or {})
            return connect(*arguments, config=config)

        monkeypatch.setattr(duckdb, "connect", recorded)
        with pytest.raises(FileNotFoundError, match=f"on this machine, .* got {scheme}://"):
            RankCounts.from_frame(f"{scheme}://localhost/ranks.parquet")
        assert asked == []
        # Nor by what stands in a path that is here.
        assert RankCounts.from_frame(parquet(tmp_path, TABLE)) == EXPECTED
        for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert asked[0][setting] is False

    @pytest.mark.parametrize("damage", ["empty", "noise", "cut", "page"])
    def test_a_damaged_file_among_good_ones(self, damage, tmp_path):
        pytest.importorskip("duckdb")
        last = parquet(tmp_path, TABLE) / "part-3.parquet"
        good = last.read_bytes()
        page = good[:4] + bytes(5000) + good[5004:]  # columns, but not what is said of them
        damaged = {"empty": b"", "noise": b"no table", "cut": good[:-9], "page": page}
        last.write_bytes(damaged[damage])
        for path in (last, tmp_path):
            with pytest.raises(ValueError, match="frame must be a path of Parquet files") as error:
                RankCounts.from_frame(path)
            message = str(error.value)
            assert f"that DuckDB can read, got {path}: " in message and "\n" not in message

    def test_names_that_look_like_patterns(self, tmp_path):
        pytest.importorskip("duckdb")
        folder = tmp_path / "runs [1]*"
        folder.mkdir()
        assert RankCounts.from_frame(parquet(folder, TABLE)) == EXPECTED
        part = RankCounts.from_frame(folder / "part-1.parquet")
        (folder / "part-1.parquet").rename(folder / "part[1].parquet")
        assert RankCounts.from_frame(folder / "part[1].parquet") == part


class TestClusters:
    def test_spark(self, spark, tmp_path):  # noqa: F811
        frame = spark.read.parquet(str(parquet(tmp_path, TABLE)))
        assert RankCounts.from_frame(frame) == EXPECTED
        assert RankCounts.from_frame(frame, 60, ties=0) == RankCounts.of(TABLE["rank"], 60)

    def test_dask(self, cluster, tmp_path):  # noqa: F811
        dd = pytest.importorskip("dask.dataframe")
        frame = dd.read_parquet(parquet(tmp_path, TABLE))
        assert RankCounts.from_frame(frame) == EXPECTED

    def test_a_worker_that_is_killed_changes_nothing(self, cluster, tmp_path):  # noqa: F811
        dd = pytest.importorskip("dask.dataframe")
        seen = tmp_path / "seen"
        seen.mkdir()
        before = set(cluster.run(os.getpid).values())
        parts = np.array_split(np.arange(len(TABLE)), 20)
        frame = dd.from_map(slowly, parts, folder=str(seen), meta=TABLE.iloc[:0])
        counting = Counting(frame)
        # Until some parts are read, by both workers or by one.
        counting.wait_for(lambda: len(list(seen.iterdir())) >= 4)
        victim = int(next(seen.iterdir()).name.split("-")[0])
        assert victim in before
        os.kill(victim, signal.SIGKILL)
        assert counting.result() == EXPECTED
        # It was in the middle: other processes have read parts of the table since then.
        assert len({file.name.split("-")[0] for file in seen.iterdir()} - {str(victim)}) >= 1
        assert len(list(seen.iterdir())) > len(parts)


class Counting:
    """Counts of a frame that are formed while the test goes on."""

    def __init__(self, frame):
        self.found = []
        self.thread = threading.Thread(
            target=lambda: self.found.append(RankCounts.from_frame(frame))
        )
        self.thread.start()

    def wait_for(self, event):
        """What `event` gives, once it is something, while the counts are formed."""
        while self.thread.is_alive():
            if found := event():
                return found
            time.sleep(0.01)
        raise AssertionError("the counts were there before")

    def result(self):
        self.thread.join()
        return self.found[0]


def slowly(part, folder):
    """A part of the table, read by a worker that leaves its number behind."""
    time.sleep(0.1)
    with open(f"{folder}/{os.getpid()}-{part[0]}", "wb"):
        return TABLE.iloc[part]
