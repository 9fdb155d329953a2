import gc
import gzip
import hashlib
import io
import re
import socket
import threading
import warnings
import zipfile
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
import record_movielens
from reference import exact_metrics
from scipy import sparse

from recsample import datasets
from recsample.datasets import movielens
from recsample.datasets.interactions import Interactions, make_interactions
from recsample.datasets.movielens import load_movielens, load_negatives
from recsample.datasets.recorded import recorded_lists, recorded_ranks
from recsample.metrics import AP, AUC, NDCG, Recall
from recsample.ranks.predicted import predicted_ranks
from recsample.recommenders import ItemKNN, MatrixFactorization
from recsample.sampling import UniformSampling, given_lists

# ---------------------------------------------------------------------------- from_pairs


def test_from_pairs_by_hand():
    data = Interactions.from_pairs(
        users=[7, 3, 7, 3, 7, 7], items=[20, 10, 10, 30, 20, 40], held_out=[30, 40]
    )
    assert (data.n_users, data.n_items) == (2, 4)
    assert data.user_ids.tolist() == [3, 7]
    assert data.item_ids.tolist() == [10, 20, 30, 40]
    assert data.held_out.tolist() == [2, 3]
    # User 3 keeps item 10; user 7 keeps 20 (given twice) and 10.
    assert data.train.toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert data.train.dtype == bool


def test_from_pairs_takes_a_mapping_and_strings():
    pairs = {"users": ["b", "a", "b"], "items": ["x", "y", "z"]}
    by_name = Interactions.from_pairs(**pairs, held_out={"b": "z", "a": "w"})
    in_order = Interactions.from_pairs(**pairs, held_out=["w", "z"])
    assert by_name.item_ids.tolist() == ["w", "x", "y", "z"]
    assert by_name.held_out.tolist() == in_order.held_out.tolist() == [0, 3]
    assert (by_name.train != in_order.train).nnz == 0


def test_a_user_may_have_no_other_event_than_the_held_out_one():
    data = Interactions.from_pairs([0, 1, 1], [5, 5, 6], [5, 6])
    assert data.train.toarray().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    "users, items, held_out, message",
    [
        ([1, 2], [1], [1, 1], "one entry per event each, got 2 users and 1 items"),
        ([], [], [], "users must hold at least one event, got none"),
        ([[1]], [[1]], [1], r"users must be one-dimensional, got an array of shape \(1, 1\)"),
        ([1.5], [1], [1], "users must be whole numbers, got 1.5"),
        ([1], [float("nan")], [1], "items must not have missing values, got 1 of 1"),
        ([1], [None], [1], "items must not have missing values, got 1 of 1"),
        ([1, 2], [1, 1], [1], "one item for each of the 2 users, got 1"),
        ([1, 2], [1, 1], {1: 1}, "held_out must hold an item for every user, got none for 2"),
        ([1], [1], {1: 1, 9: 1}, "held_out must name users that occur in users, got 9"),
        ([1], [1], ["a"], "held_out must hold ids like those in items"),
    ],
)
def test_from_pairs_refuses(users, items, held_out, message):
    with pytest.raises(ValueError, match=message):
        Interactions.from_pairs(users, items, held_out)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"train": np.eye(2)}, "train must be a csr_matrix, got ndarray"),
        ({"held_out": np.array([1])}, r"held_out must have shape \(2,\) to fit train, got \(1,\)"),
        ({"item_ids": np.arange(3)}, r"item_ids must have shape \(2,\) to fit train, got \(3,\)"),
        ({"held_out": np.array([1, 2])}, "held_out must be items below 2 .* item 2 for user 1"),
        ({"held_out": np.array([0, 0])}, "held_out must be items .* item 0 for user 0"),
        ({"held_out": np.array([1, -1])}, "held_out must be whole numbers of at least 0, got -1"),
    ],
)
def test_interactions_refuse_parts_that_do_not_fit(changed, message):
    parts = {
        "train": sparse.csr_matrix(np.eye(2, dtype=bool)),
        "held_out": np.array([1, 0]),
        "user_ids": np.arange(2),
        "item_ids": np.arange(2),
    }
    Interactions(**parts)
    with pytest.raises(ValueError, match=message):
        Interactions(**(parts | changed))


# ---------------------------------------------------------------------------- from_frame

EVENTS = {
    "user": ["b", "a", "b", "a", "b"],
    "item": ["x", "y", "z", "x", "w"],
    "time": [5, 2, 9, 2, 9],
}


def in_library(name, columns):
    """A dataframe of a library with these columns."""
    if name == "polars lazy":
        return in_library("polars", columns).lazy()
    if name == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    return pytest.importorskip(name).DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "polars lazy", "pyarrow"])
def test_from_frame_holds_out_the_last_event(library):
    with pytest.warns(UserWarning, match="^2 of 2 users have different items at their last time"):
        data = Interactions.from_frame(in_library(library, EVENTS), time="time")
    # Both have two events at their last time: it is the later row.
    assert data.user_ids.tolist() == ["a", "b"] and data.item_ids.tolist() == ["w", "x", "y", "z"]
    assert data.item_ids[data.held_out].tolist() == ["x", "w"]
    assert data.train.toarray().astype(int).tolist() == [[0, 0, 1, 0], [0, 1, 0, 1]]


