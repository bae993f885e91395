"""What an opponent model knows, and what pruning leaves: hands, bombs, moves to the end, and time.

    python -m studies.training.opponent_model CHECKPOINT --rounds 200

On rounds that no training has seen, which the network of a recipe odmc plays itself: nats a hidden card,
the share of cards whose likeliest holder is right, and the number of bombs in a hand, beside uniform odds;
the fewest moves of a hand, beside those of hands of as many cards (section 4.2 of ODMC; the paper gives no
figures for these). Then what move pruning takes away, by how many moves more than the least are allowed
(its tables 6 and 7), and the time that a decision takes with pruning and without. Intervals: 95 %,
bootstrapped over rounds.
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
from games.support.array_types import Array
from gs2.commands.common import SEED, CountType, print_json
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.papers.danzero import DanZeroPlay
    from blueprint.protocol import Decisions

__all__ = ["Seen", "bomb_counts", "expected_bombs", "knowledge", "opponent_model", "pruned_shares"]

ALLOWED = (2, 3, 4, 5, 6, 7)
"""Moves more than the least, N / n + d of the paper."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Decisions of self-play: states [n] STATE, seats and rounds [n]; moves before and after pruning."""

    states: Array
    seats: NDArray[np.int64]
    rounds: NDArray[np.int64]
    moves: NDArray[np.int64]
    left: NDArray[np.int64]


class _Watcher:
    """Plays the network's best move, and keeps the decisions with what pruning would leave."""

    def __init__(self, network: DanZeroPlay) -> None:
        from blueprint.guandan.play.network_play import InferenceAgent

        self.player = InferenceAgent(network)
        self.kept: list[tuple[Array, ...]] = []

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        d = decisions
        left = np.stack([_left(d, allowed) for allowed in ALLOWED], 1)
        seats = np.asarray(d.seats, np.int64).copy()
        self.kept.append((d.states[d.rows].copy(), seats, d.rows.copy(), np.diff(d.offsets), left))
        return self.player(d)


def _left(decisions: Decisions, allowed: int) -> NDArray[np.int64]:
    """Return how many moves of each decision leave a rest of at most `allowed` moves more than the least."""
    from blueprint.guandan.rules.min_combination import min_combinations
    from games.guandan.cards import PASS, STRAIGHT_FLUSH

    d, counts = decisions, np.diff(decisions.offsets)
    at = np.repeat(d.rows, counts)
    hands = d.states["hand"][at, np.repeat(np.asarray(d.seats, np.int64), counts)]
    rest = hands - np.stack([d.actions["lo"], d.actions["hi"]], 1)
    fewest = min_combinations(rest, d.states["level"][at].astype(np.int64))
    least = np.repeat(np.minimum.reduceat(fewest, d.offsets[:-1]), counts)
    kind = d.actions["type"]
    kept = (fewest <= least + allowed) | (kind == PASS) | (kind >= STRAIGHT_FLUSH)
    found: NDArray[np.int64] = np.add.reduceat(kept.astype(np.int64), d.offsets[:-1])
    return found


def _seen(network: DanZeroPlay, rounds: int, seed: int) -> Seen:
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.selfplay import Scratch, play_rounds

    watcher = _Watcher(network)
    states = deal_rounds(rounds, np.random.default_rng([seed, 0x0D3C]), tribute=0.5)
    play_rounds(states, [watcher], Scratch(), record=False)
    return Seen(*(np.concatenate(part) for part in zip(*watcher.kept, strict=True)))


