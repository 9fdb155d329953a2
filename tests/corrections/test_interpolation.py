"""A smooth function at many whole numbers from few of its values, against all of its values."""

import numpy as np
import pytest

from recsample.corrections.interpolation import at_all

RNG = np.random.default_rng(0)
SETS = {
    "all from a range": np.arange(500, 3000),
    "spread out": np.unique(RNG.integers(1000, 10**6, 4000)),
    "two far apart": np.append(np.arange(1000, 1500), np.arange(900_000, 900_500)),
    "few": np.array([3, 7, 8, 1000]),
    "logs that are equal": np.append([1000], 10**15 + np.arange(200)),
    "one": np.array([41]),
}


def asked(function, numbers):
    """The values, and for which numbers the function was asked."""
    seen = []

    def watched(n):
        seen.append(n)
        return function(n)

    return at_all(watched, numbers), seen


def smooth(n):
    return np.array([[1 / n, np.log(n)], [n / (n + 300.0), 1 / np.log(n + 5)]])


@pytest.mark.parametrize("name", SETS)
def test_a_smooth_function_is_met_from_few_of_its_values(name):
    numbers, most = SETS[name], 201 if name == "logs that are equal" else None
    values, seen = asked(smooth, numbers)
    expected = np.array([smooth(n) for n in numbers])
    assert values.shape == expected.shape
    assert np.abs(values - expected).max() < 1e-9 * np.abs(expected).max()
    assert len(seen) == len(set(seen)) <= min(len(numbers), 40 if most is None else most)
    assert set(seen) <= set(numbers)


def with_kink(n):
    return np.array([abs(np.log(n / 1234.5)), 1 / n])


def with_jump(n):
    return np.array([float(n > 1234), 1 / n])


def test_kinks_and_jumps_are_solved_one_by_one_and_only_they():
    numbers = SETS["all from a range"]
    for rough in (with_kink, with_jump):
        values, seen = asked(rough, numbers)
        np.testing.assert_allclose(values, [rough(n) for n in numbers], atol=1e-9)
        assert {1234, 1235} <= set(seen) and 40 < len(seen) == len(set(seen)) < 400


def test_noise_is_left_as_it_is():
    noise = RNG.random(3000)
    values, seen = asked(lambda n: noise[n : n + 1], np.arange(1, 200))
    assert (values[:, 0] == noise[1:200]).all() and sorted(seen) == list(range(1, 200))


def test_zero_is_met():
    assert not at_all(lambda n: np.zeros(3), np.arange(1, 100)).any()


def test_numbers_whose_logs_are_equal_may_differ_in_their_values():
    numbers = 10**15 + np.arange(100)
    values, seen = asked(lambda n: np.array([n % 7.0]), numbers)
    assert (values[:, 0] == numbers % 7).all() and len(seen) == 100


def scripted(errors, numbers):
    """A function off by so much from the polynomial through what it said before; then noise.

    Which numbers are asked for does not depend on the values, so it is known what is checked.
    """
    said = {}

    def function(n):
        at, value = np.log(n), RNG.random()
        if len(said) < len(errors):
            places = np.log([*said])
            others = [np.delete(places, i) for i in range(len(said))]
            shares = [np.prod((at - far) / (x - far)) for x, far in zip(places, others)]
            value = np.dot(shares, [*said.values()]) + errors[len(said)]
        return np.array([said.setdefault(n, value)])

    return *asked(function, numbers), said


@pytest.mark.parametrize(
    ("errors", "enough"),
    [
        ([1e10, 0.9, 0.9, 0.9], True),
        ([1e10, 1.1, 1.1, 1.1], False),  # the tolerance, 1e-10 of the largest value
        ([1e10, 0.9, 0.9, 2, 0.9], False),  # three in all, and not in a row
        ([1e10, 0.9, 0.9, -1.1, 0.9, 0.9, -1.1], False),
    ],
)
def test_three_in_a_row_must_be_met_to_the_tolerance(errors, enough):
    numbers = np.unique(np.geomspace(1000, 10**6, 30).astype(int))
    values, seen, said = scripted([1e-10 * error for error in errors], numbers)
    assert len(seen) == (4 if enough else len(numbers))
    if not enough:
        assert values[:, 0].tolist() == [said[n] for n in numbers]