@pytest.mark.parametrize("library", ["pandas", "polars lazy"])
@pytest.mark.parametrize("form", ["frame", "mapping"])
def test_from_frame_takes_what_is_held_out(library, form):
    held_out = {"b": "x", "a": "new"}
    if form == "frame":
        held_out = in_library(library, {"user": list(held_out), "item": list(held_out.values())})
    data = Interactions.from_frame(in_library(library, EVENTS), held_out=held_out)
    expected = Interactions.from_pairs(EVENTS["user"], EVENTS["item"], {"b": "x", "a": "new"})
    assert data.item_ids.tolist() == expected.item_ids.tolist() == ["new", "w", "x", "y", "z"]
    assert data.held_out.tolist() == expected.held_out.tolist() == [0, 2]
    assert (data.train != expected.train).nnz == 0


def test_from_frame_agrees_with_a_loop_over_events():
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    events = pandas.DataFrame(
        {
            "who": rng.integers(100, 120, 400),
            "what": rng.integers(30, size=400),
            "when": rng.integers(40, size=400),
        }
    )
    lasts = events[events["when"] == events.groupby("who")["when"].transform("max")]
    tied = int((lasts.groupby("who")["what"].nunique() > 1).sum())
    with pytest.warns(UserWarning, match=f"^{tied} of 20 users have different items at their last"):
        data = Interactions.from_frame(events, user="who", item="what", time="when")
    last, seen = {}, {}
    for who, what, when in events.itertuples(index=False):
        seen.setdefault(who, set()).add(what)
        if who not in last or when >= last[who][0]:
            last[who] = when, what
    assert data.user_ids.tolist() == sorted(last)
    for row, who in enumerate(data.user_ids):
        assert data.item_ids[data.held_out[row]] == last[who][1]
        assert set(data.item_ids[data.train[row].indices]) == seen[who] - {last[who][1]}


def test_one_item_twice_at_the_last_time_leaves_nothing_to_the_order_of_the_rows():
    twice = {"user": ["a"] * 3, "item": ["x", "y", "y"], "time": [1, 2, 2]}
    data = Interactions.from_frame(in_library("pandas", twice), time="time")
    assert data.item_ids[data.held_out].tolist() == ["y"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "times",
    [
        [datetime(2020, 1, day) for day in (5, 2, 9, 3, 8)],
        [datetime(2020, 1, day, tzinfo=timezone.utc) for day in (5, 2, 9, 3, 8)],
        [0.5, 0.2, 0.9, 0.3, 0.8],
        # Nanoseconds since 1970, which are the same number as floats.
        [1_600_000_000_000_000_000 + n for n in (5, 2, 9, 3, 8)],
        np.datetime64("2020-01-01", "ns") + np.array([5, 2, 9, 3, 8]),
    ],
    ids=["dates", "time zone", "floats", "nanoseconds", "nanoseconds apart"],
)
def test_from_frame_orders_times_of_any_kind(library, times):
    data = Interactions.from_frame(in_library(library, EVENTS | {"time": times}), time="time")
    assert data.item_ids[data.held_out].tolist() == ["x", "z"]


@pytest.mark.parametrize(
    "columns, arguments, message",
    [
        ({}, {}, "time or held_out must be given, one of them, got none"),
        ({}, {"time": "time", "held_out": {"a": "x"}}, "must be given, one of them, got both"),
        ({}, {"time": "when"}, "frame must have the column 'when' .*time=.* got the columns"),
        ({}, {"time": "time", "user": "name"}, "frame must have the column 'name' .*user="),
        ({"time": list("59298")}, {"time": "time"}, "times that are numbers or dates, got String"),
        (
            {"time": [5, None, 9, 2, 9]},
            {"time": "time"},
            "missing values, got 1 of 5, the first in column 'time'",
        ),
        (
            {"item": ["x", None, "z", "x", "w"]},
            {"time": "time"},
            "missing values, got 1 of 5, the first in col",
        ),
        (
            {"user": ["b", "a", "c", "a", "d"]},
            {"time": "time"},
            "got one of 'b' and of 2 more: tak",
        ),
        ({"item": ["x", "y", "x", "x", "x"]}, {"time": "time"}, "different items of each user"),
        ({"item": [1.5, 2, 3, 4, 5]}, {"time": "time"}, "whole numbers as ids, got 1.5 in row 0"),
        ({}, {"held_out": {"a": "x"}}, "held_out must hold an item for every user, got none for"),
        ({}, {"held_out": ["x"]}, "one item for each of the 2 users, got 1"),
    ],
)
def test_from_frame_refuses(columns, arguments, message):
    frame = in_library("pandas", EVENTS | columns)
    with pytest.raises(ValueError, match=message):
        Interactions.from_frame(frame, **arguments)


def test_from_frame_refuses_two_held_out_items():
    frame = in_library("pandas", EVENTS)
    with pytest.raises(ValueError, match="one item for each user, got 5 rows for 2 users"):
        Interactions.from_frame(frame, held_out=frame)


def test_from_frame_refuses_times_that_are_nan():
    frame = in_library("polars", EVENTS | {"time": [1.0, 2.0, float("nan"), 4.0, 5.0]})
    with pytest.raises(
        ValueError, match="missing values, got 1 of 5, the first in column 'time', row 2"
    ):
        Interactions.from_frame(frame, time="time")


# ---------------------------------------------------------------------------- load_movielens

