"""What runs of training measure before they begin, made short."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blueprint.climbing.big2_inputs import Big2Inputs
from blueprint.climbing.doudizhu_inputs import DouDizhuInputs
from tests.patience import amount


@pytest.fixture(scope="module", autouse=True)
def few_rounds_at_stake() -> Iterator[None]:
    """Measure what is at stake, as every run does when it begins, on fewer random rounds."""
    with pytest.MonkeyPatch.context() as patch:
        for inputs in (DouDizhuInputs, Big2Inputs):
            patch.setattr(inputs, "trial_rounds", amount(4096, 256))
        yield
