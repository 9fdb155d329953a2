"""The files of MovieLens: where they are published, and how they are read.

What is downloaded, and a given list, must have the checksum of what was published; a given table of
ratings must have the published numbers of ratings and users.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import warnings
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from recsample._support.checks import one_of, shown
from recsample._support.errors import InputError
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
    """MovieLens without the stars: 1M, which the paper uses, or another size.

    Movies are numbered by their first appearance in the file of ratings, users by their UserID;
    the ids of the source are in ``item_ids`` and ``user_ids``.

    Without `path` the official archive is downloaded once (checksum verified) into the folder that
    the environment variable ``RECSAMPLE_DATA`` names, or else the operating system's folder for
    caches. The largest data set needs 3 GB of memory.

    Parameters
    ----------
    path : str or os.PathLike, optional
        Where the data is instead: the archive, such as ``ml-1m.zip``, the file of the ratings, or a
        folder with one of them. For ``split="paper"``, the held-out events are those of
        ``ml-1m.test.rating`` or ``ncf.test.rating`` beside it, or else downloaded (125 kB).
    name : {"ml-1m", "ml-100k", "ml-10m", "ml-20m", "ml-25m"}, optional
        The data set:

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
            file. On MovieLens-1M the order in the file matters for 1,268 of the first 2,998 users
            (42 %). The published list follows a rule that the data does not show, and agrees for
            72 % of these 2,998. So this is another, equally valid split, with other numbers than
            the paper's.

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
        If what was downloaded cannot be stored.
    ValueError
        For a file that is not the published one, an unknown `name` or `split`, and the paper's
        split of another size.

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
    recsample.InputError: split must be 'paper' or 'last', got 'first'
    """
    one_of("name", name, SIZES)
    if split is not None:
        one_of("split", split, ("paper", "last"))
    if split == "paper" and name != "ml-1m":
        allowed = f'must be "last" for {name}'
        raise InputError("split", allowed, remedy="the paper has MovieLens-1M only")
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InputError("path", "must be the path of an archive or a folder").got(shown(path))
    kind = SIZES[name]
    file, user, movie, timestamp, folders = read_ratings(path, name)
    movie_ids, item = _by_first_appearance(movie)
    if split == "last" or name != "ml-1m":
        held_out = item[last_events(user, timestamp)]
    else:
        held_out = read_held_out(folders)
    data = Interactions.from_pairs(user, item, held_out)
    # One event of each user is held out, no other is lost, and no item comes from elsewhere.
    n_train = kind.n_ratings - kind.n_users
    if (data.train.nnz, data.n_items) != (n_train, len(movie_ids)):
        allowed = f"{file} must rate no movie twice for a user, and the held-out one of each user"
        got = f"{data.train.nnz:,} training events of {data.n_items:,} movies, where {n_train:,} "
        raise InputError("", allowed).got(f"{got}of {len(movie_ids):,} are left")
    return Interactions(data.train, data.held_out, data.user_ids, movie_ids)


def load_negatives(path: str | os.PathLike[str] | None = None) -> Integers:
    """The published 99 negatives for each user of MovieLens-1M, which many studies use.

    He et al. (WWW 2017) published them with the split that `load_movielens` reads, with the same
    numbers for users and movies. Without `path` the file is downloaded once (3 MB).
    `recsample.sampling.list_checks.faults` finds what is wrong with them: 156 hold the held-out
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

    Examples
    --------
    >>> from recsample.datasets.movielens import load_negatives
    >>> load_negatives("nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: path must be a file of negatives or a folder with one, got nowhere
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InputError("path", "must be the path of a file or a folder").got(shown(path))
    names = [name + end for name in (NEGATIVES, "ncf.test.negative") for end in ("", ".gz")]
    if path is None:
        file = Path(download(NEGATIVES, "load_negatives"))
    else:
        file = _first_file([Path(path), *(Path(path, name) for name in names)])
    if file is None:
        raise FileNotFoundError(
            f"path must be a file of negatives or a folder with one, got {path}"
        )
    # Each line holds (user,item) and then its negatives.
    lines = _published(file, NEGATIVES).decode().splitlines()
    return np.array([line.split("\t")[1:] for line in lines], dtype=np.int64)


def _by_first_appearance(ids):
    """The distinct ids in order of first appearance, and the place of each id in that order."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse]


class Published(NamedTuple):
    """A size of MovieLens as GroupLens publishes it."""

    table: str  # of the ratings, in the archive
    separator: str
    n_ratings: int
    n_users: int
    header: int = 0  # lines


SIZES = {
    "ml-100k": Published("ml-100k/u.data", "\t", 100_000, 943),
    "ml-1m": Published("ml-1m/ratings.dat", "::", 1_000_209, 6_040),
    "ml-10m": Published("ml-10M100K/ratings.dat", "::", 10_000_054, 69_878),
    "ml-20m": Published("ml-20m/ratings.csv", ",", 20_000_263, 138_493, 1),
    "ml-25m": Published("ml-25m/ratings.csv", ",", 25_000_095, 162_541, 1),
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


def download(name, loader):
    """The path of a published file in the cache, downloaded with a progress bar if need be."""
    pooch, requests = extra("pooch"), extra("requests")
    folder = Path(os.environ.get("RECSAMPLE_DATA") or pooch.os_cache("recsample"))
    try:
        # pooch writes to a temporary file and moves it here only if the checksum is right; a wrong
        # one it refuses with a ValueError that has both.
        return pooch.retrieve(
            URLS[name], CHECKSUMS[name], fname=name, path=folder, progressbar=True
        )
    except requests.RequestException as error:
        other = ", and the file of that name there is not the published one (its checksum differs)"
        there = other if (folder / name).exists() else ""
        raise ConnectionError(
            f"{name} could not be downloaded from {URLS[name]} ({error}): download it by other "
            f"means and put it into {folder}{there}, or say where it is by {loader}(path=...)"
        ) from error
    except OSError as error:
        raise OSError(
            f"{name} could not be stored in {folder} ({error}): let RECSAMPLE_DATA name a folder "
            f"that can be written to and has room, or say where the file is by {loader}(path=...)"
        ) from error


def read_ratings(path, name):
    """The file of ratings, its users, movies and times, and the folders where the split may be."""
    kind, archive = SIZES[name], f"{name}.zip"
    source = Path(download(archive, "load_movielens") if path is None else path)
    source, folders = _find_ratings(source, archive, kind.table)
    with _table(source, kind.table) as (file, stream), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a file without lines, refused below
        warnings.simplefilter("error", DeprecationWarning)  # of numbers that are not whole
        lines = (line.replace(kind.separator.encode(), b" ") for line in stream)
        columns = {"usecols": (0, 1, 3), "skiprows": kind.header, "ndmin": 2, "unpack": True}
        try:
            user, movie, timestamp = np.loadtxt(lines, np.int64, comments=None, **columns)
        except (ValueError, DeprecationWarning) as error:
            allowed = f"{file} must hold a user, a movie, a rating and a time in each line, with "
            allowed += f"{kind.separator!r} between them"
            got = f"a file that cannot be read so: {error}"
            raise InputError("", allowed).got(got) from error
    n_users = len(np.unique(user))
    if (len(user), n_users) != (kind.n_ratings, kind.n_users):
        allowed = f"{file} must have {kind.n_ratings:,} ratings of {kind.n_users:,} users"
        raise InputError("", allowed).got(f"{len(user):,} of {n_users:,}")
    return file, user, movie, timestamp, folders


def _find_ratings(source, archive, table):
    """The archive or the table of ratings, and the folders where its companion may be."""
    name = table.split("/")[1]
    found = _first_file([source, source / name, source / table, source / archive])
    if found is None:
        raise FileNotFoundError(
            f"path must be the archive {archive}, the file {name} or a folder with one of them or "
            f"with {table}, got {source}"
        )
    return found, [found.parent, source]


def _first_file(paths):
    return next((path for path in paths if path.is_file()), None)


@contextmanager
def _table(source, table):
    """The table of ratings as a stream, from the file itself or from the archive, with its name."""
    if source.name == table.split("/")[1]:
        with source.open("rb") as stream:
            yield str(source), stream
        return
    try:
        with zipfile.ZipFile(source) as archive:
            if table not in archive.namelist():
                got = "an archive without it (MovieLens of another size: name=...)"
                raise InputError("", f"{source} must hold the file {table}").got(got)
            with archive.open(table) as stream:
                yield f"{source}/{table}", stream
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        allowed = f"{source} must be an intact zip archive"
        raise InputError("", allowed).got(f"a damaged one: {error}") from error


def read_held_out(folders):
    """The held-out item of each user, from the published list: user, item, rating and time."""
    names = (HELD_OUT, "ncf.test.rating")
    found = _first_file(folder / name for folder in folders for name in names)
    file = found or Path(download(HELD_OUT, "load_movielens"))
    return np.loadtxt(_published(file, HELD_OUT).splitlines(), dtype=np.int64, usecols=1)


def _published(file, name):
    """The content of a file, which must be the published one, also with line ends of Windows."""
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        allowed = f"{file} must be an intact gzip file"
        raise InputError("", allowed).got(f"a damaged one: {error}") from error
    content = content.replace(b"\r\n", b"\n")
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if checksum != CHECKSUMS[name]:
        allowed = f"{file} must be the published {name} with the checksum {CHECKSUMS[name]}"
        raise InputError("", allowed).got(f"a file with {checksum}")
    return content
