"""One round of a game as it is played: every state on the way, chance drawn by the round's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError
from games.ragged import pick_by
from games.record import RoundNotes, RoundRecord, replay_round
from games.support.array_types import Array
from gs2.play.game_pairs import numbered_draws

_ROW = np.zeros(1, np.int64)


class GameRound:
    """A round: its states and who did what.

    The same seed and number deal the same round again. states: [1] each, the last one the present.
    players: who acted at each state but the last, CHANCE included. taken: the actions, [1] each.
    marked: by the place of a step, what the page wants to remember of it: which equal cards were played.
    """

    def __init__(self, game: Game, seed: int, number: int) -> None:
        """Deal the first cards."""
        self.game, self.seed, self.number = game, seed, number
        self.states: list[Array] = [game.root()]
        self.players: list[int] = []
        self.taken: list[Array] = []
        self.marked: dict[int, list[str]] = {}
        self._chance()

    @classmethod
    def recorded(cls, game: Game, record: RoundRecord) -> GameRound:
        """Return the round that a record tells, as far as it goes; RoundRecordError where it cannot be so."""
        found = cls.__new__(cls)
        *moves, last = replay_round(record, game)
        found.game, found.seed, found.number, found.marked = game, record.seed, record.pair, {}
        found.states = [move.states for move in (*moves, last)]
        found.players = [move.player for move in moves]
        found.taken = [move.action for move in moves if move.action is not None]
        return found

    def until(self, steps: int) -> GameRound:
        """Return this round as it stood when so many steps had been taken."""
        found = copy(self)
        found.states, found.players = self.states[: steps + 1], self.players[:steps]
        found.taken = self.taken[:steps]
        return found

    @property
    def state(self) -> Array:
        """The present state, a batch of one."""
        return self.states[-1]

    @property
    def player(self) -> int:
        """The seat to act, or TERMINAL."""
        return int(self.game.player(self.state)[0])

    @property
    def over(self) -> bool:
        """Whether the round is over."""
        return self.player == TERMINAL

    @property
    def legal(self) -> Array:
        """The legal actions of the seat to act."""
        return self.game.actions(self.state)[0]

    @property
    def payoffs(self) -> list[float]:
        """Payoff to each seat of a round that is over."""
        return [float(one) for one in self.game.returns(self.state)[0]]

    def draw(self, source: int) -> float:
        """Return the random number in [0, 1) that belongs to this moment; source: 0 chance, 1 an agent."""
        stream, number = np.array([self.number]), np.array([len(self.taken)])
        return float(numbered_draws(self.seed, stream, source, number)[0])

    def take(self, index: int, marks: list[str] | None = None) -> None:
        """Take one of the legal actions by its place, and whatever chance does then.

        Raises GameError if there is no such action.
        """
        legal = self.legal
        if not 0 <= index < len(legal):
            raise GameError(f"{self.game.name}: a choice is an index in 0..{len(legal) - 1}; got {index}")
        if marks is not None:
            self.marked[len(self.taken)] = marks
        self._step(legal[index : index + 1])
        self._chance()

    def back_to(self, steps: int) -> None:
        """Go back to where so many steps had been taken."""
        del self.states[steps + 1 :], self.players[steps:], self.taken[steps:]
        self.marked = {at: marks for at, marks in self.marked.items() if at < steps}

    def history(self) -> Array:
        """Return the actions from the root to here, [steps] of the game's action dtype."""
        return np.concatenate(self.taken) if self.taken else self.game.actions(self.states[0]).values[:0]

    def words(self, at: int) -> str:
        """Return the action of one step in words."""
        return self.game.action_text(self.states[at][0], self.taken[at][0])

    def _step(self, action: Array) -> None:
        self.players.append(self.player)
        self.taken.append(action)
        self.states.append(self.game.step(self.state, _ROW, action))

    def _chance(self) -> None:
        while self.player == CHANCE:
            outcomes = self.game.actions(self.state)
            probs: NDArray[np.float64] = self.game.chance_probs(self.state, outcomes)
            picked = pick_by(outcomes, probs, np.array([self.draw(0)]))
            self._step(outcomes.values[picked])


def round_record(played: GameRound, names: Sequence[str]) -> RoundRecord:
    """Return the record of a round that is over, as matches have it; its pair is the round's number.

    The seed is not told: it is that of the rounds to come as well.
    """
    notes = RoundNotes()
    for state, who, action in zip(played.states[:-1], played.players, played.taken, strict=True):
        notes.take(played.game, state[0], who, action[0])
    return RoundRecord(
        played.game.name,
        tuple(names),
        tuple(notes.chance),
        tuple(notes.play),
        tuple(played.payoffs),
        notes.start,
        pair=played.number,
    )
