"""A crew on a cluster that runs Ray: machines come and go, and every piece is played once.

Pieces are work for a `RayExecutor`, each with the newest weights when it is submitted; one whose machine is
lost is played again, with its seed. One thread here submits pieces, takes in their records and plays them
again to have the states (`records`); the trainer learns meanwhile. What is out is bounded: `staleness + 1`
generations, a piece an actor, one copy of the weights for each version that is still played by.
"""

from __future__ import annotations

import os
import platform
import queue
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from blueprint.learning.pieces import Piece, PieceGame, PieceLearner, PlayedPiece, pack_record, unpack_record
from games.support.work.executor import Task, niceness, step_behind
from games.support.work.ray_executor import RayExecutor
from games.support.work.where import Place, WorkError

PATIENCE = 300.0
"""Seconds in which a first piece must have come back."""
ENDING = 10.0
"""Seconds that the thread beside has for the step that it is in."""
Play = Callable[["PiecePlayer", Piece, tuple[int, dict[str, Any]]], bytes]


class PiecePlayer:
    """Who plays in a process of the cluster. version: of its weights; critic_values: of what is played."""

    def __init__(self, make: Callable[[], PieceLearner], first: tuple[str, int]) -> None:
        """Get ready. first: machine and niceness of who learns, which goes first on its own machine."""
        torch.set_num_threads(1)
        if first[0] == platform.node():
            step_behind(first[1])
        self.learner = make()
        self.version, self.critic_values = -1, self.learner.critic_values()


def play_piece(player: PiecePlayer, piece: Piece, weights: tuple[int, dict[str, Any]]) -> bytes:
    """Return the record of a piece. weights: their version, and what `Learner.weights` returned."""
    if weights[0] != player.version:
        player.learner.take_weights(weights[1])
        player.version, player.critic_values = weights[0], player.learner.critic_values()
    game = PieceGame(piece, player.learner, player.critic_values)
    return pack_record(game.play(lambda: False), player.learner.SENT)


def _place(piece: Piece) -> tuple[int, int]:
    return piece.generation, piece.part


def _told(play: Play, player: PiecePlayer, piece: Piece, weights: tuple[int, dict[str, Any]]) -> bytes:
    """Return the record of a piece; an error says which one it was, and where."""
    try:
        return play(player, piece, weights)
    except Exception as error:
        where = (
            f"piece {piece.part} of generation {piece.generation} on {platform.node()}, process {os.getpid()}"
        )
        raise WorkError(f"{where}: {type(error).__name__}: {error}") from error


class RayCrew:
    """Players on the cores of a cluster. A context: at its end they end as well.

    size: pieces that are played at a time.
    """

    def __init__(
        self,
        where: Place,
        make: Callable[[], PieceLearner],
        names: tuple[str, ...] = (),
        play: Play = play_piece,
    ) -> None:
        """Connect to the cluster; pieces are played as soon as it has room for them.

        make: returns a learner, there. names: of agents and games whose files it needs. play: what is done
        with a piece. Raises WorkError where the cluster cannot be had.
        """
        told = (make, (platform.node(), niceness()))
        self._executor: RayExecutor[Piece, bytes]
        self._executor = RayExecutor(Task(PiecePlayer, told, partial(_told, play)), where)
        self.size = self._executor.size
        self._where, self._names = where, names
        self._due: deque[list[Piece]] = deque()
        self._tasks: deque[Piece] = deque()
        self._out: dict[tuple[int, int], Piece] = {}
        self._done: dict[tuple[int, int], PlayedPiece] = {}
        self._version = self._sent = -1
        self._lost, self._ages = 0, list[int]()
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._bytes = dict.fromkeys(("record_bytes", "piece_bytes", "weight_bytes"), 0)
        self._row: dict[str, float] = {}
        self._closed = self._came = False
        self._learner: PieceLearner
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="actors", daemon=True)
        self._thread.start()

    def __enter__(self) -> RayCrew:
        """Return the crew."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the players."""
        self.abandon()

    def hand_out(self, pieces: list[Piece], learner: PieceLearner, version: int) -> None:
        """Have a generation played by the learner's weights of now, or by newer ones handed out later."""
        self._learner = learner
        weights = learner.weights() if version != self._version else None
        self._version = version
        self._due.append(pieces)
        self._orders.put(partial(self._take_on, pieces, version, weights))

    def collect(self) -> list[PlayedPiece]:
        """Return what the oldest generation handed out came to, in the order of its pieces.

        Raises WorkError where a player failed, or none could be had.
        """
        with self._changed:
            while not all(_place(piece) in self._done for piece in self._due[0]):
                if self._error is not None:
                    raise self._error
                if not self._changed.wait(PATIENCE) and not self._came:
                    raise WorkError(
                        f"--on {self._where}: {self.size} actors must find a core each; none has played in "
                        f"{PATIENCE:g} s on a cluster of {self._executor.size} cores; add machines, or free "
                        "some"
                    )
            ages, lost = self._ages, self._executor.lost
            self._row = {
                "actors": self._executor.size,
                "staleness": max(ages, default=0),
                "mean_staleness": sum(ages) / max(len(ages), 1),
                **self._bytes,
                "lost_pieces": lost - self._lost,
            }
            self._ages, self._bytes, self._lost = [], dict.fromkeys(self._bytes, 0), lost
            return [self._done.pop(_place(piece)) for piece in self._due.popleft()]

    def notes(self) -> dict[str, float]:
        """Return what a row of the curve tells of the generation collected last."""
        return self._row

    def abandon(self) -> None:
        """End the players at once; nothing more is handed out or collected."""
        if not self._closed:
            self._closed = True
            self._orders.put(None)
            self._thread.join(ENDING)
            self._executor.close()

    # what happens in the thread beside

    def _serve(self) -> None:
        try:
            while not self._closed:
                while not self._orders.empty() or not (self._tasks or self._executor.waiting):
                    order = self._orders.get()
                    if order is None:
                        return
                    order()
                while self._tasks and self._executor.room > 0:
                    self._submit(self._tasks.popleft())
                for place, record in self._executor.collect(lambda: self._closed):
                    self._take_in(self._out.pop(place), record)
        except BaseException as error:
            with self._changed:
                told = f"--on {self._where}: {error}"
                self._error = error if isinstance(error, WorkError) else WorkError(told)
                self._changed.notify_all()

    def _take_on(self, pieces: list[Piece], version: int, weights: dict[str, Any] | None) -> None:
        if weights is not None:
            self._executor.share((version, weights))
            self._sent = version
            self._bytes["weight_bytes"] += sum(value.nbytes for value in weights.values())
        self._tasks.extend(pieces)

    def _submit(self, piece: Piece) -> None:
        self._out[_place(piece)] = piece
        self._executor.submit(_place(piece), piece, self._names)
        with self._changed:
            self._ages.append(piece.generation - self._sent)
            self._bytes["piece_bytes"] += len(piece.dealt[0])

    def _take_in(self, piece: Piece, record: bytes) -> None:
        played = unpack_record(record, piece, self._learner)
        with self._changed:
            self._done[_place(piece)] = played
            self._came = True
            self._bytes["record_bytes"] += len(record)
            self._changed.notify_all()
