"""GuanDan's agents by name: those that answer at once, searches, and users' own."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.agent_name import AgentName, NamedAgent, made_agent, named_object, no_agent, source_of
from blueprint.checkpoint import read_checkpoint
from blueprint.guandan.play.quick_agents import QUICK_NAMES, check_file, digest, network_path, quick_agent
from blueprint.protocol import Agent, AgentFault, UnknownAgent, agent_of
from gs2.play.agent_names import parse_agent

if TYPE_CHECKING:
    from gs2.guandan.agent.guandan_config import GuanDanConfig

SEARCHING = re.compile(r"gs2(-(?P<preset>.*))?|(?P<rollout>rollout(-.*)?)", re.S)
NAMES = (
    *QUICK_NAMES,
    *("gs2", "gs2-fast", "gs2-deep", "gs2-paper", "rollout", "rollout-fast", "rollout-deep"),
)
SOME = 16
"""Deals played in lockstep by an agent that may take its time."""


def guandan_agent(text: str) -> NamedAgent:
    """Return the agent called so, before it is loaded.

    text: a rule agent (`random` … `strong`); `blueprint`, the shipped network's best move
        (`blueprint:objective=levels,tribute=value@PATH`, see `NetworkPlay`); the path of a checkpoint, its
        best move; `gs2`, `gs2-fast`, `gs2-deep`, which solve the subgame of a decision on top of the network,
        `rollout…`, which compare moves by rollouts alone, and `gs2-paper`, each with settings and @PATH; a
        user's own, whose file runs.
    Raises UnknownAgent with near matches if no agent has the name, or its file does not exist or cannot be
    loaded; ConfigError for a field or value that does not exist.
    """
    name = parse_agent(text)
    found = None
    if name.search is None:
        found = quick_agent(name) or _searching_agent(name) or _own_agent(name)
    if found is None:
        raise no_agent("guandan", name, NAMES)
    return found


def check_agent(text: str) -> None:
    """Check a name as `guandan_agent` does, and the file of its network, before anything is made.

    Raises UnknownAgent also for a network of another game, CheckpointError for a damaged one.
    """
    guandan_agent(text)
    file = parse_agent(text).file
    if file is not None:
        trained = str(read_checkpoint(file)[1].get("game", "guandan"))
        if trained.partition("(")[0] != "guandan":
            raise UnknownAgent(f"agent {text!r}: its network must play GuanDan; it plays {trained}")


def _searching_agent(name: AgentName) -> NamedAgent | None:
    """Return search on top of a network: `gs2`, `gs2-PRESET`, `rollout`, `rollout-fast`, `rollout-deep`.

    It plays a few deals in lockstep: its rollouts of several decisions run together, but one piece of work
    must end in minutes, and it remembers `REMEMBERED` seats of rounds (`solving.deal_source`).
    """
    words = None if name.own else SEARCHING.fullmatch(name.name)
    if words is None:
        return None
    from gs2.guandan.agent.guandan_config import PRESETS
    from gs2.parts import configured

    preset = words["preset"] or words["rollout"] or "standard"
    if preset not in PRESETS:
        raise UnknownAgent(
            f"agent {name.name}: the preset must be one of {', '.join(PRESETS)}; got {preset!r}"
        )
    config = configured(PRESETS[preset], name.settings, label=f"agent {name.name}")
    check_file(name)

    def load(rng: np.random.Generator) -> Agent:
        from gs2.guandan.agent.agent import make_agent

        return make_agent(name.file, config, rng)

    def fingerprint() -> str:
        from gs2.guandan.agent.deals.dealing import network_files

        told = json.dumps(_as_written(name, config), sort_keys=True).encode()
        network, quick, *beliefs = network_files(network_path(name))
        beside = [path.read_bytes() for path in (*beliefs, quick) if path.is_file()]
        return digest(network.read_bytes(), told, *beside)

    return NamedAgent(load, fingerprint, max(1, min(SOME, int(4 / PRESETS[preset].deadline))))


def _own_agent(name: AgentName) -> NamedAgent | None:
    """Return anybody's agent: FILE.py:NAME, MODULE:NAME, or an entry point of an installed package.

    An agent, or a class or function that makes one: for a seat, with `act(observation) -> index`
    (`gs2.guandan.table`), or of `blueprint.protocol`.
    """
    if not name.own:
        return None
    found = named_object(name.text)
    if not callable(found) and not callable(getattr(found, "act", None)):
        raise UnknownAgent(f"agent {name.text!r} must be a class or function; got {type(found).__name__}")

    def load(rng: np.random.Generator) -> Agent:
        from gs2.guandan.table.seat import Seats

        made = made_agent(name.text)
        if callable(getattr(made, "act", None)):
            return Seats(partial(made_agent, name.text), made, name=name.text)
        try:
            return agent_of(made)
        except AgentFault:
            raise UnknownAgent(
                f"agent {name.text!r}: it must have act(observation) -> index, or be called with Decisions; "
                f"{type(made).__name__} has no method act"
            ) from None

    def fingerprint() -> str:
        source = source_of(name.text)
        if source is None or not source.is_file():
            raise UnknownAgent(f"agent {name.text!r} must come from a file of Python; got {source}")
        return digest(name.text.encode(), source.read_bytes())

    return NamedAgent(load, fingerprint, SOME)


def _as_written(name: AgentName, config: GuanDanConfig) -> dict[str, Any]:
    """Return the configuration's fields, numbers as the name writes them.

    Result files know an agent by a hash of them, in which 60 and 60.0 differ.
    """
    fields = config.to_json()
    for setting in name.settings:
        field, _, words = (part.strip() for part in setting.partition("="))
        with suppress(ValueError):
            written = json.loads(words)
            if written == fields[field]:
                fields[field] = written
    return fields
