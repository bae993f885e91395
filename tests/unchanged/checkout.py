"""Which checkout's code runs, and the searching agents, with small limits, that are asked in each."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROLLOUT = (
    "rollout:candidates=3,gap=0.25,worlds=12,wave=4,depth=4,pool=256,endgame=20000,deadline=3600,"
    "playing=blueprint"
)
"""The rollout search with few deals; its deadline is never reached."""
PAPER = "gs2-paper:k=3,sample=48,iterations=30,subgame_depth=4,crowd_depth=4,room=300,deadline=3600"
"""The published method with small limits."""


def use_checkout(root: Path) -> None:
    """Let the packages of the project come from the checkout `root`; call it before any is imported."""
    sys.path.insert(0, str(root.resolve()))
    importlib.invalidate_caches()
