"""Variants of the GuanDan agent, each with a part changed or left out."""

from __future__ import annotations

from gs2.guandan.agent.agent_presets import PRESETS, agent_preset
from gs2.guandan.agent.guandan_config import GuanDanConfig

__all__ = ["VARIANTS"]


def _variants() -> dict[str, GuanDanConfig]:
    """Return every variant by name; none is held to a deadline, so that only the work it may do counts."""
    rollouts = agent_preset("rollout").replace(endgame=0)
    styles = agent_preset("standard").replace(endgame=0)
    subgame = agent_preset("paper").replace(leaf="value", room=300)
    found = {name: PRESETS[name] for name in PRESETS if name != "blueprint"}
    found |= {
        f"{name} uniform deals": PRESETS[name].replace(belief=0.0, reach=0.0) for name in ("fast", "standard")
    }
    found |= {
        "rollouts": rollouts,
        "rollouts depth 0": rollouts.replace(depth=0),
        "rollouts depth 2": rollouts.replace(depth=2),
        "rollouts depth 4": rollouts.replace(depth=4),
        "rollouts depth 16": rollouts.replace(depth=16),
        "rollouts to the end": rollouts.replace(depth=None),
        "rollouts one world": rollouts.replace(worlds=1, wave=1),
        "rollouts 8 worlds": rollouts.replace(worlds=8, wave=8),
        "rollouts 128 worlds": rollouts.replace(worlds=128),
        "rollouts uniform deals": rollouts.replace(belief=0.0, reach=0.0),
        "rollouts belief alone": rollouts.replace(reach=0.0),
        "rollouts trust 0.05": rollouts.replace(trust=0.05),
        "rollouts trust 0.2": rollouts.replace(trust=0.2),
        "rollouts without anchor": rollouts.replace(trust=100.0),
        "styles": styles,
        "styles own": styles.replace(ours="blueprint+contest"),
        "styles many": styles.replace(theirs="blueprint+contest+yield+bomb"),
        "styles in buckets": styles.replace(buckets=4),
        "styles free": styles.replace(opponent_price=0.0),
        "subgame": subgame,
        "subgame random": subgame.replace(generator="random"),
        "subgame clusters": subgame.replace(generator="clusters"),
        "subgame k=1": subgame.replace(k=1),
        "subgame k=3": subgame.replace(k=3),
        "subgame k=30": subgame.replace(k=30),
        "subgame depth 4": subgame.replace(subgame_depth=4, crowd_depth=4),
        "subgame unsafe": subgame.replace(gadget="unsafe"),
        "subgame entry floor": subgame.replace(entry_floor=0.1),
        "subgame equal deals": subgame.replace(reach=0.0),
        "subgame beliefs": subgame.replace(belief=1.0),
        "subgame candidates": subgame.replace(gap=0.25, candidates=3),
        "subgame anchored": subgame.replace(anchor=0.5, temperature=0.06),
        "subgame roll-outs": subgame.replace(leaf="rollout"),
    }
    return {name: config.replace(deadline=3600.0) for name, config in found.items()}


VARIANTS = _variants()
