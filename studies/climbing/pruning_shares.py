"""How many moves pruning by minimum combination takes away in DouDiZhu and Big2 (ODMC, tables 6 and 7).

    python -m studies.climbing.pruning_shares --game doudizhu --turns 1000000 --seed 1

A move goes if the hand that it leaves takes more turns than the best rest and a margin of 2 to 7, the paper's
N / n + d. Counted are all turns, those without a choice included, first by this rule alone, then with passes
and bombs kept, as `move_pruning` does, and last what the recipe itself does, whose margin widens as hands get
short. The paper does not say who plays; here that is chance, the rule agent or a checkpoint. Intervals: 95 %,
bootstrapped over rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.support.array_types import Ints
from gs2.commands.common import COUNT, SEED, print_json
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.climbing.move_inputs import MoveInputs
    from blueprint.protocol import Agent, Decisions

__all__ = [
    "MARGINS",
    "PAPER",
    "RECIPE_MARGIN",
    "PruneCounts",
    "count_pruned",
    "playing_agent",
    "pruning_shares",
]

MARGINS = (2, 3, 4, 5, 6, 7)
PAPER = {
    "doudizhu": (0.1774, 0.1453, 0.1079, 0.0609, 0.0347, 0.0016),
    "big2": (0.1283, 0.0991, 0.0610, 0.0276, 0.0058, 0.0003),
}
"""Luo & Tan 2024, tables 6 and 7, at MARGINS; their turns had 8.8 and 6.6 moves."""
RECIPE_MARGIN = 2
NOTHING = -99
"""A margin that leaves what is always kept."""
TOGETHER = 512
RESAMPLES = 1000
PLAYERS = ("random", "rule")


@dataclass(frozen=True, eq=False)
class PruneCounts:
    """Turns and moves of rounds. turns, moves: [rounds]. left: [rounds, 13] moves that stay.

    Columns of left: by the rule alone at MARGINS, the same with passes and bombs kept, the recipe.
    """

    turns: Ints
    moves: Ints
    left: Ints

    def shares(self, seed: int = 0) -> list[tuple[float, float, float]]:
        """Return the share that is pruned of each column, with the ends of its interval."""
        from games.support.bootstrap import bootstrap_intervals

        def of(rows: Ints) -> NDArray[np.float64]:
            moves = self.moves[rows].sum(1)
            return np.stack([1 - left[rows].sum(1) / moves for left in self.left.T])

        rounds = np.arange(len(self.moves))
        best = 1 - self.left.sum(0) / self.moves.sum()
        low, high = bootstrap_intervals(rounds, of, np.random.default_rng(seed), resamples=RESAMPLES)
        return [(float(a), float(b), float(c)) for a, b, c in zip(best, low, high, strict=True)]


class _Counter:
    """Lets somebody choose, and counts what pruning would leave at every decision."""

    def __init__(self, inputs: MoveInputs, choose: Agent) -> None:
        self.inputs, self.choose = inputs, choose
        self.moves: list[Ints] = []
        self.left: list[Ints] = []

    def __call__(self, d: Decisions) -> Ints:
        starts, counts = d.offsets[:-1], np.diff(d.offsets)
        from blueprint.papers.pruning import hand_rests, kept_moves

        rests = hand_rests(self.inputs, "a game with pruning", "can prune moves")
        turns = rests.turns(d)
        above = turns - np.repeat(np.minimum.reduceat(turns, starts), counts)
        always = rests.kept(d, turns)
        kept = [above <= margin for margin in MARGINS]
        kept += [one | always for one in kept]
        kept.append(kept_moves(rests, d, RECIPE_MARGIN))
        self.moves.append(counts)
        self.left.append(np.stack([np.add.reduceat(one.astype(np.int64), starts) for one in kept], 1))
        return self.choose(d)


def count_pruned(inputs: MoveInputs, choose: Agent, turns: int, rng: np.random.Generator) -> PruneCounts:
    """Return what pruning leaves in rounds that `choose` plays, until there were so many turns."""
    from blueprint.climbing.training.climbing_play import play_in_lockstep

    parts: list[PruneCounts] = []
    done = 0
    while done < turns:
        counter = _Counter(inputs, choose)
        played = play_in_lockstep(inputs, inputs.deal(TOGETHER, rng), counter)
        forced = played.steps - len(played)
        each = np.full(TOGETHER, forced // TOGETHER)
        each[: forced % TOGETHER] += 1  # turns without a choice have one move, which stays; spread evenly
        moves, left = np.concatenate(counter.moves), np.concatenate(counter.left)
        sums = np.zeros((TOGETHER, left.shape[1]), np.int64)
        np.add.at(sums, played.rounds, left)
        offered = np.bincount(played.rounds, moves, TOGETHER).astype(np.int64)
        taken = np.bincount(played.rounds, minlength=TOGETHER)
        parts.append(PruneCounts(taken + each, offered + each, sums + each[:, None]))
        done += played.steps
    return PruneCounts(
        np.concatenate([part.turns for part in parts]),
        np.concatenate([part.moves for part in parts]),
        np.concatenate([part.left for part in parts]),
    )


def playing_agent(inputs: MoveInputs, name: str, rng: np.random.Generator) -> Agent:
    """Return who plays all seats: "random", the game's "rule" agent, or a checkpoint's best moves."""

    from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
    from blueprint.climbing.training.climbing_play import soft_player
    from gs2.wings import own_part

    if name == "random":
        return lambda d: (rng.random(len(d)) * np.diff(d.offsets)).astype(np.int64)
    if name == "rule":
        teacher: Agent = own_part(inputs.game.name, "teacher")
        return teacher
    if not Path(name).is_file():
        raise click.UsageError(f"--play must be random, rule or a checkpoint; got {name!r}")
    return soft_player(load_climbing_blueprint(name, inputs.game).network, 0.0, 0.0, rng)


@click.command("pruning-shares")
@click.option("--game", type=click.Choice(list(PAPER)), default="doudizhu", show_default=True)
@click.option("--turns", type=COUNT, default=1_000_000, show_default=True, help="Least number of turns.")
@click.option("--play", default="random", show_default=True, help="random, rule, or a checkpoint's file.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the cards.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def pruning_shares(game: str, turns: int, play: str, seed: int, as_json: bool) -> None:
    """Print the share of moves that pruning takes away, beside the paper's."""
    from blueprint.climbing.move_inputs import move_inputs
    from games.registry import load_game

    rng = np.random.default_rng([seed, 0x0D3C])
    inputs = move_inputs(load_game(game))
    found = count_pruned(inputs, playing_agent(inputs, play, rng), turns, rng)
    shares = found.shares(seed)
    told = {
        "game": game,
        "play": play,
        "rounds": len(found.turns),
        "turns": int(found.turns.sum()),
        "moves a turn": float(found.moves.sum() / found.turns.sum()),
        "choices": "by the rule alone; passes and bombs kept; the recipe",
        "shares": shares,
    }
    if as_json:
        print_json(told | {"paper": PAPER[game]})
        return
    words = [f"{a:.2%} [{b:.2%}, {c:.2%}]" for a, b, c in shares]
    number = len(MARGINS)
    rows = [
        (str(margin), words[k], words[number + k], f"{PAPER[game][k]:.2%}")
        for k, margin in enumerate(MARGINS)
    ]
    heads = ("turns more than the least", "pruned by the rule", "passes and bombs kept", "the paper")
    pace = f"{told['turns']:,} turns, {told['moves a turn']:.2f} moves each"
    click.echo(f"{game}, {play}: {pace}, {told['rounds']:,} rounds\n")
    click.echo(markdown_table(heads, rows, "rrrr"))
    click.echo(f"\nThe recipe (prune={RECIPE_MARGIN}, wider as hands get short) prunes {words[-1]}.")


if __name__ == "__main__":
    run_alone(pruning_shares)
