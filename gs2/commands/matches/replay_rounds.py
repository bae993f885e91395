"""`gs2 games --replay FILE`: recorded rounds of any game, played again and checked move by move."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import print_json

if TYPE_CHECKING:
    from games.record import ReplayedRound

__all__ = ["replay_file"]


def replay_file(path: Path, text: str | None, number: int | None, as_json: bool) -> None:
    """Print the rounds of a file, every one of which is checked.

    text: the game that they must be of, None for any. number: the one round to print, from 1; None for all.
    """
    from games.record import replayed_rounds
    from games.registry import load_game

    game = None if text is None else load_game(text, general_sum=True)
    told: list[dict[str, Any]] = []
    count = 0
    for count, found in enumerate(replayed_rounds(path, game, name=text or ""), 1):
        if number not in (None, count):
            continue
        if as_json:
            told.append(_as_json(count, found))
        else:
            _print(count, found)
    if number is not None and number > count:
        raise click.UsageError(f"--round must be at most {count}, the rounds of {path}; got {number}")
    if as_json:
        print_json({"file": str(path), "checked": count, "rounds": told})
    else:
        click.echo(f"{count} rounds checked: every move is legal, and the payoffs are the game's.")


def _as_json(number: int, found: ReplayedRound) -> dict[str, Any]:
    moves = [["chance" if move.player < 0 else f"P{move.player}", move.words] for move in found.moves]
    end = found.game.state_text(found.end[0])
    return {"round": number, "line": found.line, **found.record.to_json(), "moves": moves, "end": end}


def _print(number: int, found: ReplayedRound) -> None:
    record = found.record
    seats = ", ".join(f"P{seat} {_plain(name)}" for seat, name in enumerate(record.agents))
    click.echo(f"round {number}: {_plain(record.game)}, seed {record.seed}, pair {record.pair}: {seats}")
    if record.start:
        click.echo(f"  {_plain(record.start)}")
    started, words = False, []
    for move in found.moves:
        started = started or move.player >= 0
        if started or not record.start:  # what chance did before is told by the start
            words.append(f"({move.words})" if move.player < 0 else f"P{move.player} {move.words}")
    click.echo(f"  {_plain(' · '.join(words))}")
    click.echo(f"  paid {', '.join(f'P{seat} {payoff:+g}' for seat, payoff in enumerate(record.payoffs))}\n")


def _plain(text: str) -> str:
    """Return a text that another program may have written, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
