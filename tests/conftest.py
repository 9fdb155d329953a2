"""Fixtures that several test modules share."""

import os
from pathlib import Path

import browser
import hypothesis
import numpy as np
import pytest

from recsample.datasets import Interactions

# The same examples in every run: a failure is then one of the change, not of the day.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.load_profile("repeatable")

ML_1M = Path(__file__).parents[2] / "shared/data/ml-1m"


@pytest.fixture(scope="session")
def ml_1m():
    """The folder with the real MovieLens-1M data, which is not part of the project."""
    if not (ML_1M / "user_movie_pairs.npz").is_file():
        pytest.skip(f"the real MovieLens-1M data is not at {ML_1M}")
    return ML_1M


@pytest.fixture(scope="session")
def movielens(ml_1m):
    """MovieLens-1M with the paper's split, put together without `load_movielens`."""
    with np.load(ml_1m / "user_movie_pairs.npz") as pairs:
        users, movies = pairs["user_id"].tolist(), pairs["movie_id"].tolist()
    index = {movie: i for i, movie in enumerate(dict.fromkeys(movies))}
    held_out = np.loadtxt(ml_1m / "ncf.test.rating", dtype=int)[:, 1]
    return Interactions.from_pairs(
        np.array(users) - 1, np.array([index[movie] for movie in movies]), held_out
    )


@pytest.fixture(scope="module")  # not longer: beside Playwright's event loop nbval's cannot run
def chromium():
    """A headless browser. To be without one is a failure where REQUIRE_BROWSER is set, as in CI."""
    if browser.find() is None:
        (pytest.fail if os.environ.get("REQUIRE_BROWSER") else pytest.skip)(browser.ABSENT)
    with browser.launch(browser.find()) as running:
        yield running
