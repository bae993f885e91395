"""One random play of a game as text, with everything that the players see on the way.

    python -m tests.playthrough "leduc_poker" --seed 1
    python -m tests.playthrough --regenerate tests/playthroughs/*.txt

Transcripts under version control show at a glance what a change does to a game: a refactor leaves them as
they are. Each names the command that made it, so that it can be made again.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Game, GameError
from games.ragged import Ragged
from games.registry import load_game
from games.support.array_types import Array

ACTIONS_SHOWN = 12
COMMAND = "python -m tests.playthrough"


def playthrough(game: Game, rng: np.random.Generator) -> str:
    """Return one play in words: players act at random, chance by its probabilities."""
    low, high = game.payoff_range
    lines = [f"{game.name}: {game.num_players} players, teams {game.teams}, payoffs from {low:g} to {high:g}"]
    states = game.root()
    while (player := int(game.player(states)[0])) != TERMINAL:
        actions = game.actions(states)
        probs = game.chance_probs(states, actions)
        lines += ["", *_seen(game, states[0]), _choices(game, states[0], player, actions, probs)]
        chosen = np.searchsorted(np.cumsum(probs), rng.random() * probs.sum(), side="right")
        taken = actions.values[min(int(chosen), len(probs) - 1)][None]
        lines.append(f"--> {game.action_text(states[0], taken[0])}")
        states = game.step(states, np.zeros(1, np.int64), taken)
    payoffs = ", ".join(f"P{seat} {payoff:g}" for seat, payoff in enumerate(game.returns(states)[0]))
    lines += ["", *_seen(game, states[0]), f"Payoffs: {payoffs}"]
    return "\n".join(lines) + "\n"


def transcript(game_text: str, seed: int) -> str:
    """Return the playthrough of a game by name, under the command that makes it again."""
    play = playthrough(load_game(game_text, general_sum=True), np.random.default_rng(seed))
    return f"$ {COMMAND} {shlex.quote(game_text)} --seed {seed}\n\n{play}"


def command_of(text: str) -> tuple[str, int]:
    """Return the game string and the seed that a transcript says it was made with.

    Raises GameError if its first line is not such a command.
    """
    first = text.partition("\n")[0]
    words = shlex.split(first.removeprefix(f"$ {COMMAND}"))
    if not first.startswith(f"$ {COMMAND} ") or len(words) != 3 or words[1] != "--seed":
        raise GameError(
            f'playthrough: a transcript must start with "$ {COMMAND} GAME --seed SEED"; got "{first}"'
        )
    return words[0], int(words[2])


def _seen(game: Game, state: Array) -> list[str]:
    """Return the history and what each player knows of it."""
    known = [f"  {game.infoset_text(state, seat)}" for seat in range(game.num_players)]
    return [f"State: {game.state_text(state)}", *known]


def _choices(game: Game, state: Array, player: int, actions: Ragged, probs: NDArray[np.float64]) -> str:
    """Return who may do what."""
    shown = actions.values[:ACTIONS_SHOWN]
    words = [game.action_text(state, action) for action in shown]
    if player == CHANCE:
        words = [f"{word} ({prob:.4g})" for word, prob in zip(words, probs, strict=False)]
    more = f", and {len(actions.values) - len(shown)} more" if len(actions.values) > len(shown) else ""
    return f"{'Chance' if player == CHANCE else f'P{player}'} may: {', '.join(words)}{more}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a playthrough, or make transcripts again in place; return the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="One random play of a game as text.")
    parser.add_argument("game", nargs="?", help="game string, such as leduc_poker or 'liars_dice(sides=4)'")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random play (default 0)")
    parser.add_argument("--regenerate", nargs="+", metavar="FILE", help="transcripts to make again in place")
    given = parser.parse_args(arguments)
    if bool(given.game) == bool(given.regenerate):
        parser.error("name a game, or transcripts to regenerate")
    try:
        if given.game:
            sys.stdout.write(transcript(given.game, given.seed))
        for file in map(Path, given.regenerate or ()):
            file.write_text(transcript(*command_of(file.read_text())))
    except GameError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
