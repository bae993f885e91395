"""GuanDan's agents that answer without search, by name: the rules, the shipped network and any checkpoint.

Those that search, and users' own, are in `gs2.guandan.agent_families`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from blueprint.agent_name import NETWORK, SUFFIX, AgentName, NamedAgent, no_agent, parse_name
from blueprint.guandan import SHIPPED
from blueprint.guandan.play.network_play import NetworkPlay, network_agent
from blueprint.guandan.rules.rule_agents import GreedyAgent, RandomAgent
from blueprint.guandan.rules.split_agents import MinCombinationAgent, PersonalityAgent, StrongAgent
from blueprint.protocol import Agent, UnknownAgent
from games.support.spec import field_types, read_settings

RULE_AGENTS: dict[str, Callable[[np.random.Generator], Agent]] = {
    "random": RandomAgent,
    "greedy": lambda rng: GreedyAgent(),
    "mincomb": lambda rng: MinCombinationAgent(),
    "aggressive": lambda rng: PersonalityAgent("aggressive"),
    "conservative": lambda rng: PersonalityAgent("conservative"),
    "balanced": lambda rng: PersonalityAgent("balanced"),
    "strong": lambda rng: StrongAgent(),
    "uniform": RandomAgent,  # as in every other game
}
"""Makes each rule agent; what an agent that draws draws from is given, and only random play draws."""
QUICK_NAMES = (*RULE_AGENTS, "blueprint")


def quick_agent(name: AgentName) -> NamedAgent | None:
    """Return the agent of a name that answers at once; None for any other.

    A rule, by its name alone; or a network's best move: `blueprint:objective=levels,tribute=value@PATH`, or a
    checkpoint. Raises UnknownAgent for a file that does not exist, ConfigError for a field or value that does
    not.
    """
    rule = RULE_AGENTS.get(name.text)
    if rule is not None:
        return NamedAgent(rule, lambda: name.text)
    if name.name == name.text:
        known = name.name in ("blueprint", NETWORK) or str(name.file).endswith(SUFFIX)
    else:
        configured = name.file is not None or any("=" in setting for setting in name.settings)
        known = name.name == "blueprint" or (name.name == NETWORK and configured)
    if not known:
        return None
    play = NetworkPlay(**read_settings(name.settings, field_types(NetworkPlay), label=f"agent {name.name}"))
    check_file(name)
    told = (json.dumps(play.told()).encode(),) if play != NetworkPlay() else ()
    return NamedAgent(
        lambda rng: network_agent(network_path(name), play, rng),
        lambda: digest(network_path(name).read_bytes(), *told),
    )


def load_quick_agent(name: str, rng: np.random.Generator) -> Agent:
    """Return the agent of a name that answers at once.

    rng: what an agent that draws draws from.
    Raises UnknownAgent with near matches if there is none, ConfigError for a field or value that does not
    exist, CheckpointError if a checkpoint cannot be used.
    """
    parsed = parse_name(name)
    found = quick_agent(parsed)
    if found is None:
        raise no_agent("guandan", parsed, QUICK_NAMES)
    return found.load(rng)


def check_file(name: AgentName) -> None:
    """Raise UnknownAgent where the file of a name does not exist."""
    path = name.file
    if path is not None and not path.is_file():
        raise UnknownAgent(
            f"agent {name.text!r}: file {str(path)!r} does not exist; give a checkpoint that exists"
        )


def network_path(name: AgentName) -> Path:
    """Return the file of an agent's network."""
    path = name.file or SHIPPED
    if not path.is_file():
        raise UnknownAgent(f"agent {name.text!r}: this installation contains no network; name a checkpoint")
    return path


def digest(*parts: bytes) -> str:
    """Return what tells such bytes from others, 16 hexadecimal digits."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]
