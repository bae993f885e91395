"""Every GuanDan agent by name: rule agents, the blueprint, any checkpoint, and search on top of either."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.checkpoint import SHIPPED
from blueprint.guandan.chooser import Chooser
from blueprint.guandan.play.choosers import AGENTS, RULE_AGENTS, UnknownAgent, load_chooser
from games.support.near import near

if TYPE_CHECKING:
    from gs2.guandan.agent.guandan_config import GuanDanConfig

__all__ = [
    "AGENT_NAMES",
    "RULE_AGENTS",
    "NamedAgents",
    "UnknownAgent",
    "check_agent",
    "deals_at_once",
    "fingerprint",
    "is_batched",
    "load_batched_agent",
]

AGENT_NAMES = (*AGENTS, "gs2", "gs2-fast", "gs2-deep", "gs2-paper")
"""The names that stand for themselves; a checkpoint is named by its path."""


def load_batched_agent(name: str, rng: np.random.Generator | None = None) -> Chooser:
    """Return the agent called `name`, which chooses for any batch of decisions.

    name: a rule agent (`random`, `greedy`, `mincomb`, `aggressive`, `conservative`, `balanced`, `strong`);
        `blueprint`, the shipped network's best move; the path of a checkpoint, its best move; `gs2` or
        `gs2-PRESET`, search on top of the shipped network, and `gs2@PATH` or `gs2-PRESET@PATH` on another.
        Fields of the configuration follow a colon: `gs2-fast:worlds=64,deadline=60@PATH`.
    rng: what an agent that draws draws from; without it, from the operating system's entropy.
    Raises UnknownAgent with near matches if there is none, ConfigError for a field or value that does not
    exist, CheckpointError if a checkpoint cannot be used.
    """
    check_agent(name)
    rng = np.random.default_rng() if rng is None else rng
    head, path = _parts(name)
    if head is None:
        return load_chooser(name, rng)
    from gs2.guandan.agent.agent import make_agent

    return make_agent(path, _config(head), rng)


def is_batched(name: str) -> bool:
    """Return whether the agent gains from deciding for many rounds together; a searching one does not."""
    return _parts(name)[0] is None


def deals_at_once(name: str) -> int:
    """Return how many deals of a match the agent should play in lockstep.

    Hundreds for one that answers at once. A searching agent runs the rollouts of several decisions together,
    but one piece of work must end in minutes, and the agent remembers `REMEMBERED` seats of rounds.
    """
    head = _parts(name)[0]
    if head is None:
        return 512
    from gs2.guandan.agent.agent_presets import agent_preset

    return max(1, min(16, int(4 / agent_preset(head.partition(":")[0]).deadline)))


def check_agent(name: str) -> None:
    """Check a name without loading what it names.

    Raises UnknownAgent with near matches if no agent has the name, or its checkpoint's file does not exist;
    ConfigError for a field of a search configuration, or its value, that does not exist.
    """
    if name in RULE_AGENTS:
        return
    head, path = _parts(name)
    if head is not None:
        _config(head)
    if head is None and path is not None and path.suffix != ".safetensors":
        hint = near(name.lower(), AGENT_NAMES, f"one of {', '.join(AGENT_NAMES)}")
        raise UnknownAgent(f"there is no agent {name!r}; {hint}, or the path of a .safetensors checkpoint")
    if path is not None and not path.is_file():
        raise UnknownAgent(f"agent {name!r}: there is no file {str(path)!r}; give a checkpoint that exists")


def fingerprint(name: str) -> str:
    """Return what tells the agent of today from one of the same name tomorrow.

    A hash of its checkpoint, and for a searching agent of its configuration and beliefs; a rule agent is told
    by its name alone. Raises what `check_agent` raises.
    """
    check_agent(name)
    if name in RULE_AGENTS:
        return name
    head, path = _parts(name)
    path = path or SHIPPED
    if not path.is_file():
        raise UnknownAgent(f"agent {name!r}: no network comes with this installation; name a checkpoint")
    digest = hashlib.sha256(path.read_bytes())
    if head is not None:
        from gs2.guandan.beliefs.belief_network import DEFAULT

        digest.update(json.dumps(_config(head).to_json(), sort_keys=True).encode())
        digest.update(DEFAULT.read_bytes() if DEFAULT.is_file() else b"")
    return digest.hexdigest()[:16]


class NamedAgents:
    """The agents of this module as a source for an `Arena`; it travels to other processes."""

    def load(self, name: str, rng: np.random.Generator) -> Chooser:
        """Return `load_batched_agent(name, rng)`."""
        return load_batched_agent(name, rng)

    def fingerprint(self, name: str) -> str:
        """Return `fingerprint(name)`."""
        return fingerprint(name)

    def deals_at_once(self, name: str) -> int:
        """Return `deals_at_once(name)`."""
        return deals_at_once(name)


def _parts(name: str) -> tuple[str | None, Path | None]:
    """Return the search preset with its changes, None without search, and the checkpoint, None if shipped."""
    head, at, path = name.partition("@")
    if re.match(r"gs2\b", head):
        preset, colon, changes = head.partition(":")
        preset = preset.removeprefix("gs2").removeprefix("-") or "standard"
        return f"{preset}{colon}{changes}", Path(path) if at else None
    return None, None if name in (*RULE_AGENTS, "blueprint") else Path(name)


def _config(head: str) -> GuanDanConfig:
    """Return the configuration that `PRESET` or `PRESET:FIELD=VALUE,…` names."""
    from gs2.guandan.agent.agent_presets import PRESETS

    name, _, words = head.partition(":")
    if name not in PRESETS:
        raise UnknownAgent(f"agent gs2-{name}: the preset must be one of {', '.join(PRESETS)}; got {name!r}")
    changes: dict[str, Any] = {}
    for word in filter(None, words.split(",")):
        field, _, text = word.partition("=")
        try:
            changes[field] = json.loads(text)
        except json.JSONDecodeError:
            changes[field] = None if text == "none" else text
    return PRESETS[name].replace(**changes)
