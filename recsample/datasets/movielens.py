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
from typing import Literal, NamedTuple

import numpy as np

from recsample._support.checks import one_of, shown
from recsample._support.extras import extra
from recsample._support.typing import Integers
from recsample.datasets.interactions import Interactions, last_events

__all__ = ["load_movielens", "load_negatives"]


def load_movielens(
    path: str | os.PathLike[str] | None = None,
    *,
    name: Literal["ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m"] = "ml-1m",
    split: Literal["paper", "last"] | None = None,
) -> Interactions:
    """MovieLens, the stars left aside: 1M, which the paper uses, or another size.

    Movies are numbered by their first appearance in the file of ratings, users by their UserID;
    the ids of the source stand in ``item_ids`` and ``user_ids``.

    Without `path` the official archive is downloaded once (checksum verified) and kept in the
    folder that the environment variable ``RECSAMPLE_DATA`` names, or else in the operating system's
    folder for caches. The largest data set needs 3 GB of memory.

    Parameters
    ----------
    path : str or os.PathLike, optional
        Where the data is instead: the archive, such as ``ml-1m.zip``, the file of the ratings, or a
        folder with one of them. For ``split="paper"``, the held-out events are those of
        ``ml-1m.test.rating`` or ``ncf.test.rating`` beside it, or else downloaded (125 kB).
    name : {"ml-1m", "ml-100k", "ml-10m", "ml-20m", "ml-25m"}, optional
        Which one:

        ========= ========== ======= =================================
        name      ratings    users   file of ratings
        ========= ========== ======= =================================
        "ml-100k" 100,000    943     ``u.data``, with tabs
        "ml-1m"   1,000,209  6,040   ``ratings.dat``, with ``::``
        "ml-10m"  10,000,054 69,878  ``ratings.dat``, with ``::``
        "ml-20m"  20,000,263 138,493 ``ratings.csv``
        "ml-25m"  25,000,095 162,541 ``ratings.csv``
        ========= ========== ======= =================================
    split : {"paper", "last"}, optional
        Which event of each user is held out. By default "paper" for MovieLens-1M, and "last" for
        the others.

        "paper"
            The split of He et al., "Neural Collaborative Filtering" (WWW 2017), which the paper
            uses: each user's last event on MovieLens-1M, from the published list.
        "last"
            The last event by timestamp, and of several with the same timestamp the last in the
            file. On MovieLens-1M that decides for 1,268 of the first 2,998 users (42 %). The
            published list chooses by a rule that the data does not show, and agrees for 72 % of
            these 2,998. So this is another, equally valid split, without the paper's numbers.

    Returns
    -------
    Interactions

    Raises
    ------
    ConnectionError
        If something cannot be downloaded: the message says where to put it.
    FileNotFoundError
        If there is no such data at `path`.
    OSError
        If what was downloaded cannot be kept, in a folder without room for it, say.
    ValueError
        For a damaged or wrong file: the message names it, the line (1-based) and what was expected.
        Also for an unknown `name` or `split`, and for the paper's split of another size.

    Notes
    -----
    MovieLens is licensed for research and may not be redistributed; see
    https://grouplens.org/datasets/movielens/ and F. M. Harper, J. A. Konstan, "The MovieLens
    Datasets: History and Context", ACM TiiS 5(4), 2015, https://doi.org/10.1145/2827872.

    Examples
    --------
    >>> from recsample.datasets.movielens import load_movielens
    >>> load_movielens(split="first")
    Traceback (most recent call last):
        ...
    ValueError: split must be 'paper' or 'last', got 'first'
    """
    one_of("name", name, SIZES)
    if split is not None:
        one_of("split", split, ("paper", "last"))
    if split == "paper" and name != "ml-1m":
        raise ValueError(f'split must be "last" for {name}: the paper has MovieLens-1M only')
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path must be the path of an archive or a folder, got {shown(path)}")
    user, movie, timestamp, folders = read_ratings(path, name)
    movie_ids, item = _by_first_appearance(movie)
    if split == "last" or name != "ml-1m":
        held_out = item[last_events(user, timestamp)]
    else:
        held_out = read_held_out(folders, user, item, len(movie_ids))
    data = Interactions.from_pairs(user, item, held_out)
    return Interactions(data.train, data.held_out, data.user_ids, movie_ids)