RATINGS = (
    "1::30::5::978300760\n"
    "1::10::3::978302109\n"
    "1::20::4::978302109\n"
    "2::10::1::978298413\n"
    "2::50::2::978298413\n"
    "3::20::5::978300000\n"
    "3::30::5::978299999\n"
)
# Movies by first appearance: 30, 10, 20, 50.
LISTED = "0\t1\t3\t978302109\n1\t1\t1\t978298413\n2\t2\t5\t978300000\n"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Seven ratings of three users are what was published; no cache and no network."""
    for name, kind in movielens.SIZES.items():
        monkeypatch.setitem(movielens.SIZES, name, kind._replace(n_ratings=7, n_users=3))
    publish(monkeypatch, {"ml-1m.test.rating": LISTED.encode()})
    monkeypatch.setenv("RECSAMPLE_DATA", str(tmp_path / "cache"))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr(movielens, "URLS", {name: f"{nowhere}/{name}" for name in movielens.URLS})
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def publish(monkeypatch, contents):
    """Give these contents the checksums of what was published."""
    for name, body in contents.items():
        checksum = f"sha256:{hashlib.sha256(body).hexdigest()}"
        monkeypatch.setitem(movielens.CHECKSUMS, name, checksum)


def write_archive(path, ratings=RATINGS, member="ml-1m/ratings.dat"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ml-1m/README", "about the data")
        archive.writestr(member, ratings)


def place(folder, form):
    """The ratings in one of the forms in which a reader may have them; returns the path to give."""
    if form == "archive":
        write_archive(folder / "ml-1m.zip")
        return folder / "ml-1m.zip"
    if form == "folder with archive":
        write_archive(folder / "ml-1m.zip")
    elif form == "folder":
        (folder / "ratings.dat").write_text(RATINGS, encoding="utf-8")
    else:
        (folder / "ml-1m").mkdir()
        (folder / "ml-1m" / "ratings.dat").write_text(RATINGS, encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("form", ["archive", "folder with archive", "folder", "extracted archive"])
@pytest.mark.parametrize("name", ["ml-1m.test.rating", "ncf.test.rating"])
def test_load_movielens_paper_split(small, form, name):
    (small / name).write_text(LISTED, encoding="utf-8")
    data = load_movielens(place(small, form))
    assert data.user_ids.tolist() == [1, 2, 3]
    assert data.item_ids.tolist() == [30, 10, 20, 50]
    assert data.held_out.tolist() == [1, 1, 2]
    assert data.train.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("form", ["archive", "folder"])
def test_load_movielens_last_split(small, form):
    # Of the two ratings in their last second users 1 and 2 keep the first; user 3 is not in order.
    data = load_movielens(place(small, form), split="last")
    assert data.item_ids[data.held_out].tolist() == [20, 50, 20]
    assert data.train.sum() == 7 - 3


# The same ratings in the formats of the other sizes, ml-10m with gaps in the users' numbers.
PLAIN = [line.split("::") for line in RATINGS.splitlines()]
OTHERS = {
    "ml-100k": "".join("\t".join(line) + "\n" for line in PLAIN),
    "ml-10m": RATINGS.replace("::4::", "::4.5::").replace("\n3::", "\n9::"),
    "ml-20m": "userId,movieId,rating,timestamp\n"
    + "".join(f"{u},{i},{r}.0,{t}\n" for u, i, r, t in PLAIN).replace(",1.0,", ",0.5,"),
}
OTHERS["ml-25m"] = OTHERS["ml-20m"].replace("\n", "\r\n")


@pytest.mark.parametrize("form", ["archive", "file", "folder", "extracted archive"])
@pytest.mark.parametrize("name", OTHERS)
def test_load_movielens_of_other_sizes(small, name, form):
    kind = movielens.SIZES[name]
    path = small / kind.table.split("/")[1]
    if form == "archive":
        path = small / f"{name}.zip"
        write_archive(path, OTHERS[name], kind.table)
    elif form == "extracted archive":
        (small / kind.table).parent.mkdir()
        (small / kind.table).write_bytes(OTHERS[name].encode())
    else:
        path.write_bytes(OTHERS[name].encode())
    data = load_movielens(path if form in ("archive", "file") else small, name=name)
    assert data.user_ids.tolist() == [1, 2, 9 if name == "ml-10m" else 3]
    assert data.item_ids.tolist() == [30, 10, 20, 50]
    assert data.item_ids[data.held_out].tolist() == [20, 50, 20]
    assert data.train.toarray().tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (
            RATINGS.replace("1::20::4::", "1::20::"),
            "must hold a user, a movie, a rating and a time",
        ),
        (RATINGS.replace("2::50", "2::fifty"), "with '::' between them, got a file that cannot be"),
        ("<html>no such page</html>", "got a file that cannot be read so"),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}" + RATINGS, "got a file that cannot be read so"),
        (RATINGS[: RATINGS.index("3::30")], "must have 7 ratings of 3 users, got 6 of 3"),
        ("", "must have 7 ratings of 3 users, got 0 of 0"),
        (RATINGS.replace("3::30", "4::30"), "must have 7 ratings of 3 users, got 7 of 4"),
        (RATINGS.replace("1::10", "1::30"), "rate no movie twice .* got 3 training events of 4"),
    ],
)
@pytest.mark.parametrize("form", ["file", "archive"])
def test_other_ratings_are_refused(small, form, ratings, message):
    path = small / ("ml-1m.zip" if form == "archive" else "ratings.dat")
    if form == "archive":
        write_archive(path, ratings)
    else:
        path.write_text(ratings, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as refused:
        load_movielens(small, split="last")
    assert str(path) in str(refused.value)


def test_a_table_without_its_header_has_a_rating_too_few(small):
    (small / "ratings.csv").write_text(OTHERS["ml-20m"].split("\n", 1)[1], encoding="utf-8")
    with pytest.raises(ValueError, match="must have 7 ratings of 3 users, got 6 of 3"):
        load_movielens(small, name="ml-20m")


@pytest.mark.parametrize("listed", [LISTED.replace("1\t1\t1", "1\t2\t1"), "", "<html>"])
def test_other_held_out_events_are_refused(small, listed):
    (small / "ratings.dat").write_text(RATINGS, encoding="utf-8")
    (small / "ml-1m.test.rating").write_text(listed, encoding="utf-8")
    with pytest.raises(ValueError, match="must be the published ml-1m.test.rating with the check"):
        load_movielens(small)
    # What the list names belongs to other ratings.
    (small / "ml-1m.test.rating").write_bytes(LISTED.replace("\n", "\r\n").encode())
    (small / "ratings.dat").write_text(RATINGS.replace("3::20", "3::10"), encoding="utf-8")
    with pytest.raises(ValueError, match="and the held-out one of each user, got 5 training"):
        load_movielens(small)


@pytest.mark.parametrize(
    "path, arguments, message",
    [
        (None, {"name": "ml-2m"}, "name must be 'ml-100k', .* or 'ml-25m', got 'ml-2m'"),
        (None, {"name": "ml-100k", "split": "paper"}, 'split must be "last" for ml-100k: the pap'),
        (None, {"split": "first"}, "split must be 'paper' or 'last', got 'first'"),
        (5, {}, "path must be the path of an archive or a folder, got 5"),
    ],
)
def test_load_movielens_refuses(path, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_movielens(path, **arguments)


def test_load_movielens_without_data_there(small):
    for path in (small, small / "ml-1m.zip"):
        with pytest.raises(FileNotFoundError, match=f"ml-1m.zip, the file ratings.dat .* {path}$"):
            load_movielens(path)


@pytest.mark.parametrize("damage", ["not a zip", "cut short", "changed inside"])
def test_damaged_archives_are_refused(small, damage):
    archive = small / "ml-1m.zip"
    write_archive(archive, RATINGS)
    content = bytearray(archive.read_bytes())
    if damage == "not a zip":
        content = b"<html>no such page</html>"
    elif damage == "cut short":
        content = content[: len(content) // 2]
    else:
        start = content.index(b"ml-1m/ratings.dat") + len("ml-1m/ratings.dat")
        content[start + 5 : start + 25] = bytes(20)
    archive.write_bytes(content)
    with pytest.raises(
        ValueError, match="ml-1m.zip must be an intact zip archive, got a damaged one"
    ):
        load_movielens(archive, split="last")


def test_an_archive_of_something_else_is_refused(small):
    write_archive(small / "ml-1m.zip", member="ml-100k/u.data")
    with pytest.raises(
        ValueError, match="must hold the file ml-1m/ratings.dat, got an archive without"
    ):
        load_movielens(small / "ml-1m.zip")


# ---------------------------------------------------------------------------- the download


class Server:
    """A web server on this machine that delivers given bytes and counts the requests."""

    def __init__(self, contents, promised=0):
        self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler):
                self.requests.append(handler.path)
                body = contents[handler.path.lstrip("/")]
                handler.send_response(200)
                handler.send_header("Content-Length", str(len(body) + promised))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *args):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def published(monkeypatch, server, contents):
    monkeypatch.setattr(movielens, "URLS", {name: f"{server.url}/{name}" for name in contents})
    publish(monkeypatch, contents)


@pytest.fixture
def contents():
    archive = io.BytesIO()
    write_archive(archive)
    return {"ml-1m.zip": archive.getvalue(), "ml-1m.test.rating": LISTED.encode()}


def cached(small):
    folder = small.parent / "cache"
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


def test_download_once_with_progress(small, monkeypatch, contents, capfd):
    with Server(contents) as server:
        published(monkeypatch, server, contents)
        data = load_movielens()
        assert "100%" in capfd.readouterr().err
        again = load_movielens()
        assert sorted(server.requests) == ["/ml-1m.test.rating", "/ml-1m.zip"]
    assert cached(small) == ["ml-1m.test.rating", "ml-1m.zip"]
    assert data.held_out.tolist() == again.held_out.tolist() == [1, 1, 2]


def test_a_given_archive_needs_only_the_held_out_events(small, monkeypatch, contents):
    with Server(contents) as server:
        published(monkeypatch, server, contents)
        assert load_movielens(place(small, "archive")).held_out.tolist() == [1, 1, 2]
        assert server.requests == ["/ml-1m.test.rating"]


def test_a_wrong_download_is_refused_and_not_kept(small, monkeypatch, contents):
    with Server({"ml-1m.zip": b"a login page"}) as server:
        published(monkeypatch, server, contents)
        with pytest.raises(ValueError, match="ml-1m.zip.* does not match the known hash"):
            load_movielens()
    assert cached(small) == []


@pytest.fixture
def breaking_off(small):
    """A download that breaks off leaves its connection to be collected, here without a warning."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.usefixtures("breaking_off")
