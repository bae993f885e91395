"""How long a test waits for an event: so long that only one that never comes takes it."""

import os

from hypothesis import HealthCheck

PATIENCE = 300.0
"""Seconds. Kernels may have to be compiled first, beside other tests, on a busy machine."""
LIMITED = "GS2_TEST_SECONDS"
LIMIT = float(os.environ.get(LIMITED, "600"))
"""Seconds that a test may take in all, without --long: the slowest takes a twentieth of them."""
LONG = "GS2_LONG_TESTS"
"""The variable that is set where long tests run."""
HURRY = (HealthCheck.too_slow,)
"""What Hypothesis does not look for: examples that a busy machine makes slowly."""
SHARED = (*HURRY, HealthCheck.function_scoped_fixture)
"""The same where all examples share what a test is given."""


def amount(many: int, few: int | None = None) -> int:
    """Return how many cases a test tries: `many` with --long, otherwise `few`, by default a sixth or 5."""
    if LONG in os.environ:
        return many
    return max(min(many, 5), many // 6) if few is None else few
