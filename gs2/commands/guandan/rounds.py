"""`gs2 guandan`: its commands, and those that show rounds in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gs2.commands.common import COUNT, NEW_FILE, SEED, print_json
from gs2.commands.groups import LazyGroup, Target

ROUNDS, LEARNING = "gs2.commands.guandan.rounds", "gs2.commands.guandan.learning"
TARGETS = {
    "play-random": Target(ROUNDS, "play_random", "Play a random match and print it move by move."),
    "replay": Target(ROUNDS, "replay", "Print a recorded match, checking it against the rules."),
    "grow": Target(LEARNING, "grow", "Give a network more inputs or units; it plays as before."),
    "distil": Target(LEARNING, "distil_network", "Teach a small network a large one's moves."),
    "train-beliefs": Target(LEARNING, "train_belief_network", "Train the network over hidden cards."),
    "train-deals": Target(LEARNING, "train_deal_network", "Train the network that weighs whole deals."),
}


@click.group(cls=LazyGroup, targets=TARGETS)
def guandan() -> None:
    """Play and replay matches of GuanDan in the terminal; grow and distil its networks."""


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON.")


def _print(lines: Iterable[str], as_json: bool) -> None:
    if as_json:
        print_json({"lines": list(lines)})
        return
    for line in lines:
        click.echo(line)


@click.command("play-random")
@click.option("--rounds", type=COUNT, help="Number of rounds to play.  [default: 1]")
@click.option("--match", "whole", is_flag=True, help="Play a whole match, up to the last level.")
@click.option(
    "--level", default="2", show_default=True, help="Level of both teams at the start: 2 … 10, J … A."
)
@click.option(
    "--rules", default="ruling", show_default=True, help="Rules: ruling, openguandan, njupt or paper."
)
@click.option("--canonical", is_flag=True, help="Choose among canonical moves, one for each effect.")
@click.option("--record", type=NEW_FILE, help="Also write a record of the match, to a new file.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the deals and moves.")
@AS_JSON
def play_random(rounds: int | None, whole: bool, as_json: bool, **how: Any) -> None:
    """Play a match between four random players and print it move by move."""
    from games.guandan.views.narration import random_lines

    if whole and rounds is not None:
        raise click.UsageError("--rounds is for a part of a match; leave out it or --match")
    _print(random_lines(rounds=None if whole else rounds or 1, **how), as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--round", "number", type=COUNT, help="Show only this round; all are checked.")
@click.option("--hands/--no-hands", default=True, show_default=True, help="Show the hands dealt.")
@click.option("--repair", is_flag=True, help="Read a record whose last line was cut off.")
@AS_JSON
def replay(file: Path, number: int | None, hands: bool, repair: bool, as_json: bool) -> None:
    """Print a recorded match, checking every event against the rules."""
    from games.guandan.views.narration import replay_lines

    only = None if number is None else range(number, number + 1)
    _print(replay_lines(file, rounds=only, hands=hands, repair=repair), as_json)
