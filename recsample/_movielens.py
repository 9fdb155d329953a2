"""The files of MovieLens-1M: where they are published, and what must be in them.

Every line is checked, so that a file that is truncated, damaged or not the right one is refused
with the line where that shows.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from pathlib import Path

import numpy as np

from recsample._extras import extra

# MovieLens-1M as GroupLens publishes it, the held-out events of the split that the paper uses, and
# the negatives published with that split.
ARCHIVE = "ml-1m.zip"
HELD_OUT = "ml-1m.test.rating"
NEGATIVES = "ml-1m.test.negative"
URLS = {
    ARCHIVE: "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    HELD_OUT: "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/"
    "master/Data/ml-1m.test.rating",
    NEGATIVES: "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/"
    "master/Data/ml-1m.test.negative",
}
SHA256 = {
    ARCHIVE: "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    HELD_OUT: "231ae11eb060b643a8c58c063cd17ffc743b54f569afb073d1abb6cf126b88b5",
    NEGATIVES: "127853228a76b7d21c0481e8ef8d00dd009cd5c88670dbdd9e9debfdb9f93de4",
}
N_RATINGS = 1_000_209
N_USERS = 6_040
N_ITEMS = 3_706
N_NEGATIVES = 99


def download(name, loader):
    """The path of a published file in the cache, downloaded with a progress bar if need be."""
    pooch, requests = extra("pooch"), extra("requests")
    folder = Path(os.environ.get("RECSAMPLE_DATA") or pooch.os_cache("recsample"))
    try:
        # pooch writes to a temporary file and moves it here only if the checksum is right.
        return pooch.retrieve(
            URLS[name], f"sha256:{SHA256[name]}", fname=name, path=folder, progressbar=True
        )
    except requests.RequestException as error:
        there = ""
        if (folder / name).exists():
            there = "The file of that name there is not the published one (its checksum differs). "
        raise ConnectionError(
            f"{name} could not be downloaded from {URLS[name]} ({error}). {there}Download it by "
            f"other means and put it into {folder}, or say where it is: {loader}(path=...)."
        ) from error
    except ValueError as error:
        raise ValueError(
            f"what {URLS[name]} delivered is not the published {name}: its checksum differs from "
            f"the expected SHA-256 {SHA256[name]}; nothing was kept"
        ) from error


def read_ratings(path):
    """The users, movies and timestamps of all ratings, and the folders where the split may be."""
    source = Path(download(ARCHIVE, "load_movielens") if path is None else path)
    file, content, folders = _find_ratings(source)
    user, movie, _, timestamp = _parse(file, content, "::", "UserID::MovieID::Rating::Timestamp")
    _check_ratings(file, user, movie)
    return user, movie, timestamp, folders


def _find_ratings(source):
    """The name and the bytes of ratings.dat, and the folders where its companion may be."""
    if source.is_dir():
        for place in (source, source / "ml-1m"):
            if (place / "ratings.dat").is_file():
                file = place / "ratings.dat"
                return str(file), file.read_bytes(), [place, source]
        if not (source / ARCHIVE).is_file():
            raise FileNotFoundError(
                f"path must hold ratings.dat, ml-1m/ratings.dat or {ARCHIVE}, "
                f"got the folder {source} with none of them"
            )
        source = source / ARCHIVE
    if not source.is_file():
        raise FileNotFoundError(
            f"path must be the archive {ARCHIVE} or a folder, got {source}, which does not exist"
        )
    if source.name == "ratings.dat":
        return str(source), source.read_bytes(), [source.parent]
    member = "ml-1m/ratings.dat"
    try:
        with zipfile.ZipFile(source) as archive:
            content = archive.read(member)
    except KeyError:
        raise ValueError(
            f"{source} must hold the file {member}, got an archive without it"
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise ValueError(
            f"{source} must be an intact zip archive, got a damaged one: {error}"
        ) from error
    return f"{source}/{member}", content, [source.parent]


def read_held_out(folders, user, item, n_items):
    """The held-out item of each user, from the published list, checked against the ratings."""
    names = (HELD_OUT, "ncf.test.rating")
    found = [folder / name for folder in folders for name in names if (folder / name).is_file()]
    file = found[0] if found else Path(download(HELD_OUT, "load_movielens"))
    listed, held_out, _, _ = _parse(file, file.read_bytes(), "\t", "user, item, rating, timestamp")
    if len(listed) != N_USERS:
        raise ValueError(f"{file} must have {N_USERS} lines, one per user, got {len(listed)}")
    _refuse_line(file, listed != np.arange(N_USERS), listed, "the users 0, 1, 2, ... in order")
    rated = np.isin(np.arange(N_USERS) * n_items + held_out, user * n_items + item)
    rated &= held_out < n_items
    _refuse_line(file, ~rated, held_out, "an item that the user has rated")
    return held_out


def _parse(file, content, separator, fields):
    """The four columns of a table of whole numbers, every line of it checked."""
    line = rb"\d{1,10}%b\d{1,10}%b[1-5]%b\d{1,10}" % ((separator.encode(),) * 3)
    lines = _checked_lines(file, content, line, fields)
    if lines and not content.endswith(b"\n"):
        raise ValueError(f"{file} must end with a line end, got a last line {len(lines)} cut short")
    numbers = content.replace(separator.encode(), b" ").decode()
    return np.fromstring(numbers, dtype=np.int64, sep=" ").reshape(-1, 4).T


def _checked_lines(file, content, pattern, fields):
    """The lines of a file, each of which matches a pattern: what that wants is told by `fields`."""
    matches, lines = re.compile(pattern).fullmatch, content.splitlines()
    for number, line in enumerate(lines, start=1):
        if not matches(line):
            text = line[:80].decode(errors="replace")
            raise ValueError(f"{file}, line {number}, must be {fields}, got {text!r}")
    return lines


def _check_ratings(file, user, movie):
    if len(user) != N_RATINGS:
        raise ValueError(f"{file} must have {N_RATINGS} ratings, got {len(user)} lines")
    outside = (user < 1) | (user > N_USERS)
    _refuse_line(file, outside, user, f"a UserID from 1 to {N_USERS}")
    missing = np.setdiff1d(np.arange(1, N_USERS + 1), user)
    if missing.size:
        raise ValueError(f"{file} must have ratings of {N_USERS} users, got none of {missing[0]}")
    pair = user * (movie.max() + 1) + movie
    repeated = np.ones(len(pair), bool)
    repeated[np.unique(pair, return_index=True)[1]] = False
    _refuse_line(file, repeated, movie, "a MovieID that the user has not rated before")


def _refuse_line(file, bad, values, expected):
    if bad.any():
        line = int(np.argmax(bad))
        raise ValueError(f"{file}, line {line + 1}, must have {expected}, got {values[line]}")


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
    lines = _checked_lines(file, content, line, f"(user,item) and {N_NEGATIVES} items")
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
