"""Parameters of tests that repeat what others try once."""

import pytest


def thorough(*values):
    """A parameter that `make test` leaves to `make tools`."""
    return pytest.param(*values, marks=pytest.mark.thorough)
