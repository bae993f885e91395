"""Personalities in DouDiZhu and Big2: how their rules do against each other, and how well a network plays so.

    python -m experiments.climbing.persona_styles --game doudizhu --rounds 1000
    python -m experiments.climbing.persona_styles CHECKPOINT --game doudizhu --rounds 200

Without a checkpoint: rounds that each rule wins against each other one, as every team in turn on the same
deals (in Big2 one seat against three; 25 % is even). With one of a recipe pdhqn: how often the network's move
is of the type of the rule's, by the weight of the values alpha, on rounds that no training has seen and that
the network plays itself (the PDHQN paper, section 4.3 and table 4). Intervals: 95 %, bootstrapped over
rounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.support.array_types import Ints
from gs2.commands.common import SEED, print_json
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.climbing.inputs.move_inputs import MoveInputs
    from blueprint.climbing.training.climbing_play import Choose, MoveChoices, MoveRecord

__all__ = ["persona_styles", "rounds_won_by", "same_types"]

GAMES = ("doudizhu", "big2")
WEIGHTS = (0.0, 0.5, 1.0)
Estimate = dict[str, float]


def _estimate(values: NDArray[np.float64]) -> Estimate:
    from games.support.bootstrap import bootstrap_interval

    low, high = bootstrap_interval(values, np.random.default_rng(0))
    return {"mean": float(values.mean()), "low": low, "high": high}


def _words(found: Estimate) -> str:
    return f"{100 * found['mean']:.1f} % [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def rounds_won_by(
    inputs: MoveInputs, one: Choose, other: Choose, rounds: int, seed: int
) -> NDArray[np.float64]:
    """Return the share of its games on each deal that one player wins, as each team in turn, [rounds]."""
    from blueprint.climbing.training.climbing_play import play_in_lockstep

    teams = np.array(inputs.game.teams)
    won = np.zeros(rounds)
    sides = int(teams.max()) + 1
    for side in range(sides):

        def choose(d: MoveChoices, side: int = side) -> Ints:
            found = np.empty(len(d), np.int64)
            for player, mask in ((one, teams[d.seats] == side), (other, teams[d.seats] != side)):
                if mask.any():
                    found[mask] = player(d.where(mask))
            return found

        played = play_in_lockstep(inputs, inputs.deal(rounds, np.random.default_rng([seed, 0x9E])), choose)
        won += (played.payoffs[:, int(np.flatnonzero(teams == side)[0])] > 0) / sides
    return won


def _ruled(inputs: MoveInputs, name: str) -> Choose:
    from blueprint.climbing.rules.personality_rules import personality_choice

    rule = personality_choice(inputs, name)
    return lambda d: rule(d.states, d.seats, d.offsets, d.words)


def same_types(inputs: MoveInputs, played: MoveRecord, own: Choose, rule: Choose) -> NDArray[np.float64]:
    """Return at which decisions two players' moves are of the same type, [n] 0 or 1."""
    from blueprint.climbing.rules.personality_rules import move_types
    from blueprint.climbing.training.climbing_play import MoveChoices

    legal = inputs.legal(played.states)
    d = MoveChoices(played.states, played.seats, legal.offsets, legal.values)
    types = [move_types(inputs, d.words[d.offsets[:-1] + player(d)])[0] for player in (own, rule)]
    found: NDArray[np.float64] = (types[0] == types[1]).astype(np.float64)
    return found


def _agreement(path: Path, inputs: MoveInputs, rounds: int, seed: int) -> list[dict[str, Any]]:
    from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
    from blueprint.climbing.persona_agent import load_persona_agent
    from blueprint.climbing.rules.personality_rules import RULED
    from blueprint.climbing.training.climbing_play import play_in_lockstep, soft_player

    network = load_climbing_blueprint(path, inputs.game).network
    best = soft_player(network, 0.0, 0.0, np.random.default_rng(0))
    played = play_in_lockstep(inputs, inputs.deal(rounds, np.random.default_rng([seed, 0x7E])), best)
    number = np.bincount(played.rounds, minlength=rounds)
    found: list[dict[str, Any]] = []
    for name in RULED:
        for alpha in WEIGHTS:
            agent = load_persona_agent(path, inputs.game, name, alpha=alpha)

            def own(d: MoveChoices, agent: Any = agent) -> Ints:
                chosen: Ints = agent.choose(d.states, d.seats, d.offsets, d.words)
                return chosen

            same = same_types(inputs, played, own, _ruled(inputs, name))
            share = (np.bincount(played.rounds, same, rounds) / np.maximum(number, 1))[number > 0]
            found.append({"personality": name, "alpha": alpha, "decisions": len(played), **_estimate(share)})
    return found


@click.command("persona-styles")
@click.argument("checkpoint", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--game", type=click.Choice(GAMES), default=GAMES[0], show_default=True)
@click.option("--rounds", type=click.IntRange(min=2), default=200, show_default=True, help="Held out.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Of the cards.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def persona_styles(checkpoint: Path | None, game: str, rounds: int, seed: int, as_json: bool) -> None:
    """Measure the personalities' rules, or how well CHECKPOINT plays in their manner."""
    from blueprint.climbing.inputs.move_inputs import move_inputs
    from blueprint.climbing.rules.personality_rules import RULED
    from games.registry import load_game

    inputs = move_inputs(load_game(game))
    if checkpoint is None:
        pairs = [(a, b) for a in RULED for b in RULED if a != b]
        met = [
            {"a": a, "b": b}
            | _estimate(rounds_won_by(inputs, _ruled(inputs, a), _ruled(inputs, b), rounds, seed))
            for a, b in pairs
        ]
        if as_json:
            print_json({"rounds won": met})
            return
        told = {(str(row["a"]), str(row["b"])): _words(row) for row in met}  # type: ignore[arg-type]
        rows = [(a, *(told.get((a, b), "") for b in RULED)) for a in RULED]
        click.echo(markdown_table(("wins against", *RULED), rows, "l" + "r" * len(RULED)))
        return
    found = _agreement(checkpoint, inputs, rounds, seed)
    if as_json:
        print_json({"action type": found})
        return
    by = {(row["personality"], row["alpha"]): _words(row) for row in found}
    rows = [(name, *(by[name, alpha] for alpha in WEIGHTS)) for name in RULED]
    click.echo(f"{found[0]['decisions']:,} decisions\n")
    heads = ("action type as the rule's", *(f"α = {alpha:g}" for alpha in WEIGHTS))
    click.echo(markdown_table(heads, rows, "l" + "r" * len(WEIGHTS)))


if __name__ == "__main__":
    run_alone(persona_styles)
