"""How well a network of the recipe pdhqn tells who plays like whom, and plays like whom it is asked to.

    python -m studies.training.type_recognition CHECKPOINT --rounds 400

Two accuracies, on rounds that no training has seen. *Recognition*: at every decision the network says of
each other seat whether it is aggressive, conservative, balanced or the network itself; told by how many
cards that seat has played. The types are drawn evenly, so that a guess is right in 25 %; what the network
says is divided by how often it met each in training. *Action type*, the measure of the paper (section 4.3,
table 4): how often the move chosen under a personality is of the type that the rule-based agent of that
personality chooses, at the decisions of the network's seats, by the weight alpha. Intervals: 95 %,
bootstrapped over rounds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from gs2.commands.common import SEED, CountType, print_json
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.papers.danzero import DanZeroPlay
    from blueprint.protocol import Decisions

__all__ = ["Accuracy", "action_types", "recognition", "type_recognition"]

BINS = ((0, 0), (1, 4), (5, 8), (9, 12), (13, 16), (17, 20), (21, 26))
"""Cards that a seat has played, both ends included."""
ALPHAS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Accuracy:
    """A share of right answers: what of, how many there were, the mean and its interval."""

    what: str
    answers: int
    mean: float
    low: float
    high: float


def _accuracy(what: str, right: NDArray[np.bool_], rounds: NDArray[np.int64]) -> Accuracy:
    """Return the share of right answers; they are drawn anew round by round for the interval."""
    from games.support.bootstrap import bootstrap_intervals

    number = int(rounds.max(initial=-1)) + 1
    found = np.bincount(rounds, right, number)
    asked = np.bincount(rounds, minlength=number).astype(float)

    def share(samples: NDArray[np.int64]) -> NDArray[np.float64]:
        ratio: NDArray[np.float64] = found[samples].sum(1) / np.maximum(asked[samples].sum(1), 1)
        return ratio[None]

    kept = np.flatnonzero(asked)
    low, high = bootstrap_intervals(kept, share, np.random.default_rng(0), resamples=1000)
    return Accuracy(what, len(right), float(right.mean()), float(low[0]), float(high[0]))


class _Listener:
    """Plays by types, and keeps what the network says of the others and the decisions of its own seats."""

    def __init__(self, network: DanZeroPlay, types: NDArray[np.uint8], trained: TrainConfig) -> None:
        from blueprint.guandan.play.network_play import InferenceAgent
        from blueprint.guandan.rules.split_agents import PersonalityAgent
        from blueprint.papers.fields import PERSONALITIES
        from blueprint.papers.players import guandan_personas
        from blueprint.papers.styles import StyledAgent

        self.network, self.types = network, types
        self.rules = {name: PersonalityAgent(name) for name in PERSONALITIES[:3]}
        self.blends = {
            (name, alpha): StyledAgent(network, name, alpha) for name in self.rules for alpha in ALPHAS
        }
        # as in training: what a network is recognised by is how it plays there
        soft = InferenceAgent(network, temperature=trained.temperature, rng=np.random.default_rng(0))
        self.player = guandan_personas(soft, types)
        share = trained.personas
        self.met = np.array([share / 3] * 3 + [1 - share])
        self.told: list[tuple[NDArray[np.int64], ...]] = []
        self.same: dict[str, list[tuple[NDArray[np.bool_], NDArray[np.int64]]]] = {}

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        d = decisions
        seats = np.asarray(d.seats, np.int64)
        said = (self.network.types(d.states, d.rows, seats) / self.met).argmax(2)
        others = (seats[:, None] + np.arange(1, 4)) % 4
        played = 27 - d.states["left"][d.rows[:, None], others].astype(np.int64)
        true = self.types[d.rows[:, None], others].astype(np.int64)
        rows = np.repeat(d.rows, 3)
        self.told.append((said.ravel(), true.ravel(), played.ravel(), rows))
        own = self.types[d.rows, seats] == 3
        if own.any():
            self._compare(d.where(own))
        return self.player(d)

    def _compare(self, decisions: Decisions) -> None:
        kinds, starts = decisions.actions["type"], decisions.offsets[:-1]
        rules = {name: kinds[starts + rule(decisions)] for name, rule in self.rules.items()}
        for (name, alpha), blend in self.blends.items():
            same = kinds[starts + blend(decisions)] == rules[name]
            self.same.setdefault(f"{name}, alpha {alpha:g}", []).append((same, decisions.rows.copy()))


def _listened(network: DanZeroPlay, rounds: int, seed: int, trained: TrainConfig) -> _Listener:
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from blueprint.papers.fields import PERSONALITIES

    rng = np.random.default_rng([seed, 0x7E57])
    types = rng.integers(0, len(PERSONALITIES), (rounds, 4), dtype=np.uint8)
    listener = _Listener(network, types, trained)
    play_rounds(deal_rounds(rounds, rng, tribute=0.5), [listener], Scratch(), record=False)
    return listener


def recognition(listener: Any) -> list[Accuracy]:
    """Return the accuracy of what was said of the other seats, by cards they had played and by type."""
    from blueprint.papers.fields import PERSONALITIES

    said, true, played, rows = (np.concatenate(part) for part in zip(*listener.told, strict=True))
    right = said == true
    found = []
    for low, high in BINS:
        some = (played >= low) & (played <= high)
        if some.any():
            words = f"{low} to {high}" if high > low else f"{low}"
            found.append(_accuracy(f"{words} cards played", right[some], rows[some]))
    late = played >= BINS[3][0]
    for k, name in enumerate(PERSONALITIES):
        some = late & (true == k)
        if some.any():
            found.append(_accuracy(f"{name}, 9 cards and more", right[some], rows[some]))
    return [*found, _accuracy("all", right, rows)]


def action_types(listener: Any) -> list[Accuracy]:
    """Return how often moves under a personality are of the type of the rule's, by the weight alpha."""
    return [
        _accuracy(key, *(np.concatenate(part) for part in zip(*parts, strict=True)))
        for key, parts in listener.same.items()
    ]


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rounds", type=CountType(2), default=400, show_default=True, help="Rounds held out.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of cards and types.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def type_recognition(checkpoint: Path, rounds: int, seed: int, as_json: bool) -> None:
    """Measure how well the network in CHECKPOINT tells types of play, and plays by them."""
    from blueprint.checkpoint import read_checkpoint
    from blueprint.guandan.network.torch_network import load_any_network
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.papers.danzero import DanZeroPlay

    network = load_any_network(checkpoint)
    if not isinstance(network, DanZeroPlay) or not network.has_personalities:
        raise click.UsageError(
            f"{checkpoint} must hold a network with a personality head; it has none; train --recipe pdhqn"
        )
    _, description = read_checkpoint(checkpoint, prefix="-")
    trained = TrainConfig.from_json(description.get("train", {}))
    listener = _listened(network, rounds, seed, trained)
    tables = {"recognition": recognition(listener), "action type": action_types(listener)}
    if as_json:
        print_json({name: [asdict(row) for row in rows] for name, rows in tables.items()})
        return
    for name, rows in tables.items():
        cells = [
            (row.what, f"{row.answers:,}", f"{row.mean:.1%} [{row.low:.1%}, {row.high:.1%}]") for row in rows
        ]
        click.echo(markdown_table((name, "answers", "right"), cells, "lrr") + "\n")


if __name__ == "__main__":
    run_alone(type_recognition)