def test_a_download_that_breaks_off_leaves_nothing(small, monkeypatch, contents):
    # The server promises more bytes than it sends, then hangs up.
    with Server(contents, promised=1000) as server:
        published(monkeypatch, server, contents)
        with pytest.raises((ConnectionError, ValueError), match="ml-1m.zip"):
            load_movielens()
    assert cached(small) == []


def test_offline_says_what_to_do(small):
    with pytest.raises(ConnectionError) as refused:
        load_movielens()
    message = str(refused.value)
    assert "ml-1m.zip could not be downloaded from http://127.0.0.1" in message
    assert f"put it into {small.parent / 'cache'}" in message
    assert "load_movielens(path=...)" in message
    assert cached(small) == []

    place(small, "folder")
    with pytest.raises(ConnectionError, match="ml-1m.test.rating could not be downloaded"):
        load_movielens(small)
    assert load_movielens(small, split="last").n_users == 3


def test_offline_with_a_wrong_file_in_the_cache(small):
    (small.parent / "cache").mkdir()
    (small.parent / "cache" / "ml-1m.zip").write_bytes(b"half a file")
    with pytest.raises(ConnectionError, match="there is not the published one"):
        load_movielens()


@pytest.mark.usefixtures("breaking_off")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("ml-1m.zip", "no folder"),
        ("ml-1m.zip", "read-only"),
        ("ml-1m.zip", "full"),
        ("ml-1m.test.negative", "no folder"),
    ],
)
def test_a_cache_that_keeps_nothing_says_what_to_do(small, monkeypatch, name, fault):
    resource = pytest.importorskip("resource")  # not on Windows
    folder, load = small.parent / "cache", {"ml-1m.zip": load_movielens}.get(name, load_negatives)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    body = {name: bytes(1000)}  # one block, read whole before it is written
    with Server(body) as server:
        published(monkeypatch, server, body)
        if fault == "no folder":
            folder.write_text("a file in its place", encoding="utf-8")
        elif fault == "read-only":
            folder = Path("/proc/recsample")  # not even the superuser can make it
            monkeypatch.setenv("RECSAMPLE_DATA", str(folder))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (500, limit[1]))
        try:
            with pytest.raises(
                OSError, match=f"^{name} could not be stored in {folder} "
            ) as refused:
                load()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    message = str(refused.value)
    assert "let RECSAMPLE_DATA name a folder" in message
    assert f"{load.__name__}(path=...)" in message and "\n" not in message
    assert fault != "full" or cached(small) == []