def load_negatives(path: str | os.PathLike[str] | None = None) -> Integers:
    """The 99 negatives for each user of MovieLens-1M on which many studies are evaluated.

    They were published by He et al. (WWW 2017) together with the split that `load_movielens` reads,
    with the same numbers for users and movies. Without `path` the file is downloaded once (3 MB).
    `recsample.sampling.list_checks.faults` says what is wrong with them: 156 hold the held-out
    movie of their user.

    Parameters
    ----------
    path : str or os.PathLike, optional
        Where the lists are instead: the file, or a folder with ``ml-1m.test.negative`` or
        ``ncf.test.negative``, either of them also with ``.gz``.

    Returns
    -------
    ndarray of int, shape (6040, 99)
        The listed movies of each user, in the order of the file.

    Raises
    ------
    ConnectionError, FileNotFoundError, OSError, ValueError
        As of `load_movielens`, for this file.

    Examples
    --------
    >>> from recsample.datasets.movielens import load_negatives
    >>> load_negatives("nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: path must be a file of negatives or a folder with one, got nowhere
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"path must be the path of a file or a folder, got {shown(path)}")
    file = Path(download(NEGATIVES, "load_negatives")) if path is None else _find_negatives(path)
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


def _by_first_appearance(ids):
    """The distinct ids in the order in which they first appear, and the place of each id in it."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse]


class Published(NamedTuple):
    """A size of MovieLens as GroupLens publishes it."""

    table: str  # of the ratings, in the archive
    separator: str
    fields: str
    header: bool
    rating: str  # what a rating may be, as a regular expression
    n_ratings: int
    n_users: int
    last_user: int


_STARS, _HALF = "[1-5]", r"(?:0\.5|[1-4](?:\.[05])?|5(?:\.0)?)"
_TABS = "\t", "user id, item id, rating, timestamp", False
_COLONS = "::", "UserID::MovieID::Rating::Timestamp", False
_COMMAS = ",", "userId,movieId,rating,timestamp", True
SIZES = {
    "ml-100k": Published("ml-100k/u.data", *_TABS, _STARS, 100_000, 943, 943),
    "ml-1m": Published("ml-1m/ratings.dat", *_COLONS, _STARS, 1_000_209, 6_040, 6_040),
    # Users are numbered up to 71,567, of whom 69,878 have ratings.
    "ml-10m": Published("ml-10M100K/ratings.dat", *_COLONS, _HALF, 10_000_054, 69_878, 71_567),
    "ml-20m": Published("ml-20m/ratings.csv", *_COMMAS, _HALF, 20_000_263, 138_493, 138_493),
    "ml-25m": Published("ml-25m/ratings.csv", *_COMMAS, _HALF, 25_000_095, 162_541, 162_541),
}
# Of MovieLens-1M, the held-out events of the split that the paper uses, and the negatives published
# with that split.
HELD_OUT = "ml-1m.test.rating"
NEGATIVES = "ml-1m.test.negative"
_GROUPLENS = "https://files.grouplens.org/datasets/movielens"
_HE = "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/master/Data"
URLS = {f"{name}.zip": f"{_GROUPLENS}/{name}.zip" for name in SIZES}
URLS |= {name: f"{_HE}/{name}" for name in (HELD_OUT, NEGATIVES)}
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
N_USERS, N_ITEMS, N_NEGATIVES = 6_040, 3_706, 99
# Lines are read in blocks of this many bytes: as objects, 25 million of them would take gigabytes.
_BLOCK = 2**26


def download(name, loader):
    """The path of a published file in the cache, downloaded with a progress bar if need be."""
    pooch, requests = extra("pooch"), extra("requests")
    folder = Path(os.environ.get("RECSAMPLE_DATA") or pooch.os_cache("recsample"))
    try:
        # pooch writes to a temporary file and moves it here only if the checksum is right.
        kept = {"fname": name, "path": folder, "progressbar": True}
        return pooch.retrieve(URLS[name], CHECKSUMS[name], **kept)
    except requests.RequestException as error:
        other = "The file of that name there is not the published one (its checksum differs). "
        there = other if (folder / name).exists() else ""
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


def _find_negatives(path):
    names = [name + end for name in (NEGATIVES, "ncf.test.negative") for end in ("", ".gz")]
    for file in [Path(path), *(Path(path, name) for name in names)]:
        if file.is_file():
            return file
    raise FileNotFoundError(f"path must be a file of negatives or a folder with one, got {path}")
