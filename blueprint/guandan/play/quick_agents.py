"""GuanDan's agents that answer without search, by name: the rules, the shipped network and any checkpoint.

Those that search, and users' own, are in `gs2.guandan.agent_families`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blueprint.agent_name import NETWORK, SUFFIX, AgentName, NamedAgent, no_agent, parse_name
from blueprint.guandan import SHIPPED
from blueprint.guandan.play.network_play import NetworkPlay, network_agent
from blueprint.guandan.rules.split_agents import MinCombinationAgent, PersonalityAgent, StrongAgent
from blueprint.protocol import Agent, Decisions, UnknownAgent
from games.guandan.cards import PASS
from games.guandan.combos import BOMB_CLASS, combo_strength
from games.guandan.rounds.state import LEVEL
from games.round_rows import views
from games.support.array_types import Bytes, Ints
from games.support.kernel import kernel
from games.support.spec import field_types, read_settings


class RandomAgent:
    """Plays any legal move with equal probability."""

    name = "random"

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        counts = np.diff(decisions.offsets)
        drawn = (self.rng.random(len(counts)) * counts).astype(np.int64)
        found: NDArray[np.int64] = np.minimum(drawn, counts - 1)
        return found


@kernel(nogil=True)
def _greedy(bytes_: Bytes, rows: Ints, offsets: Ints, moves: Ints, choice: Ints) -> None:
    for j in range(len(rows)):
        level = np.int64(bytes_[rows[j], LEVEL])
        best, best_score = offsets[j], np.int64(1) << 60
        for k in range(offsets[j], offsets[j + 1]):
            kind, rank, size = moves[k, 0] & 255, moves[k, 0] >> 8 & 255, moves[k, 0] >> 16 & 255
            if kind == PASS:
                continue
            strength = combo_strength(kind, rank, size, level)
            bomb = max(0, (strength >> 8) - BOMB_CLASS + 1)
            # any type before bombs, low before high, many cards before few
            score = bomb << 20 | (strength & 255) << 8 | 16 - size
            if score < best_score:
                best, best_score = k, score
        choice[j] = best - offsets[j]


class GreedyAgent:
    """Plays the smallest move it can: weakest first, more cards among equals, bombs last; never passes."""

    name = "greedy"

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return one action per decision, as an index within its row."""
        choice = np.empty(len(decisions), np.int64)
        moves = decisions.actions.view(np.int64).reshape(-1, 3)
        _greedy(views(decisions.states)[1], decisions.rows, decisions.offsets, moves, choice)
        return choice


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