def test_default_cache_is_the_operating_systems(monkeypatch):
    pooch = pytest.importorskip("pooch")
    asked = {}
    monkeypatch.delenv("RECSAMPLE_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", lambda *args, **kwargs: asked.update(kwargs) or "file")
    movielens.download("ml-1m.zip", "load_movielens")
    assert asked["path"] == pooch.os_cache("recsample")


# ---------------------------------------------------------------------------- load_negatives


# Three users with two negatives each, of the four movies of RATINGS.
NEGATIVES = b"(0,1)\t3\t1\n(1,1)\t0\t2\n(2,2)\t1\t3\n"


@pytest.mark.parametrize("name", ["ml-1m.test.negative", "ncf.test.negative", "other"])
@pytest.mark.parametrize("packed", [False, True])
def test_load_negatives(small, monkeypatch, name, packed):
    publish(monkeypatch, {"ml-1m.test.negative": NEGATIVES})
    file = small / (name + ".gz" * packed)
    content = NEGATIVES.replace(b"\n", b"\r\n") if name == "other" else NEGATIVES
    file.write_bytes(gzip.compress(content) if packed else content)
    for path in [file, str(file)] + [small] * (name != "other"):
        assert load_negatives(path).tolist() == [[3, 1], [0, 2], [1, 3]]


def test_other_negatives_are_refused(small):
    with pytest.raises(FileNotFoundError, match="a file of negatives or a folder with one, got"):
        load_negatives(small)
    with pytest.raises(ValueError, match="path must be the path of a file or a folder, got 5"):
        load_negatives(5)
    file = small / "ncf.test.negative.gz"
    file.write_bytes(gzip.compress(NEGATIVES))
    with pytest.raises(ValueError, match=f"{file} must be the published ml-1m.test.negative with"):
        load_negatives(small)
    for damaged in (gzip.compress(NEGATIVES)[:-5], b"no gzip"):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match="negative.gz must be an intact gzip file, got a dam"):
            load_negatives(small)


def test_negatives_are_downloaded_once(small, monkeypatch):
    with pytest.raises(ConnectionError, match=r"ml-1m.test.negative could .*load_negatives\(path="):
        load_negatives()
    contents = {"ml-1m.test.negative": NEGATIVES}
    with Server(contents) as server:
        published(monkeypatch, server, contents)
        assert load_negatives().tolist() == load_negatives().tolist() == [[3, 1], [0, 2], [1, 3]]
        assert server.requests == ["/ml-1m.test.negative"]
    assert cached(small) == ["ml-1m.test.negative"]


def test_the_published_negatives(ml_1m):
    content = gzip.decompress((ml_1m / "ncf.test.negative.gz").read_bytes())
    lists = load_negatives(ml_1m)
    assert lists.shape == (6040, 99) and (lists.min(), lists.max()) == (0, 3705)
    first, last = content.decode().split("\n")[0], content.decode().split("\n")[6039]
    for line, row in ((first, lists[0]), (last, lists[-1])):
        assert line.split("\t")[1:] == [str(item) for item in row]
    # The file names the same held-out items as the split.
    pairs = [line.split("\t")[0].strip("()") for line in content.decode().splitlines()]
    held_out = np.loadtxt(ml_1m / "ncf.test.rating", dtype=int)[:, :2]
    assert [f"{user},{item}" for user, item in held_out] == pairs


# ---------------------------------------------------------------------------- at full size


