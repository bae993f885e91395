"""Personalities in DouDiZhu and Big2: how their rules do against each other, and how well a network plays so.

    python -m studies.climbing.persona_styles --game doudizhu --rounds 1000
    python -m studies.climbing.persona_styles CHECKPOINT --game doudizhu --rounds 200

Without a checkpoint: rounds that each rule wins against each other one, as every team in turn on the same
deals (in Big2 one seat against three; 25 % is even). With one of a recipe pdhqn: how often the network's move
is of the type of the rule's, by the weight of the values alpha, on rounds that no training has seen and that
the network plays itself (the PDHQN paper, section 4.3 and table 4). Then how often it says rightly by whose
rule each other seat plays, on rounds in which each seat plays by one of the four, evenly drawn; a guess is
right in 25 %. Intervals: 95 %, bootstrapped over rounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.ragged import Ragged
from games.support.array_types import Ints
from gs2.commands.common import SEED, CountType, print_json
from gs2.commands.groups import run_alone
from studies.climbing.same_deals import as_each_team

if TYPE_CHECKING:
    from blueprint.climbing.move_inputs import MoveInputs
    from blueprint.game_lockstep import PlayRecord
    from blueprint.protocol import Agent

__all__ = ["persona_styles", "recognised", "rounds_won_by", "same_types"]

GAMES = ("doudizhu", "big2")
WEIGHTS = (0.0, 0.5, 1.0)
PLAYED = ((0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01))
"""Shares of its cards that the other seat has played, by which what is recognised is told."""
Estimate = dict[str, float]


def _estimate(values: NDArray[np.float64]) -> Estimate:
    from games.support.bootstrap import bootstrap_interval

    low, high = bootstrap_interval(values, np.random.default_rng(0))
    return {"mean": float(values.mean()), "low": low, "high": high}


def _words(found: Estimate) -> str:
    return f"{100 * found['mean']:.1f} % [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def rounds_won_by(
    inputs: MoveInputs, one: Agent, other: Agent, rounds: int, seed: int
) -> NDArray[np.float64]:
    """Return the share of its games on each deal that one player wins, as each team in turn, [rounds]."""
    sides = len(set(inputs.game.teams))
    won = np.zeros(rounds)
    deals = inputs.deal(rounds, np.random.default_rng([seed, 0x9E]))
    for ours, played in as_each_team(inputs, one, other, deals):
        won += (inputs.game.returns(played.final)[:, int(np.flatnonzero(ours)[0])] > 0) / sides
    return won


def _ruled(inputs: MoveInputs, name: str) -> Agent:
    from blueprint.papers.personality_rules import personality_choice

    return personality_choice(inputs, name)


def same_types(inputs: MoveInputs, played: PlayRecord, own: Agent, rule: Agent) -> NDArray[np.float64]:
    """Return at which decisions two players' moves are of the same type, [n] 0 or 1."""
    from blueprint.papers.personality_rules import move_types
    from blueprint.protocol import Decisions

    legal = inputs.legal(played.states)
    words, starts = legal.values, legal.offsets[:-1]
    actions = Ragged(legal.offsets, words.view(inputs.action_type))
    d = Decisions.of(played.states, actions, played.seats, game=inputs.game)
    types = [move_types(inputs, words[starts + player(d)])[0] for player in (own, rule)]
    found: NDArray[np.float64] = (types[0] == types[1]).astype(np.float64)
    return found


def _agreement(path: Path, inputs: MoveInputs, rounds: int, seed: int) -> list[dict[str, Any]]:
    from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
    from blueprint.climbing.move_inputs import InputLists
    from blueprint.game_lockstep import play_rounds
    from blueprint.papers.listening import load_persona_agent
    from blueprint.papers.personality_rules import RULED
    from blueprint.soft_choices import SoftAgent

    network = load_climbing_blueprint(path, inputs.game).network
    deals = inputs.deal(rounds, np.random.default_rng([seed, 0x7E]))
    played = play_rounds(deals, SoftAgent(network), InputLists(inputs))
    number = np.bincount(played.rounds, minlength=rounds)
    found: list[dict[str, Any]] = []
    for name in RULED:
        for alpha in WEIGHTS:
            own = load_persona_agent(path, inputs.game, name, alpha=alpha)
            same = same_types(inputs, played, own, _ruled(inputs, name))
            share = (np.bincount(played.rounds, same, rounds) / np.maximum(number, 1))[number > 0]
            found.append({"personality": name, "alpha": alpha, "decisions": len(played), **_estimate(share)})
    return found


