"""What the opponent model of a climbing network knows, what pruning leaves, and what both are worth in play.

    python -m studies.climbing.opponent_hands CHECKPOINT --game doudizhu --rounds 200

For a network of DouDiZhu or Big2 with a head for hands (`gs2 train doudizhu -o DIR --recipe odmc`), on rounds
that no training has seen and that it plays itself: nats a hidden card, the share of cards whose likeliest
holder is right, bombs a hand and its fewest turns, beside odds by the numbers of cards alone (section 4.2 of
ODMC; the paper gives no figures for these). Then the moves that pruning takes away at its best play (tables 6
and 7), the time of a decision with pruning and without, and a match on the same deals against the same
network that does not hear its model, or against another checkpoint: points, rounds won, bombs played.
Intervals: 95 %, bootstrapped over rounds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.support.array_types import Ints
from gs2.commands.common import SEED, CountType, print_json
from gs2.commands.groups import run_alone
from studies.climbing.hidden_cards import hands_known, hidden_cards
from studies.climbing.pruning_shares import MARGINS, PAPER, RECIPE_MARGIN, count_pruned
from studies.climbing.same_deals import as_each_team

if TYPE_CHECKING:
    from blueprint.climbing.move_inputs import MoveInputs
    from blueprint.layers.fast_moves import FastMoves
    from blueprint.protocol import Agent

__all__ = ["Side", "opponent_hands", "played_bombs", "without_model"]

POINTS = {"doudizhu": 2.0, "big2": 1.0}
"""Points, as the field counts them, to 1 of the games' payoffs."""
MOST = 2000
"""Decisions that hands are guessed at."""
TIMED = 96


@dataclass(frozen=True)
class Side:
    """What one side of a match came to: mean, low and high of points a round, rounds won and bombs a seat."""

    points: tuple[float, float, float]
    won: tuple[float, float, float]
    bombs: tuple[float, float, float]


def _mean(values: NDArray[np.float64]) -> tuple[float, float, float]:
    from games.support.bootstrap import bootstrap_interval

    return (float(values.mean()), *bootstrap_interval(values, np.random.default_rng(0)))


def _network(path: Path, inputs: MoveInputs, *, hears: bool = True) -> tuple[FastMoves, int]:
    """Return a checkpoint's network and its margin of pruning."""
    from blueprint.checkpoint import read_checkpoint
    from blueprint.climbing.move_config import described_config
    from blueprint.layers.fast_moves import fast_moves

    tensors, description = read_checkpoint(path, prefix="network.")
    config = described_config(path, description, inputs.game)
    kept = tensors if hears else without_model(tensors)
    return fast_moves(inputs, kept, half=False, name=str(path)), config.prune