@pytest.fixture(scope="module")
def full_size(ml_1m, tmp_path_factory):
    """ratings.dat: the real lines of users 1 to 2999, then the real pairs with invented times."""
    folder = tmp_path_factory.mktemp("ml-1m")
    with gzip.open(ml_1m / "ratings_users_1_to_2999.dat.gz", "rt", encoding="utf-8") as file:
        real = file.read()
    with np.load(ml_1m / "user_movie_pairs.npz") as pairs:
        users, movies = (pairs[key][real.count("\n") :].tolist() for key in ("user_id", "movie_id"))
    invented = [f"{u}::{m}::3::{10**9 + t}\n" for t, (u, m) in enumerate(zip(users, movies))]
    (folder / "ratings.dat").write_text(real + "".join(invented), encoding="utf-8")
    (folder / "ncf.test.rating").symlink_to(ml_1m / "ncf.test.rating")
    return folder


def test_full_size_paper_split(full_size, movielens):
    data = load_movielens(full_size)
    assert (data.n_users, data.n_items, data.train.nnz) == (6040, 3706, 1_000_209 - 6040)
    assert (data.train != movielens.train).nnz == 0
    assert (data.held_out == movielens.held_out).all()
    assert (data.user_ids == np.arange(1, 6041)).all()
    assert data.item_ids[:3].tolist() == [1193, 661, 914]
    counts = np.asarray(data.train.sum(axis=0)).ravel()
    assert np.sort(counts)[-370:].sum() / data.train.nnz == pytest.approx(0.44, abs=0.005)
    assert (counts == 0).sum() == 2


def test_full_size_last_split_as_the_docstring_says(full_size, movielens):
    # User 2999 is cut short among the real lines, so the numbers are those of the users before.
    data = load_movielens(full_size, split="last")
    agree = (data.held_out == movielens.held_out)[:2998].mean()
    last_second = {}
    for line in (full_size / "ratings.dat").read_text(encoding="utf-8").splitlines():
        user, _, _, time = map(int, line.split("::"))
        if user > 2998:
            break
        last, count = last_second.get(user, (0, 0))
        last_second[user] = (time, 1) if time > last else (last, count + (time == last))
    several = sum(count > 1 for _, count in last_second.values())
    assert (len(last_second), several) == (2998, 1268)
    assert round(several / 2998, 2) == 0.42 and round(agree, 2) == 0.72


# ---------------------------------------------------------------------------- recorded ranks


def test_recorded_ranks_give_the_papers_exact_metrics():
    ranks = recorded_ranks()
    assert list(ranks) == ["X", "Y", "Z"]
    # Table 3, column Exact. Y to every digit.
    assert np.round(exact_metrics(ranks["Y"]), 2).tolist() == [8.84, 4.59, 4.32, 85.33]
    # Z as well, but for AUC, where 74.73 is one random order of its many ties.
    assert np.round(exact_metrics(ranks["Z"]), 2)[:3].tolist() == [9.42, 4.79, 4.44]
    assert exact_metrics(ranks["Z"])[3] == pytest.approx(74.80, abs=0.005)
    # X, trained to the end, is somewhat better than printed; see test_recommenders.py.
    assert exact_metrics(ranks["X"]) == pytest.approx([7.60, 3.76, 3.75, 89.13], abs=0.13)


def test_recorded_pools_are_those_of_the_data():
    ranks = recorded_ranks()
    for name in "XYZ":
        assert len(ranks[name]) == 6040
        assert ranks[name].n_items.mean() == pytest.approx(3706 - 994_169 / 6040)
        assert (ranks[name].values + ranks[name].ties <= ranks[name].n_items).all()


def test_recorded_ties():
    ranks = recorded_ranks()
    assert [(ranks[name].ties > 0).sum() for name in "XYZ"] == [2, 2, 2623]


def recorded_of(folder, name, *data):
    """The arrays that are recorded of other data."""
    record_movielens.record(name, folder, *data)
    text = (folder / f"recorded_{name}.md").read_text(encoding="utf-8")
    assert f"numpy {np.__version__}, " in text and text.count("Versions") == 1
    for one, recommender in record_movielens.RECOMMENDERS.items():
        assert f"- {one}: `{recommender}`" in text
    with np.load(folder / f"recorded_{name}.npz") as arrays:
        return dict(arrays)


def test_ranks_are_recorded_as_recommenders_give_them(tmp_path):
    data = make_interactions(60, 50, 1500, rng=3)
    arrays = recorded_of(tmp_path, "ranks", data)
    assert (arrays["n_items"] == data.n_items - np.diff(data.train.indptr)).all()
    for name, recommender in (("Y", ItemKNN(3)), ("Z", ItemKNN(1, 10))):
        expected = recommender.fit(data.train).ranks(data)
        assert (arrays[f"rank_{name}"] == expected.values).all()
        assert (arrays[f"ties_{name}"] == expected.ties).all()


# ---------------------------------------------------------------------------- recorded_several


def test_recorded_several_holds_ten_movies_per_user():
    several, one = datasets.recorded_several(), recorded_ranks()
    for name in "XYZ":
        ranks = several[name]
        assert len(ranks) == 6040 and set(ranks.n_relevant) == {10}
        assert ranks.n_items.mean() == pytest.approx(3706 - (1_000_209 - 60_400) / 6040)
        # Nine events more than with one held-out movie are not for training
        assert (ranks.n_items == one[name].n_items + 9).all()
        places = np.stack(ranks.values)
        assert (np.diff(places) > 0).all()
        assert (places + np.stack(ranks.ties) <= ranks.n_items[:, None]).all()


