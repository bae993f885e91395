"""Digests of whole matches, tribute included: random play, rule agents, the network, a table's records."""

from __future__ import annotations

import hashlib

import numpy as np

from blueprint.guandan.network.inference import load_inference
from blueprint.guandan.play.deals import card_choice
from blueprint.guandan.play.network_tribute import NetworkTribute
from games.guandan.matches.lockstep import Matches
from games.guandan.matches.match import Match
from games.guandan.rounds.playout import legal
from gs2.guandan.agent_families import guandan_agent
from studies.simulate_guandan import simulate_matches
from tests.games.guandan.matches.match_lines import event_line, header_line
from tests.unchanged.decisions import ask_agents

EXACT = ("random", "rules", "records", "quick random", "quick rules")
"""Digests that do not depend on floating point, and so not on the machine."""


def match_digests(quick: bool) -> dict[str, str]:
    """Return digests by name, the quick ones alone or all of them."""
    found = {
        "quick random": simulate_matches(40, 2).digest,
        "quick rules": _lockstep(("mincomb", "strong"), 2, 21),
    }
    if quick:
        return found
    return found | {
        "random": simulate_matches(1000, 1).digest,
        "rules": _lockstep(("strong", "balanced"), 24, 22),
        "network": _lockstep(("blueprint", "strong"), 24, 23),
        "records": _records(3),
    }


def _lockstep(names: tuple[str, str], number: int, seed: int) -> str:
    """Return a digest of matches between two agents in lockstep; a network chooses its own tribute."""
    matches = Matches(np.random.default_rng(seed).integers(0, 2**63, number).astype(np.uint64))
    agents = [guandan_agent(name).load(np.random.default_rng([seed, k])) for k, name in enumerate(names)]
    cards = [
        NetworkTribute(load_inference(None, critic=False)) if name == "blueprint" else card_choice
        for name in names
    ]
    digest = hashlib.sha256()
    while not matches.over.all():
        while len(due := matches.card_decisions()):
            picked = np.where(due.seats & 1 == 0, cards[0](due), cards[1](due))
            digest.update(picked.astype(np.int64).tobytes())
            matches.give(due, picked)
        table = legal(matches.states, canonical=True)
        counts = table.counts
        index = np.zeros(len(counts), np.int64)
        rows = np.flatnonzero(counts > 1)
        if len(rows):
            index[rows] = ask_agents(agents, matches.states, table, rows)
        live = np.flatnonzero(counts > 0)
        actions = np.zeros(len(counts), table.values.dtype)
        actions[live] = table.values[table.offsets[live] + index[live]]
        digest.update(index.tobytes())
        ended = matches.play(actions)
        digest.update(np.ascontiguousarray(ended.states["hash"]).tobytes())
    digest.update(np.ascontiguousarray(matches.table["winner"]).tobytes())
    digest.update(np.ascontiguousarray(matches.table["round"]).tobytes())
    return digest.hexdigest()[:16]


def _records(number: int) -> str:
    """Return a digest of the written records of matches at a table: rules play, chance pays tribute."""
    digest = hashlib.sha256()
    for seed in range(number):
        match = Match(seed)
        rng = np.random.default_rng([31, seed])
        agents = [guandan_agent(name).load(np.random.default_rng(0)) for name in ("strong", "mincomb")]
        while not match.over:
            due = match.pending()[0]
            if due.stage != "play":
                match.apply(due.seat, int(rng.integers(len(due.actions))))
                continue
            table = legal(match.state, canonical=True)
            index = 0
            if table.counts[0] > 1:
                index = int(ask_agents(agents, match.state, table, np.array([0]))[0])
            match.apply(due.seat, table.values[index])
        digest.update(header_line(match).encode())
        level = 0
        for event in match.events:
            level = int(getattr(event, "level", level))
            digest.update(event_line(event, level).encode())
    return digest.hexdigest()[:16]