def without_model(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of a network that does not hear what its head for hands says."""
    return {name: value for name, value in tensors.items() if not name.startswith("network.foreseen.")}


def _player(network: FastMoves, prune: int) -> Agent:
    """Return who plays a network's best moves, of those that pruning leaves."""
    from blueprint.climbing.training.climbing_play import soft_player
    from blueprint.papers.pruning import Pruned, pruner

    best = soft_player(network, 0.0, 0.0, np.random.default_rng(0))
    return best if prune < 0 else Pruned(best, pruner(network.inputs, prune))


def played_bombs(inputs: MoveInputs, words: Ints) -> NDArray[np.bool_]:
    """Return which moves are bombs, [m]: of Big2 fours with a card and straight flushes."""
    from games.climbing.big2.big2 import Big2
    from games.climbing.big2.combinations import PLAY_KINDS, play_kinds
    from games.climbing.doudizhu.move_table import BOMB, NUM_MOVES, move_table

    game = inputs.game
    if isinstance(game, Big2):
        kinds = play_kinds(words.view(np.uint64), game.rules.book())
        wanted = [PLAY_KINDS.index("four and one"), PLAY_KINDS.index("straight flush")]
        return np.isin(kinds, wanted)
    heads = move_table().heads[np.minimum(words, NUM_MOVES - 1)]
    found: NDArray[np.bool_] = (words < NUM_MOVES) & ((heads & 255) >= BOMB)
    return found


def _met(inputs: MoveInputs, one: Agent, other: Agent, rounds: int, seed: int) -> tuple[Side, Side]:
    """Return what two players come to on the same deals, the first as each team in turn.

    In Big2 the second is all other seats; told of is one of them.
    """
    sides = len(set(inputs.game.teams))
    unit = POINTS["doudizhu" if sides == 2 else "big2"]
    points, won = np.zeros(rounds), np.zeros(rounds)
    theirs_won = np.zeros(rounds)
    bombs = np.zeros((2, rounds))
    deals = inputs.deal(rounds, np.random.default_rng([seed, 0xB0]))
    for ours, played in as_each_team(inputs, one, other, deals):
        own = played.payoffs[:, int(np.flatnonzero(ours)[0])]
        points += unit * own / sides
        won += (own > 0) / sides
        theirs_won += (own < 0) / sides / (sides - 1)
        fired = played_bombs(inputs, played.words)
        for k, seats in enumerate((ours, ~ours)):
            times = np.bincount(played.rounds[fired & seats[played.seats]], minlength=rounds)
            bombs[k] += times / int(seats.sum()) / sides
    return (
        Side(_mean(points), _mean(won), _mean(bombs[0])),
        Side(_mean(-points / (sides - 1)), _mean(theirs_won), _mean(bombs[1])),
    )


def _microseconds(network: FastMoves, prune: int, seed: int) -> float:
    """Return the processor's time of a decision with a choice, in microseconds."""
    from blueprint.climbing.training.climbing_play import play_in_lockstep

    inputs, player = network.inputs, _player(network, prune)
    play_in_lockstep(inputs, inputs.deal(2, np.random.default_rng(seed)), player)
    deals = inputs.deal(TIMED, np.random.default_rng([seed, 0x71E]))
    began = time.process_time()
    played = play_in_lockstep(inputs, deals, player)
    return 1e6 * (time.process_time() - began) / len(played)


def _known(network: FastMoves, player: Agent, rounds: int, seed: int) -> dict[str, list[list[float]]]:
    """Return by measure what the model and the numbers of cards come to, with intervals over rounds."""
    from blueprint.climbing.training.climbing_play import play_in_lockstep

    inputs, rng = network.inputs, np.random.default_rng([seed, 0x0D3C])
    played = play_in_lockstep(inputs, inputs.deal(rounds, rng), player)
    rows = np.sort(rng.permutation(len(played))[:MOST])
    states, seats = np.ascontiguousarray(played.states[rows]), played.seats[rows]
    number = np.bincount(played.rounds[rows], minlength=rounds)
    found = {}
    for name, pair in hands_known(network, hidden_cards(inputs), states, seats, rng).items():
        sums = [np.bincount(played.rounds[rows], values, rounds) for values in pair]
        found[name] = [list(_mean((one / np.maximum(number, 1))[number > 0])) for one in sums]
    return found


@click.command("opponent-hands")
@click.argument("checkpoint", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--game", type=click.Choice(list(PAPER)), default="doudizhu", show_default=True)
@click.option("--rounds", type=CountType(2), default=200, show_default=True, help="Rounds held out.")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A checkpoint to meet.  [default: the same, which does not hear its model]",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the cards.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def opponent_hands(
    checkpoint: Path, game: str, rounds: int, against: Path | None, seed: int, as_json: bool
) -> None:
    """Measure the opponent model in CHECKPOINT, move pruning, and what they are worth in play."""
    from blueprint.climbing.move_inputs import move_inputs
    from games.registry import load_game

    inputs = move_inputs(load_game(game))
    network, margin = _network(checkpoint, inputs)
    if not network.knows_hands:
        raise click.UsageError(
            f"{checkpoint} must hold a network with a head for hands; it has none; train --recipe odmc"
        )
    player = _player(network, margin)
    other = _player(*_network(against or checkpoint, inputs, hears=against is not None))
    known = _known(network, player, rounds, seed)
    # two streams: which moves are pruned is seen on more rounds
    counts = count_pruned(inputs, player, 40 * rounds, np.random.default_rng([seed, 0x9A]))
    shares = counts.shares(seed)[: len(MARGINS)]
    times = {
        "all moves": _microseconds(network, -1, seed),
        f"prune={RECIPE_MARGIN}": _microseconds(network, RECIPE_MARGIN, seed),
    }
    sides = _met(inputs, player, other, rounds, seed)
    names = ("hears its model", str(against) if against is not None else "does not")
    if as_json:
        met = {name: vars(side) for name, side in zip(names, sides, strict=True)}
        print_json({"knowledge": known, "pruned": shares, "microseconds": times, "match": met})
        return
    rows = [(name, *(_words(one, ".3f") for one in pair)) for name, pair in known.items()]
    click.echo(markdown_table(("of the others", "the model", "numbers of cards"), rows, "lrr") + "\n")
    pruned_rows = [
        (str(m), _words(share, ".2%"), f"{paper:.2%}")
        for m, share, paper in zip(MARGINS, shares, PAPER[game], strict=True)
    ]
    heads = ("turns more than the least", f"pruned of {int(counts.moves.sum()):,} moves", "the paper")
    click.echo(markdown_table(heads, pruned_rows, "rrr") + "\n")
    played = [
        (name, _words(side.points, "+.3f"), _words(side.won, ".1%"), _words(side.bombs, ".3f"))
        for name, side in zip(names, sides, strict=True)
    ]
    columns = ("", "points a round", "rounds won", "bombs a round and seat")
    click.echo(markdown_table(columns, played, "lrrr") + "\n")
    click.echo("; ".join(f"{name}: {value:,.0f} µs a decision" for name, value in times.items()))


def _words(found: Any, form: str) -> str:
    mean, low, high = (format(x, form) for x in found)
    return f"{mean} [{low}, {high}]"


if __name__ == "__main__":
    run_alone(opponent_hands)