def test_ten_movies_are_held_out_and_ranked(tmp_path):
    data = make_interactions(60, 50, 1500, rng=3)
    arrays = recorded_of(tmp_path, "several", data)
    train, last = data.train, data.held_out
    # The split once more, user by user, and the ranks item by item
    pairs = [*zip(*train.nonzero()), *enumerate(last)]
    events = sorted((int(user), int(item)) for user, item in pairs)
    drawn = np.random.default_rng(0).random(len(events))
    held_out = [
        {i for _, i in sorted((x, i) for x, (v, i) in zip(drawn, events) if v == u)[:10]}
        for u in range(60)
    ]
    train = sparse.lil_matrix(train.shape, dtype=bool)
    for user, item in events:
        train[user, item] = item not in held_out[user]
    scores = ItemKNN(1, 10).fit(train.tocsr()).scores(np.arange(60))
    for user, mine in enumerate(held_out):
        ranked = [i for i in range(train.shape[1]) if not train[user, i]]
        assert arrays["n_items"][user] == len(ranked)
        others = np.array([scores[user, i] for i in ranked if i not in mine])
        values = sorted((scores[user, i] for i in mine), reverse=True)
        above = [(others > value).sum() for value in values]
        assert (arrays["rank_Z"][user] == np.arange(1, 11) + above).all()
        assert (arrays["ties_Z"][user] == [(others == v).sum() for v in values]).all()


# ---------------------------------------------------------------------------- recorded lists


def test_recorded_lists_are_sampled_ranks_of_the_recorded_ones():
    exact, sampler = recorded_ranks(), UniformSampling(99)
    published = recorded_lists()["published"]
    assert np.bincount(published.ranks["X"].n_items)[99:].tolist() == [156, 5884]
    assert published.faults["relevant"] == 156 and published.faults.sum() == 156
    for name in "XYZ":
        ranks = published.ranks[name]
        assert (ranks.values <= exact[name].values).all()
        assert (ranks.ties <= exact[name].ties).all()
        for metric in (Recall @ 10, NDCG @ 10, AP, AUC):
            error = metric(ranks).mean() - sampler.expect(metric, exact[name]).mean()
            assert abs(error) < 4 * sampler.std_of_mean(metric, exact[name])


def test_recorded_lists_of_the_lowest_ids_are_far_from_the_law():
    exact, sampler = recorded_ranks(), UniformSampling(99)
    lowest = recorded_lists()["lowest ids"]
    assert (lowest.faults == 0).all() and (lowest.uniformity["p-value"] < 1e-300).all()
    for name in "XYZ":
        error = AUC(lowest.ranks[name]).mean() - AUC(exact[name]).mean()
        assert error < -9 * sampler.std_of_mean(AUC, exact[name])


def test_recorded_lists_describe_the_published_ones(ml_1m, movielens):
    lists, recorded = load_negatives(ml_1m), recorded_lists()["published"]
    share = 99 / (3706 - np.diff(movielens.train.indptr))
    listed = 1 - movielens.train.toarray()  # how often each movie would be, drawn uniformly
    expected, variance = share @ listed, (share * (1 - share)) @ listed
    assert (recorded.counts["observed"] == np.bincount(lists.ravel(), minlength=3706)).all()
    assert np.abs(expected - recorded.counts["expected"]).max() <= 0.05 + 1e-9
    assert np.abs(np.sqrt(variance) - recorded.counts["std"]).max() <= 0.005 + 1e-9
    # The ranks of Z, which takes least time to train.
    recommender = ItemKNN(1, 10).fit(movielens.train)
    scores = recommender.scores(np.arange(500))
    ranks = given_lists.given_ranks(
        scores, movielens.held_out[:500], lists[:500], movielens.train[:500], drop=["relevant"]
    )
    assert (ranks.values == recorded.ranks["Z"].values[:500]).all()
    assert (ranks.ties == recorded.ranks["Z"].ties[:500]).all()
    assert (ranks.n_items == recorded.ranks["Z"].n_items[:500]).all()
    exact = predicted_ranks(scores, movielens.held_out[:500], movielens.train[:500])
    assert (exact.values == recorded_ranks()["Z"].values[:500]).all()


def test_ranks_on_lists_are_recorded(tmp_path):
    data = make_interactions(200, 300, 8000, rng=3)
    lists = given_lists.uniform_lists(99, data.train, rng=0)
    arrays = recorded_of(tmp_path, "lists", data, lists)
    scores = ItemKNN(1, 10).fit(data.train).scores(np.arange(200))
    expected = given_lists.given_ranks(scores, data.held_out, lists, drop=["relevant"])
    assert (arrays["published_rank_Z"] == expected.values).all()
    assert (arrays["published_ties_Z"] == expected.ties).all()
    assert (arrays["published_n_items"] == expected.n_items).all()
    assert (arrays["lowest_n_items"] == 100).all()
    assert (arrays["published_observed"] == np.bincount(lists.ravel(), minlength=300)).all()


# ---------------------------------------------------------------------------- make_interactions


@pytest.mark.parametrize("size", [(600, 400, 30_000), (60, 50, 1500), (5, 40, 100), (5, 41, 100)])
def test_made_interactions_have_the_asked_shape(size):
    n_users, n_items, n_events = size
    data = make_interactions(*size, rng=1)
    assert data.train.shape == (n_users, n_items)
    assert data.train.nnz == n_events - n_users
    per_user = np.diff(data.train.indptr) + 1
    assert per_user.min() >= 20 and per_user.max() <= n_items // 2
    assert not data.train[np.arange(n_users), data.held_out].any()
    assert data.train.has_canonical_format


