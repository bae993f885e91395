"""Recorded decisions of agents on GuanDan: every choice of seeded rounds, asked for again.

A group is some rounds between two agents, played in lockstep. Recorded is the index of the move chosen at
every decision with a choice, in the order of play. A check follows the recorded moves, so that one other
decision does not change the questions that come after it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from blueprint.guandan.play.deals import deal_rounds
from blueprint.protocol import Decisions
from games.guandan.notation import action_text
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import advance
from gs2.guandan.agent_families import guandan_agent
from tests.unchanged.checkout import PAPER, ROLLOUT


@dataclass(frozen=True)
class Group:
    """Rounds between two agents.

    sides: agents of seats 0 and 2, and of 1 and 3. rounds: how many, half of them after tribute. seed: of the
    deals and of all that the agents draw. quick: whether the group belongs to the quick check.
    """

    name: str
    sides: tuple[str, str]
    rounds: int
    seed: int
    quick: bool = False


GROUPS = (
    Group("quick blueprint and strong", ("blueprint", "strong"), 4, 101, True),
    Group("quick mincomb and balanced", ("mincomb", "balanced"), 3, 102, True),
    Group("quick rollout and random", (ROLLOUT, "random"), 1, 103, True),
    Group("blueprint with itself", ("blueprint", "blueprint"), 50, 1),
    Group("blueprint and strong", ("blueprint", "strong"), 44, 2),
    Group("blueprint and random", ("blueprint", "random"), 12, 3),
    Group("greedy and blueprint", ("greedy", "blueprint"), 20, 4),
    Group("mincomb and strong", ("mincomb", "strong"), 32, 5),
    Group("aggressive and conservative", ("aggressive", "conservative"), 6, 6),
    Group("balanced and blueprint", ("balanced", "blueprint"), 10, 7),
    Group("rollout and blueprint", (ROLLOUT, "blueprint"), 20, 8),
    Group("strong and rollout", ("strong", ROLLOUT), 20, 9),
    Group("paper and blueprint", (PAPER, "blueprint"), 5, 10),
    Group("mincomb and paper", ("mincomb", PAPER), 3, 11),
)


@dataclass(frozen=True)
class Outcome:
    """What a group's agents chose.

    choices: index of each decision's move among the legal ones, in the order of play. moves: checksum of all
    lists of legal moves. agents: decisions of each agent. same: of the decisions asked for again, how many
    came out as recorded; first: the first that did not, in words; "" where there is none.
    """

    choices: tuple[int, ...]
    moves: int
    agents: dict[str, int]
    same: int
    first: str


def play_group(group: Group, recorded: tuple[int, ...] | None = None) -> Outcome:
    """Return a group's decisions; with `recorded`, along the recorded moves instead of the agents' own."""
    rng = np.random.default_rng(group.seed)
    states = deal_rounds(group.rounds, rng, tribute=0.5)
    agents = [
        guandan_agent(name).load(np.random.default_rng([group.seed, k])) for k, name in enumerate(group.sides)
    ]
    choices: list[int] = []
    counted: Counter[str] = Counter()
    checksum, same, first = 0, 0, ""
    while True:
        table = legal(states, canonical=True)
        counts = table.counts
        if not counts.any():
            break
        checksum = zlib.crc32(np.ascontiguousarray(table.values).tobytes(), checksum)
        checksum = zlib.crc32(np.ascontiguousarray(counts).tobytes(), checksum)
        index = np.zeros(len(states), np.int64)
        rows = np.flatnonzero(counts > 1)
        if len(rows):
            found = ask_agents(agents, states, table, rows)
            wanted = found
            if recorded is not None:
                part = recorded[len(choices) : len(choices) + len(rows)]
                if len(part) < len(rows) or (np.array(part) >= counts[rows]).any():
                    first = first or f"{group.name}: the rounds have other decisions than those recorded"
                    break
                wanted = np.array(part, np.int64)
                agree = found == wanted
                same += int(agree.sum())
                if not first and not agree.all():
                    at = int(np.flatnonzero(~agree)[0])
                    first = _describe(
                        group, states, table, rows[at], len(choices) + at, wanted[at], found[at]
                    )
            index[rows] = wanted
            choices += wanted.tolist()
            seats = states["player"][rows]
            counted.update(group.sides[int(seat) & 1] for seat in seats)
        live = np.flatnonzero(counts > 0)
        moves = table.values[table.offsets[live] + index[live]]
        ahead = states[live]
        advance(ahead, moves)
        states[live] = ahead
    return Outcome(tuple(choices), checksum, dict(counted), same, first)


def ask_agents(agents: list[Any], states: Any, table: Any, rows: Any) -> Any:
    """Return the choice of each row's agent, [n] int64."""
    seats = states["player"][rows].astype(np.int64)
    counts = table.counts
    offsets = np.concatenate([[0], np.cumsum(counts[rows])])
    chosen = np.isin(np.repeat(np.arange(len(states)), counts), rows)
    decisions = Decisions(
        states=states, rows=rows, seats=seats, offsets=offsets, actions=table.values[chosen]
    )
    found = np.zeros(len(rows), np.int64)
    for side, agent in enumerate(agents):
        mask = seats & 1 == side
        if mask.any():
            found[mask] = agent(decisions.where(mask))
    return found


def _describe(group: Group, states: Any, table: Any, row: int, number: int, wanted: int, found: int) -> str:
    """Return where a decision stands and what it was and is."""
    state = states[row]
    begin, seat, level = int(table.offsets[row]), int(state["player"]), int(state["level"])
    texts = [action_text(table.values[begin + k], level) for k in (wanted, found)]
    return (
        f"{group.name} (seed {group.seed}): decision {number}, round {row}, seat {seat}, "
        f"by {group.sides[seat & 1]}: recorded {texts[0]}, now {texts[1]}"
    )
