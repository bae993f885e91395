"""`--lock`: infosets at which play is fixed, for the commands that solve, search and measure a game."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import CountType

if TYPE_CHECKING:
    from cfr.policies.policy import Policy
    from cfr.tree import FlatTree
    from games.game import Game

__all__ = ["LockChoice", "lock_options"]


@dataclass(frozen=True)
class LockChoice:
    """What --lock and --lock-seat say.

    file: a policy. seat: whose infosets are locked; None for all that the file has.
    """

    file: Path
    seat: int | None

    def read(self, game: Game, tree: FlatTree | None = None) -> Policy:
        """Return the lock. tree: the game's, with its states. Raises as `load_lock`."""
        from cfr.policies.lock import load_lock

        return load_lock(self.file, game, tree, seat=self.seat)


def lock_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with --lock and --lock-seat, which reach it as one `lock`, or None."""

    @functools.wraps(command)
    def locking(*values: Any, lock: Path | None, lock_seat: int | None, **named: Any) -> Any:
        if lock is None and lock_seat is not None:
            raise click.UsageError(
                f"--lock-seat chooses one player's part of a lock; got {lock_seat} without --lock"
            )
        return command(*values, lock=None if lock is None else LockChoice(lock, lock_seat), **named)

    seat = click.option("--lock-seat", type=CountType(0), help="Lock this player's infosets alone.")
    file = click.option(
        "--lock",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Fix the play at the infosets of this file: a policy, or JSON {infoset: {action: probability}}.",
    )
    return file(seat(locking))