def test_no_event_is_lost_to_rounding():
    for seed in range(20):
        assert make_interactions(9, 80, 270 + seed, rng=seed).train.nnz == 270 + seed - 9


def test_every_user_may_be_at_the_limit():
    assert set(np.diff(make_interactions(7, 50, 7 * 25).train.indptr)) == {24}
    assert set(np.diff(make_interactions(7, 50, 7 * 20).train.indptr)) == {19}


def test_made_interactions_follow_the_seed():
    made = [make_interactions(50, 60, 1200, rng=rng) for rng in (5, np.random.default_rng(5), 6)]
    assert (made[0].train != made[1].train).nnz == 0
    assert (made[0].held_out == made[1].held_out).all()
    assert (made[0].train != made[2].train).nnz > 0


@pytest.mark.parametrize(
    "size, message",
    [
        ((0, 50, 100), "n_users must be .* at least 1, got 0"),
        ((5, 39, 100), "n_items must be at least 40, got 39"),
        (
            (5, 50, 99),
            "n_events must be from 20 to .* 25 per user, that is from 100 to 125, got 99",
        ),
        ((5, 50, 126), "n_events must be .* from 100 to 125, got 126"),
        ((5, 50, 110.5), "n_events must be .* at least 1, got 110.5"),
    ],
)
def test_make_interactions_refuses(size, message):
    with pytest.raises(ValueError, match=message):
        make_interactions(*size)


def test_the_law_of_what_a_user_takes():
    # With 20 of 40 items taken, one after the other in proportion to exp(utility), popular items
    # are taken by more users; a niche's items are taken together more often than others.
    data = make_interactions(4000, 40, 80_000, rng=0)
    counts = np.asarray(data.train.sum(axis=0)).ravel()
    assert counts.max() > 3 * counts.min()
    held_out = np.bincount(data.held_out, minlength=40)
    # The held-out item is one of the 20, picked uniformly.
    expected = (counts + held_out) / 20
    assert ((held_out - expected) ** 2 / expected).sum() < 80  # chi squared, 39 degrees of freedom


@pytest.mark.data
def test_full_size_resembles_movielens_as_the_docstring_says():
    data = make_interactions()
    counts = np.asarray(data.train.sum(axis=0)).ravel()
    assert data.train.nnz == 994_169
    # A tenth of the items takes 4 events in 10; see test_full_size_paper_split for MovieLens.
    assert 0.35 < np.sort(counts)[-370:].sum() / data.train.nnz < 0.50
    # X has not settled after 5 iterations, but the order is the same.
    recommenders = (MatrixFactorization(n_iterations=5), ItemKNN(3), ItemKNN(1, 10))
    metrics = [exact_metrics(r.fit(data.train).ranks(data)) for r in recommenders]
    (recall_x, *_, auc_x), (recall_y, *_, auc_y), (recall_z, *_, auc_z) = metrics
    assert recall_x < recall_y < recall_z
    assert auc_x > auc_y > auc_z


@pytest.mark.parametrize("users", [["a", 1], ["a", float("nan")]])
def test_ids_are_not_turned_into_strings(users):
    with pytest.raises(ValueError, match="users must be all whole numbers or all strings"):
        Interactions.from_pairs(users, ["x", "y"], ["x", "y"])


def test_a_seed_that_is_none():
    with pytest.raises(ValueError, match="rng must be a whole number of at least 0"):
        make_interactions(60, 50, 1300, rng="a")


def test_records_are_named_where_they_are_described():
    """Those of times once, for the two numbers of threads."""
    folder = Path(datasets.__file__).parents[1] / "data/records"
    described = set(re.findall(r'"([a-z0-9_]+)"', datasets.record.__doc__))
    kept = {path.stem.removesuffix("_2_threads") for path in folder.iterdir()}
    assert kept <= described
    tables = {path.stem: datasets.record(path.stem) for path in folder.iterdir()}
    assert min(map(len, tables.values())) > 3
    assert tables["exact_ranks_2_threads"].attrs["threads"] == 2
    with pytest.raises(ValueError, match="^name must be 'audit_plans', 'audits', .*, got 'Audits'"):
        datasets.record("Audits")


def test_what_printed_sampled_and_full_metrics_must_satisfy():
    """Typed numbers: more candidates lower a metric, and hit rates rise with the cut-off."""
    both = datasets.record("printed_both").astype({"sampled": float})
    stated = ["source", "where", "fits", "drawn", "candidates", "dataset", "items", "m", "model"]
    assert both[stated].notna().all(axis=None) and (both["m"] < both["items"]).all()
    same = both[both["metric"] == both["full_metric"]]
    assert len(same) > 390 and (same["full"] < same["sampled"]).all()
    hits = both[both["metric"].str.startswith("HR@")]
    for column, metric in [("sampled", "metric"), ("full", "full_metric")]:
        rows = hits.dropna(subset=[metric])
        rows = rows.assign(k=rows[metric].str[3:].astype(int))
        for _, one in rows.sort_values("k").groupby(["where", "dataset", "model"]):
            assert one[column].is_monotonic_increasing
    # A hit on one of the ranks 6 to 10 adds between 1 / log2(11) and 1 / log2(7) to NDCG.
    for column in ("sampled", "full"):
        of_source = both[both["source"] == "S3-Rec"]
        wide = of_source.pivot(index=["dataset", "model"], columns="metric")[column]
        more, gain = (wide[f"{one}@10"] - wide[f"{one}@5"] for one in ("HR", "NDCG"))
        assert gain.between(more / np.log2(11) - 2e-4, more / np.log2(7) + 2e-4).all()
