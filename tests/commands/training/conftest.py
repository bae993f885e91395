"""What runs of training measure before they begin, made short."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.patience import amount


@pytest.fixture(scope="module", autouse=True)
def few_rounds_at_stake() -> Iterator[None]:
    """Measure what is at stake, as every run does when it begins, on fewer random rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blueprint.climbing.training.move_trainer.STAKE_ROUNDS", amount(4096, 256))
        yield
