"""The files of MovieLens: where they are published, and what must be in them.

Every line is checked, so that a file that is truncated, damaged or not the right one is refused
with the line where that shows.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recsample._extras import extra


class Published(NamedTuple):
    """A size of MovieLens as GroupLens publishes it."""

    table: str  # of the ratings, in the archive
    separator: str
    rating: str  # what a rating may be, as a regular expression
    fields: str
    header: bool
    n_ratings: int
    n_users: int
    last_user: int


_STARS, _HALF_STARS = "[1-5]", r"(?:0\.5|[1-4](?:\.[05])?|5(?:\.0)?)"
_TABS = "user id, item id, rating, timestamp", False
_COLONS = "UserID::MovieID::Rating::Timestamp", False
_COMMAS = "userId,movieId,rating,timestamp", True
SIZES = {
    "ml-100k": Published("ml-100k/u.data", "\t", _STARS, *_TABS, 100_000, 943, 943),
    "ml-1m": Published("ml-1m/ratings.dat", "::", _STARS, *_COLONS, 1_000_209, 6_040, 6_040),
    # Users are numbered up to 71,567, of whom 69,878 have ratings.
    "ml-10m": Published(
        "ml-10M100K/ratings.dat", "::", _HALF_STARS, *_COLONS, 10_000_054, 69_878, 71_567
    ),
    "ml-20m": Published(
        "ml-20m/ratings.csv", ",", _HALF_STARS, *_COMMAS, 20_000_263, 138_493, 138_493
    ),
    "ml-25m": Published(
        "ml-25m/ratings.csv", ",", _HALF_STARS, *_COMMAS, 25_000_095, 162_541, 162_541
    ),
}

# Of MovieLens-1M, the held-out events of the split that the paper uses, and the negatives published
# with that split.
HELD_OUT = "ml-1m.test.rating"
NEGATIVES = "ml-1m.test.negative"
URLS = {
    **{
        f"{name}.zip": f"https://files.grouplens.org/datasets/movielens/{name}.zip"
        for name in SIZES
    },
    HELD_OUT: "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/"
    "master/Data/ml-1m.test.rating",
    NEGATIVES: "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/"
    "master/Data/ml-1m.test.negative",
}
# The MD5 are those that GroupLens publishes beside the archives, as <archive>.md5.
CHECKSUMS = {
    "ml-100k.zip": "md5:0e33842e24a9c977be4e0107933c0723",
    "ml-1m.zip": "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "ml-10m.zip": "md5:ce571fd55effeba0271552578f2648bd",
    "ml-20m.zip": "md5:cd245b17a1ae2cc31bb14903e1204af3",
    "ml-25m.zip": "md5:6b51fb2759a8657d3bfcbfc42b592ada",
    HELD_OUT: "sha256:231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5",
    NEGATIVES: "sha256:127853228a76b7d21c0481e8ef8d00dd009cd5c88670dbdd9e9debfdb9f93de4",
}
N_USERS = 6_040
N_ITEMS = 3_706
N_NEGATIVES = 99
# Lines are read in blocks of this many bytes: as objects, 25 million of them would take gigabytes.
_BLOCK = 2**26


def download(name, loader):
    """The path of a published file in the cache, downloaded with a progress bar if need be."""
    pooch, requests = extra("pooch"), extra("requests")
    folder = Path(os.environ.get("RECSAMPLE_DATA") or pooch.os_cache("recsample"))
    try:
        # pooch writes to a temporary file and moves it here only if the checksum is right.
        return pooch.retrieve(
            URLS[name], CHECKSUMS[name], fname=name, path=folder, progressbar=True
        )
    except requests.RequestException as error:
        there = ""
        if (folder / name).exists():
            there = "The file of that name there is not the published one (its checksum differs). "
        raise ConnectionError(
            f"{name} could not be downloaded from {URLS[name]} ({error}). {there}Download it by "
            f"other means and put it into {folder}, or say where it is: {loader}(path=...)."
        ) from error
    except OSError as error:
        raise OSError(
            f"{name} could not be kept in {folder} ({error}). Let RECSAMPLE_DATA name a folder "
            f"that can be written to and has room, or say where the file is: {loader}(path=...)."
        ) from error
    except ValueError as error:
        raise ValueError(
            f"what {URLS[name]} delivered is not the published {name}: its checksum differs from "
            f"the expected {CHECKSUMS[name]}; nothing was kept"
        ) from error


def read_ratings(path, name):
    """The users, movies and timestamps of all ratings, and the folders where the split may be."""
    kind, archive = SIZES[name], f"{name}.zip"
    source = Path(download(archive, "load_movielens") if path is None else path)
    source, folders = _find_ratings(source, archive, kind.table)
    with _opened(source, kind.table) as (file, stream):
        user, movie, timestamp = _parse(
            file, stream, kind.separator, kind.fields, kind.rating, kind.header
        )
    _check_ratings(file, kind, user, movie)
    return user, movie, timestamp, folders


def _find_ratings(source, archive, table):
    """The archive or the table of ratings, and the folders where its companion may be."""
    folder, name = table.split("/")
    if source.is_dir():
        for place in (source, source / folder):
            if (place / name).is_file():
                return place / name, [place, source]
        if not (source / archive).is_file():
            raise FileNotFoundError(
                f"path must hold {name}, {table} or {archive}, "
                f"got the folder {source} with none of them"
            )
        source = source / archive
    if not source.is_file():
        raise FileNotFoundError(
            f"path must be the archive {archive} or a folder, got {source}, which does not exist"
        )
    return source, [source.parent]


@contextmanager
def _opened(source, table):
    """The table of ratings as a stream, from the file itself or from the archive, with its name."""
    if source.name == table.split("/")[1]:
        with source.open("rb") as stream:
            yield str(source), stream
        return
    try:
        with zipfile.ZipFile(source) as archive:
            if table not in archive.namelist():
                raise ValueError(
                    f"{source} must hold the file {table}, got an archive without it "
                    "(MovieLens of another size: name=...)"
                )
            with archive.open(table) as stream:
                yield f"{source}/{table}", stream
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(
            f"{source} must be an intact zip archive, got a damaged one: {error}"
        ) from error


def read_held_out(folders, user, item, n_items):
    """The held-out item of each user, from the published list, checked against the ratings."""
    names = (HELD_OUT, "ncf.test.rating")
    found = [folder / name for folder in folders for name in names if (folder / name).is_file()]
    file = found[0] if found else Path(download(HELD_OUT, "load_movielens"))
    with file.open("rb") as stream:
        fields = "user, item, rating, timestamp"
        listed, held_out, _ = _parse(file, stream, "\t", fields, _STARS)
    n_users = SIZES["ml-1m"].n_users
    if len(listed) != n_users:
        raise ValueError(f"{file} must have {n_users} lines, one per user, got {len(listed)}")
    _refuse_line(file, listed != np.arange(n_users), listed, "the users 0, 1, 2, ... in order")
    rated = np.isin(np.arange(n_users) * n_items + held_out, (user - 1) * n_items + item)
    rated &= held_out < n_items
    _refuse_line(file, ~rated, held_out, "an item that the user has rated")
    return held_out


def _parse(file, stream, separator, fields, rating, header=False):
    """Three columns of a table of ratings, users, items and times, every line of it checked."""
    pattern = separator.join([r"\d{1,10}", r"\d{1,10}", rating, r"\d{1,10}"])
    if header and (first := stream.readline()).rstrip(b"\r\n") != fields.encode():
        raise ValueError(f"{file}, line 1, must be the header {fields}, got {_text(first)}")
    line, number, parts = b"\n", int(header), [np.empty((0, 4))]
    while lines := stream.readlines(_BLOCK):
        _check_lines(file, lines, (pattern + r"\r?\n?").encode(), fields, number)
        number, line = number + len(lines), lines[-1]
        numbers = b"".join(lines).replace(separator.encode(), b" ").decode()
        parts.append(np.fromstring(numbers, sep=" ").reshape(-1, 4))
    if not line.endswith(b"\n"):
        raise ValueError(f"{file} must end with a line end, got a last line {number} cut short")
    return np.concatenate(parts)[:, [0, 1, 3]].astype(np.int64).T


def _check_lines(file, lines, pattern, fields, before=0):
    """Refuse the first line that does not match a pattern: what that wants is told by `fields`."""
    matches = re.compile(pattern).fullmatch
    if not all(map(matches, lines)):
        number, line = next((i, line) for i, line in enumerate(lines, 1) if not matches(line))
        raise ValueError(f"{file}, line {before + number}, must be {fields}, got {_text(line)}")


def _text(line):
    return repr(line[:80].rstrip(b"\r\n").decode(errors="replace"))


def _check_ratings(file, kind, user, movie):
    if len(user) != kind.n_ratings:
        raise ValueError(f"{file} must have {kind.n_ratings} ratings, got {len(user)} lines")
    outside = (user < 1) | (user > kind.last_user)
    _refuse_line(file, outside, user, f"a UserID from 1 to {kind.last_user}", kind.header)
    n_users = len(np.unique(user))
    if n_users != kind.n_users:
        raise ValueError(f"{file} must have ratings of {kind.n_users} users, got {n_users}")
    pair = user * (movie.max() + 1) + movie
    repeated = np.ones(len(pair), bool)
    repeated[np.unique(pair, return_index=True)[1]] = False
    expected = "a MovieID that the user has not rated before"
    _refuse_line(file, repeated, movie, expected, kind.header)


def _refuse_line(file, bad, values, expected, header=False):
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{file}, line {row + 1 + header}, must have {expected}, got {values[row]}"
        )


def read_negatives(path):
    """The listed items of each user, from the published lists of negatives."""
    if path is None:
        file = Path(download(NEGATIVES, "load_negatives"))
    else:
        file = _find_negatives(Path(path))
    content = file.read_bytes()
    if file.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{file} must be an intact gzip file, got a damaged one: {error}"
            ) from error
    line = rb"\(\d{1,9},\d{1,9}\)(?:\t\d{1,9}){%d}" % N_NEGATIVES
    lines = content.splitlines()
    _check_lines(file, lines, line, f"(user,item) and {N_NEGATIVES} items")
    if len(lines) != N_USERS:
        raise ValueError(f"{file} must have {N_USERS} lines, one per user, got {len(lines)}")
    entries = content.decode().translate(str.maketrans("(),", "   "))
    table = np.fromstring(entries, dtype=np.int64, sep=" ").reshape(N_USERS, -1)
    user, listed = table[:, 0], table[:, 2:]
    _refuse_line(file, user != np.arange(N_USERS), user, "the users 0, 1, 2, ... in order")
    largest = listed.max(axis=1)
    _refuse_line(file, largest >= N_ITEMS, largest, f"items below {N_ITEMS}")
    return listed


def _find_negatives(path):
    names = [name + end for name in (NEGATIVES, "ncf.test.negative") for end in ("", ".gz")]
    for file in [path, *(path / name for name in names)]:
        if file.is_file():
            return file
    raise FileNotFoundError(f"path must be a file of negatives or a folder with one, got {path}")
