"""GuanDan's agents that answer without search, by name: the rules, the shipped network and any checkpoint.

Each family knows its names, how to load them and what tells one version from the next. Those that search, and
users' own, are in `gs2.guandan.agent_families`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from blueprint.agent_name import NETWORK, AgentFamily, AgentName, family_of, parse_name
from blueprint.guandan import SHIPPED
from blueprint.guandan.chooser import Chooser
from blueprint.guandan.play.choosers import RULE_AGENTS
from blueprint.guandan.play.network_play import NetworkPlay, network_agent
from blueprint.protocol import UnknownAgent
from games.support.spec import field_types, read_settings

__all__ = ["MANY", "QUICK", "GuanDanAgents", "check_file", "digest", "load_chooser", "network_path"]

MANY = 512
"""Deals played in lockstep by an agent that answers at once."""


class GuanDanAgents(AgentFamily, Protocol):
    """Agents that are named, loaded and told apart in one way."""

    def check(self, spec: AgentName) -> None:
        """Raise what loading the agent would raise at its name; nothing large is loaded."""
        ...

    def load(self, spec: AgentName, rng: np.random.Generator) -> Chooser:
        """Return a new agent; one that draws draws from `rng`."""
        ...

    def fingerprint(self, spec: AgentName) -> str:
        """Return what changes when the agent does; `check` was called before."""
        ...

    def deals_at_once(self, spec: AgentName) -> int:
        """Return how many deals the agent should play in lockstep."""
        ...


class _RuleAgents:
    """Agents that follow a rule, told by their names alone."""

    names: Sequence[str] = tuple(RULE_AGENTS)

    def takes(self, spec: AgentName) -> bool:
        return spec.text in RULE_AGENTS

    def check(self, spec: AgentName) -> None:
        pass

    def load(self, spec: AgentName, rng: np.random.Generator) -> Chooser:
        return RULE_AGENTS[spec.text](rng)

    def fingerprint(self, spec: AgentName) -> str:
        return spec.text

    def deals_at_once(self, spec: AgentName) -> int:
        return MANY


class _NetworkAgents:
    """`blueprint` and checkpoints: a network's best move; `blueprint:objective=levels,tribute=value@PATH`."""

    names: Sequence[str] = ("blueprint",)

    def takes(self, spec: AgentName) -> bool:
        if spec.name == spec.text:
            return spec.name in ("blueprint", NETWORK) or str(spec.file).endswith(".safetensors")
        configured = spec.file is not None or any("=" in setting for setting in spec.settings)
        return spec.name == "blueprint" or (spec.name == NETWORK and configured)

    def check(self, spec: AgentName) -> None:
        self._play(spec)
        check_file(spec)

    def load(self, spec: AgentName, rng: np.random.Generator) -> Chooser:
        return network_agent(network_path(spec), self._play(spec), rng)

    def fingerprint(self, spec: AgentName) -> str:
        play = self._play(spec)
        told = (json.dumps(play.told()).encode(),) if play != NetworkPlay() else ()
        return digest(network_path(spec).read_bytes(), *told)

    def deals_at_once(self, spec: AgentName) -> int:
        return MANY

    def _play(self, spec: AgentName) -> NetworkPlay:
        """Return how the network is to play, by the settings in its name."""
        read = read_settings(spec.settings, field_types(NetworkPlay), label=f"agent {spec.name}")
        return NetworkPlay(**read)


QUICK: tuple[GuanDanAgents, ...] = (_RuleAgents(), _NetworkAgents())
"""The families of agents that answer at once."""


def load_chooser(name: str, rng: np.random.Generator) -> Chooser:
    """Return the agent of a name, which answers a batch of decisions with one action each.

    rng: what an agent that draws draws from.
    Raises UnknownAgent with near matches if no family takes the name, ConfigError for a field or value that
    does not exist, CheckpointError if a checkpoint cannot be used.
    """
    spec = parse_name(name)
    family = family_of("guandan", QUICK, spec)
    family.check(spec)
    return family.load(spec, rng)


def check_file(spec: AgentName) -> None:
    """Raise UnknownAgent where the file of a name does not exist."""
    path = spec.file
    if path is not None and not path.is_file():
        raise UnknownAgent(
            f"agent {spec.text!r}: file {str(path)!r} does not exist; give a checkpoint that exists"
        )


def network_path(spec: AgentName) -> Path:
    """Return the file of an agent's network."""
    path = spec.file or SHIPPED
    if not path.is_file():
        raise UnknownAgent(f"agent {spec.text!r}: this installation contains no network; name a checkpoint")
    return path


def digest(*parts: bytes) -> str:
    """Return what tells such bytes from others, 16 hexadecimal digits."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]
