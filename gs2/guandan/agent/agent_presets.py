"""Named configurations of the GuanDan agent."""

from __future__ import annotations

from games.support.configuration import ConfigError
from gs2.guandan.agent.guandan_config import GuanDanConfig

__all__ = ["PRESETS", "agent_preset"]

PRESETS: dict[str, GuanDanConfig] = {
    "fast": GuanDanConfig(
        name="fast", deadline=0.05, candidates=2, gap=0.2, worlds=18, depth=6, confidence=0.7, endgame=20_000
    ),
    "standard": GuanDanConfig(name="standard"),
    "deep": GuanDanConfig(
        name="deep",
        deadline=3.0,
        candidates=6,
        gap=0.4,
        worlds=256,
        wave=16,
        depth=16,
        confidence=2.0,
        endgame=2_000_000,
    ),
    "paper": GuanDanConfig(
        name="paper",
        method="subgame",
        deadline=3.0,
        belief=0.0,
        candidates=64,
        gap=100.0,
        per_type=2,
        endgame=0,
    ),
    "blueprint": GuanDanConfig(name="blueprint", method="none"),
}


def agent_preset(name: str) -> GuanDanConfig:
    """Return the configuration called `name`.

    Raises ConfigError that lists the names if there is none.
    """
    if name not in PRESETS:
        raise ConfigError(f"GuanDan preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]