def bomb_counts(hands: NDArray[np.uint8], levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks of which a hand holds four natural cards or more, [..]; hands: [n, .., 54] counts."""
    ranks = hands[..., :52].reshape(*hands.shape[:-1], 13, 4).astype(np.int64)
    wild = (levels.reshape(-1, *([1] * (hands.ndim - 1))) == np.arange(13)) * ranks[..., 0]
    found: NDArray[np.int64] = (ranks.sum(-1) - wild >= 4).sum(-1)
    return found


def expected_bombs(
    odds: NDArray[np.float64], unseen: NDArray[np.int64], levels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the expected number of such ranks, [n, 3], were every copy dealt by itself by these odds.

    odds: [n, 3, 54] probabilities; unseen: [n, 54] copies.
    """
    share = np.zeros((*odds.shape[:2], 13, 9))
    share[..., 0] = 1.0
    for card in range(52):
        rank = card // 4
        for copy in (0, 1):
            counts = (unseen[:, card] > copy) & ~((card % 4 == 0) & (levels == rank))
            p = np.where(counts[:, None], odds[:, :, card], 0.0)[..., None]
            grown = share[:, :, rank] * (1 - p)
            grown[..., 1:] += share[:, :, rank, :-1] * p
            share[:, :, rank] = grown
    found: NDArray[np.float64] = share[..., 4:].sum((2, 3))
    return found


def knowledge(network: Any, seen: Seen) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return by measure what the model and uniform odds come to at each decision, [n] each."""
    from blueprint.guandan.network.inputs import hidden_hands
    from blueprint.papers.danzero import hidden_moves
    from games.guandan.cards import unpack

    held = hidden_hands(seen.states, seen.seats)
    levels = seen.states["level"].astype(np.int64)
    rows = np.arange(len(seen.seats))
    unseen = held.sum(1).astype(np.int64)
    logits = network.log_odds(seen.states, seen.seats).astype(np.float64)
    known = np.exp(logits - logits.max(1, keepdims=True))
    known /= known.sum(1, keepdims=True)
    number = unpack(seen.states["hand"]).sum(2, dtype=np.int64)
    sizes = np.stack([number[rows, (seen.seats + j) % 4] for j in (1, 2, 3)], 1)
    even = np.repeat((sizes / np.maximum(sizes.sum(1, keepdims=True), 1))[:, :, None], 54, 2)
    true, bombs = hidden_moves(seen.states, seen.seats), bomb_counts(held, levels)
    total = np.maximum(unseen.sum(1), 1)
    sides = []
    for odds in (known, even):
        nats = -(np.log(np.maximum(odds, 1e-12)) * held).sum((1, 2)) / total
        best = np.take_along_axis(held, odds.argmax(1)[:, None], 1)[:, 0].sum(1) / total
        missed = np.abs(expected_bombs(odds, unseen, levels) - bombs).mean(1)
        sides.append((nats, best, missed))
    told = network.fewest_moves(seen.states, seen.seats).argmax(2)
    # without a model: what hands of as many cards take, over these decisions
    often = np.maximum(np.bincount(sizes.ravel(), minlength=28), 1)
    guess = np.rint(np.bincount(sizes.ravel(), true.ravel(), minlength=28) / often)[sizes]
    off = (np.abs(told - true).mean(1), np.abs(guess - true).mean(1))
    names = ("nats a hidden card", "cards whose likeliest holder is right", "bombs a hand, off by")
    found = {name: (sides[0][k], sides[1][k]) for k, name in enumerate(names)}
    return found | {"fewest moves of a hand, off by": off}


def pruned_shares(seen: Seen) -> list[tuple[int, int, int, float]]:
    """Return (allowed, moves, moves left, share pruned) for each of ALLOWED."""
    moves = int(seen.moves.sum())
    left = seen.left.sum(0)
    return [(a, moves, int(n), 1 - int(n) / moves) for a, n in zip(ALLOWED, left, strict=True)]


def _interval(values: NDArray[np.float64], rounds: NDArray[np.int64]) -> str:
    from games.support.bootstrap import bootstrap_interval

    number = np.bincount(rounds)
    means = (np.bincount(rounds, values) / np.maximum(number, 1))[number > 0]
    low, high = bootstrap_interval(means, np.random.default_rng(0))
    return f"{means.mean():.3f} [{low:.3f}, {high:.3f}]"


def _microseconds(network: DanZeroPlay, prune: int, seed: int) -> float:
    """Return the processor's time of a decision with a choice, in microseconds."""
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.network_play import InferenceAgent
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from blueprint.papers.pruning import pruned_agent

    plain = InferenceAgent(network)
    agent = plain if prune < 0 else pruned_agent(plain, prune)
    deals = deal_rounds(64, np.random.default_rng([seed, 0x71E]), tribute=0.5)
    play_rounds(deals[:2].copy(), [agent], Scratch())
    began = time.process_time()
    record = play_rounds(deals, [agent], Scratch())
    return 1e6 * (time.process_time() - began) / len(record.states)


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rounds", type=CountType(2), default=200, show_default=True, help="Rounds held out.")
@click.option(
    "--prune",
    type=click.IntRange(-1, 27),
    default=2,
    show_default=True,
    help="Margin that is timed, in moves.",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the cards.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def opponent_model(checkpoint: Path, rounds: int, prune: int, seed: int, as_json: bool) -> None:
    """Measure the opponent model in CHECKPOINT, and move pruning in its play."""
    from blueprint.guandan.network.torch_network import load_any_network
    from blueprint.papers.danzero import DanZeroPlay

    network = load_any_network(checkpoint)
    if not isinstance(network, DanZeroPlay) or not network.knows_hands:
        raise click.UsageError(
            f"{checkpoint} must hold a network with an opponent model; it has none; train --recipe odmc"
        )
    seen = _seen(network, rounds, seed)
    known = {
        name: [_interval(one, seen.rounds) for one in pair] for name, pair in knowledge(network, seen).items()
    }
    pruned = pruned_shares(seen)
    margins = {"all moves": -1, f"prune={prune}": prune}
    times = {name: _microseconds(network, margin, seed) for name, margin in margins.items()}
    if as_json:
        print_json({"knowledge": known, "pruned": [list(row) for row in pruned], "microseconds": times})
        return
    rows = [(name, *pair) for name, pair in known.items()]
    click.echo(markdown_table(("of the others", "the model", "without it"), rows, "lrr") + "\n")
    shares = [(str(a), f"{m:,}", f"{n:,}", f"{s:.2%}") for a, m, n, s in pruned]
    heads = ("moves more than the least", "moves", "left", "pruned")
    click.echo(markdown_table(heads, shares, "rrrr") + "\n")
    click.echo("; ".join(f"{name}: {value:,.0f} µs a decision" for name, value in times.items()))


if __name__ == "__main__":
    run_alone(opponent_model)
