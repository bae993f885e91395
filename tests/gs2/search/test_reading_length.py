"""How much of gs2 a reader meets who follows one search: the files that it enters, and their lines."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from games.support.kernel.lazy import LazyKernel
from gs2.search.config.presets import preset
from gs2.search.explain import solve_infoset
from tests.gs2.search.setting import LEDUC, blueprint, context

ROOT = Path(__file__).parents[3]
MOST_FILES, MOST_LINES = 18, 5843
"""Of one `gs2+` search in Leduc poker; they only fall."""
WARM = 6
"""Searches after which every kernel is there: what compiles them is no part of a search."""


def test_a_search_is_followed_through_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LazyKernel, "patience", 0.0)  # else one may be compiled while the search is followed
    there, policy = context(LEDUC), blueprint(LEDUC, 30)
    infoset = there.game.parse_infoset("P1 holds Ks | raise")
    asked = there, policy, infoset, preset("gs2+")
    for _ in range(WARM):
        solve_infoset(*asked, np.random.default_rng(0))
    entered: set[str] = set()

    def enter(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            entered.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        solve_infoset(*asked, np.random.default_rng(0))
    finally:
        sys.setprofile(before)
    files = [path for path in map(Path, entered) if path.is_relative_to(ROOT) and "tests" not in path.parts]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert len(files) <= MOST_FILES and lines <= MOST_LINES, (len(files), lines, sorted(files))
