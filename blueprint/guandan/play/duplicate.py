"""Two agents on the same cards: every deal, and every whole game, is played twice with the seats swapped."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import Seated, play_rounds
from blueprint.guandan.play.deals import card_choice, deal_rounds
from blueprint.guandan.play.selfplay import GUANDAN, PastMoves
from blueprint.protocol import Agent
from blueprint.structured import join
from games.guandan.cards import unpack
from games.guandan.matches.lockstep import CardDecisions, Matches
from games.guandan.matches.match_game import deal_words, gift_words
from games.guandan.notation import action_text
from games.guandan.rounds.position import position_text
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import Rules
from games.record import RoundNotes
from games.support.array_types import Array

BLOCK = 512
"""Deals that come from one generator, so that deal i is the same however the work is cut into pieces."""


class Notes:
    """The words of rounds or whole games while they are played in lockstep."""

    def __init__(self, n: int) -> None:
        self.games = [RoundNotes() for _ in range(n)]

    def dealt(self, matches: Matches) -> None:
        """Take note of the rounds that begin; no card was exchanged yet."""
        for k in np.flatnonzero(~matches.over):
            row = matches.table[k]
            first = int(row["leader"]) if row["round"] == 1 else None
            self.games[k].chance.append(deal_words(unpack(row["hand"]), first))

    def gave(self, matches: Matches, decisions: CardDecisions, cards: NDArray[np.int64]) -> None:
        """Take note of tribute or return cards, [k] card indices."""
        for k, seat, back, card in zip(decisions.rows, decisions.seats, decisions.back, cards, strict=True):
            self.games[k].play.append(gift_words(int(seat), bool(back), int(card)))

    def played(self, states: Array, past: PastMoves) -> None:
        """Take note of the moves of rounds. states: [n] STATE before the first lead, or after the end."""
        for k in np.flatnonzero(states["player"] >= 0):
            notes, level = self.games[k], int(states["level"][k])
            notes.start = notes.start or position_text(states[k])
            made = past.of(int(k))
            notes.play += [
                f"P{seat} {action_text(action, level)}"
                for seat, action in zip(made.seats, made.actions, strict=True)
            ]


def duplicate_deals(
    indices: NDArray[np.int64], seed: int, *, tribute: float = 0.5, level: int | None = None
) -> Array:
    """Return the deals with these numbers, [n] STATE; each follows from seed and number alone.

    tribute, level: as in `deal_rounds`.
    """
    blocks = indices // BLOCK
    parts = [_block(seed, int(b), tribute, level)[indices[blocks == b] % BLOCK] for b in np.unique(blocks)]
    if not parts:
        return _block(seed, 0, tribute, level)[:0].copy()
    order = np.concatenate([np.flatnonzero(blocks == b) for b in np.unique(blocks)])
    return join(parts)[np.argsort(order)]


@lru_cache(maxsize=4)
def _block(seed: int, block: int, tribute: float, level: int | None) -> Array:
    return deal_rounds(BLOCK, np.random.default_rng([seed, block]), tribute=tribute, level=level)


def game_seeds(indices: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Return the seed of each whole game, [n] uint64; `Matches` scrambles them."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return np.asarray(start + indices.astype(np.uint64), np.uint64)


class _Duel(Seated):
    """Both agents as one over 2 n rounds: in the first n agent a has side 0, in the others side 1."""

    def __init__(self, a: Agent, b: Agent, n: int) -> None:
        who = (np.arange(4) & 1 == 0) != (np.arange(2 * n)[:, None] < n)
        super().__init__((a, b), who, np.random.default_rng(n))

    def give(self, matches: Matches, notes: Notes | None) -> None:
        """Make the tribute decisions that are due: by the agent's `cards` if it has one, else by rule."""
        while len(decisions := matches.card_decisions()):
            cards = np.empty(len(decisions), np.int64)
            whose = self.who[decisions.rows, decisions.seats]
            for mask, agent in ((~whose, self.agents[0]), (whose, self.agents[1])):
                if mask.any():
                    decide: Callable[[Any], Array] = getattr(agent, "cards", None) or card_choice
                    cards[mask] = decide(decisions.where(mask))
            if notes is not None:
                notes.gave(matches, decisions, cards)
            matches.give(decisions, cards)


def _play(duel: _Duel, states: Array, notes: Notes | None) -> None:
    """Play rounds to their ends, in place."""
    if notes is None:
        play_rounds(states, duel, GUANDAN, record=False)
        return
    begun, past = states.copy(), PastMoves(states)
    play_rounds(states, duel, GUANDAN, record=False, past=past)
    notes.played(begun, past)


def play_duplicate(
    a: Agent,
    b: Agent,
    deals: Array,
    *,
    others: Array | None = None,
    notes: Notes | None = None,
) -> NDArray[np.int8]:
    """Return the payoff of each deal to agent a, [n, 2] int8 in levels: from side 0, then from side 1.

    deals: [n] STATE at the start of a round. All 2 n rounds advance together; agents see each in order.
    others: [n] STATE that a plays from side 1; None for the same deals. notes: told of the 2 n rounds.
    Raises AgentFault if an agent answers with what is no choice.
    """
    n = len(deals)
    states = join([deals, deals if others is None else others])
    _play(_Duel(a, b, n), states, notes)
    payoff = GuanDan().returns(states)[:, 0]
    return np.stack([payoff[:n], -payoff[n:]], 1).astype(np.int8)


def play_games_duplicate(
    a: Agent,
    b: Agent,
    seeds: NDArray[np.uint64],
    *,
    rules: Rules | str = "ruling",
    others: NDArray[np.uint64] | None = None,
    notes: Notes | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return (score, rounds) of whole games from 2 to A: [n, 2] float64 and [n, 2] int64.

    seeds: [n]; both plays of a game see the same deals, round by round; others: [n], of a's games as team 1,
        if they are to see other deals. score: 1 where agent a won, 0 where b
        did, 0.5 where the rules end it drawn; as team 0, then as team 1. rounds: how many the game took.
    notes: told of the 2 n games.
    An agent chooses tribute and return cards with its `cards` (see `Matches.card_decisions`) if it has them.
    """
    n = len(seeds)
    duel = _Duel(a, b, n)
    matches = Matches(np.concatenate([seeds, seeds if others is None else others]), rules=rules)
    while not matches.over.all():
        if notes is not None:
            notes.dealt(matches)
        duel.give(matches, notes)
        _play(duel, matches.states, notes)
        matches.settle()
    winner = matches.table["winner"].reshape(2, n)
    team = np.array([[0], [1]])
    score = np.where(winner == NOBODY, 0.5, winner == team)
    return score.T.copy(), matches.table["round"].astype(np.int64).reshape(2, n).T.copy()
