"""Crews: those who play the pieces that a trainer hands out.

A trainer hands out a generation, learns, and collects the oldest one that is out. `ThreadCrew` plays in this
process; `ray_crew` has one whose actors play anywhere.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Protocol

from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.training.actors.pieces import Piece, PieceGame, PlayedPiece
from blueprint.guandan.training.dmc import Learner
from games.support.work.priority import niceness, step_behind

__all__ = ["PieceCrew", "ThreadCrew"]


class PieceCrew(Protocol):
    """Those who play. One trainer has it to itself.

    size: pieces of a generation, where the configuration does not tell.
    """

    size: int

    def hand_out(self, pieces: list[Piece], learner: Learner, version: int) -> None:
        """Have a generation played by the learner's weights of now, or by newer ones handed out later.

        version: of these weights, the number of generations learned from.
        """
        ...

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces."""
        ...

    def notes(self) -> dict[str, float]:
        """Return what a row of the curve tells of the generation collected last."""
        ...

    def abandon(self) -> None:
        """Stop whoever plays; nothing more is handed out or collected."""
        ...


class ThreadCrew:
    """Players in threads of this process, beside the one that learns.

    Several of them let it go first: on two cores two players and a learner get two thirds of a core each
    otherwise, and the learner is done last, alone.
    """

    def __init__(self, threads: int) -> None:
        """Take the number of threads in all; with one, pieces are played when they are collected."""
        self.size = max(1, threads - 1)
        self._alone = threads == 1
        self._pool: ThreadPoolExecutor | None = None
        self._rooms = [Scratch() for _ in range(self.size)]
        self._due: deque[list[PieceGame | Future[PlayedPiece]]] = deque()
        self._versions: deque[tuple[int, int]] = deque()
        self._abandoned = False
        self._stale = 0

    def hand_out(self, pieces: list[Piece], learner: Learner, version: int) -> None:
        """Take the weights of now, and begin to play by them."""
        games = [PieceGame(piece, learner, None) for piece in pieces]
        judge = learner.judge()
        for game in games:
            game.judge = judge
        if self._alone:
            self._due.append(list(games))
        else:
            self._pool = self._pool or self._players()
            self._due.append([self._pool.submit(self._play, game) for game in games])
        self._versions.append((pieces[0].generation, version))

    def _players(self) -> ThreadPoolExecutor:
        if self.size == 1:
            return ThreadPoolExecutor(1, "players")
        behind = partial(step_behind, niceness(), whole_process=False)
        return ThreadPoolExecutor(self.size, "players", initializer=behind)

    def _play(self, game: PieceGame) -> PlayedPiece:
        room = self._rooms.pop()
        try:
            return game.play(room, lambda: self._abandoned)
        finally:
            self._rooms.append(room)

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces."""
        played = [
            game.result() if isinstance(game, Future) else self._play(game) for game in self._due.popleft()
        ]
        generation, version = self._versions.popleft()
        self._stale = generation - version
        return played

    def notes(self) -> dict[str, float]:
        """Return how old the weights were, where they may be old."""
        return {"staleness": self._stale} if self._stale else {}

    def abandon(self) -> None:
        """Stop the players at their next decision."""
        self._abandoned = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
