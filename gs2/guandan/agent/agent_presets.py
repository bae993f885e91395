"""Named configurations of the GuanDan agent."""

from __future__ import annotations

from games.support.configuration import ConfigError
from gs2.guandan.agent.guandan_config import GuanDanConfig

__all__ = ["PRESETS", "agent_preset"]

_ROLLOUT = GuanDanConfig.of(name="rollout")
_FAST = _ROLLOUT.replace(
    name="rollout-fast",
    deadline=0.05,
    candidates=3,
    gap=0.25,
    worlds=40,
    wave=10,
    depth=8,
    pool=64,
    endgame=20_000,
    open_cards=16,
)
_DEEP = _ROLLOUT.replace(
    name="rollout-deep",
    deadline=3.0,
    candidates=8,
    gap=0.5,
    worlds=2048,
    wave=64,
    depth=16,
    confidence=1.5,
    pool=4096,
    endgame=2_000_000,
    open_cards=22,
)

PRESETS: dict[str, GuanDanConfig] = {
    config.name: config
    for config in (
        _ROLLOUT.replace(name="standard", method="subgame"),
        _FAST.replace(name="fast", method="subgame"),
        _DEEP.replace(name="deep", method="subgame"),
        _ROLLOUT,
        _FAST,
        _DEEP,
        GuanDanConfig.of(
            name="paper",
            method="subgame",
            leaf="rollout",
            deadline=3.0,
            belief=0.0,
            greedy=True,
            temperature=0.06,
            playing="blueprint",
            candidates=64,
            gap=100.0,
            per_type=2,
            endgame=0,
        ),
        GuanDanConfig.of(name="blueprint", method="none"),
    )
}


def agent_preset(name: str) -> GuanDanConfig:
    """Return the configuration called `name`.

    Raises ConfigError that lists the names if there is none.
    """
    if name not in PRESETS:
        raise ConfigError(f"GuanDan preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]