def recognised(
    path: Path, inputs: MoveInputs, rounds: int, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64], Ints, Ints]:
    """Return what a network says of the other seats at each decision: four arrays, [k].

    Whether it is right, which share of its cards the other has played, its true type, and the round. What it
    says is weighed by how often it met each type in training, so that all four count evenly.
    """
    from blueprint.checkpoint import read_checkpoint
    from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
    from blueprint.climbing.move_config import described_config
    from blueprint.climbing.move_inputs import InputLists
    from blueprint.game_lockstep import play_rounds
    from blueprint.papers.fields import PERSONALITIES
    from blueprint.papers.players import climbing_personas
    from blueprint.papers.pruning import hand_rests
    from blueprint.soft_choices import SoftAgent

    network = load_climbing_blueprint(path, inputs.game).network
    trained = described_config(path, read_checkpoint(path, prefix="network.")[1], inputs.game)
    rng = np.random.default_rng([seed, 0x7F])
    kinds = len(PERSONALITIES)
    seats = inputs.game.num_players
    types = rng.integers(0, kinds, (rounds, seats))
    # as in training: what a network is recognised by is how it plays there
    soft = SoftAgent(network, temperature=trained.temperature, rng=rng)
    states = inputs.deal(rounds, rng)
    rests = hand_rests(inputs.game, "a network of personalities", "have them")
    dealt = rests.left(states).copy()
    played = play_rounds(states, climbing_personas(soft, inputs, types), InputLists(inputs))
    met = np.full(kinds, trained.personas / (kinds - 1))
    met[-1] = 1 - trained.personas
    said = (network.types(played.states, np.arange(len(played)), played.seats) / met).argmax(2)
    others = (played.seats[:, None] + np.arange(1, seats)) % seats
    left = np.take_along_axis(rests.left(played.states), others, 1)
    had = np.take_along_axis(dealt[played.rounds], others, 1)
    true = types[played.rounds[:, None], others]
    found = (said == true, 1 - left / had, true, np.repeat(played.rounds, seats - 1).reshape(true.shape))
    return found[0].ravel(), found[1].ravel(), found[2].ravel(), found[3].ravel()


def _recognition(path: Path, inputs: MoveInputs, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Return how often a network is right, by the other's share of cards played, and late by its type.

    Rows of nothing said are left out, all of them for a network that does not say.
    """
    from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
    from blueprint.papers.fields import PERSONALITIES

    if not load_climbing_blueprint(path, inputs.game).network.knows_types:
        return []
    right, played, true, of = recognised(path, inputs, rounds, seed)
    late = played >= PLAYED[-1][0]
    some = {
        f"{100 * low:.0f} to {min(100, 100 * high):.0f} % of its cards played": (low <= played)
        & (played < high)
        for low, high in PLAYED
    }
    some |= {f"{name}, the last of these": late & (true == k) for k, name in enumerate(PERSONALITIES)}
    found: list[dict[str, Any]] = []
    for words, mask in some.items():
        if not mask.any():
            continue
        number = np.bincount(of[mask], minlength=rounds)
        share = np.bincount(of[mask], right[mask], rounds)[number > 0] / number[number > 0]
        found.append({"of": words, "said": int(mask.sum()), **_estimate(share)})
    return found


@click.command("persona-styles")
@click.argument("checkpoint", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--game", type=click.Choice(GAMES), default=GAMES[0], show_default=True)
@click.option("--rounds", type=CountType(2), default=200, show_default=True, help="Rounds held out.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the cards.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def persona_styles(checkpoint: Path | None, game: str, rounds: int, seed: int, as_json: bool) -> None:
    """Measure the personalities' rules, or how well CHECKPOINT plays in their manner."""
    from blueprint.climbing.move_inputs import move_inputs
    from blueprint.papers.personality_rules import RULED
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
    known = _recognition(checkpoint, inputs, rounds, seed)
    if as_json:
        print_json({"action type": found, "types of others": known})
        return
    by = {(row["personality"], row["alpha"]): _words(row) for row in found}
    rows = [(name, *(by[name, alpha] for alpha in WEIGHTS)) for name in RULED]
    click.echo(f"{found[0]['decisions']:,} decisions\n")
    heads = ("action type as the rule's", *(f"α = {alpha:g}" for alpha in WEIGHTS))
    click.echo(markdown_table(heads, rows, "l" + "r" * len(WEIGHTS)))
    if known:
        heads = ("the others' types", "said", "rightly")
        rows = [(row["of"], f"{row['said']:,}", _words(row)) for row in known]
        click.echo("\n" + markdown_table(heads, rows, "lrr"))


if __name__ == "__main__":
    run_alone(persona_styles)
