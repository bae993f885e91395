"""Whole matches of random players, every invariant checked at every decision.

    python -m studies.simulate_guandan --matches 10000 --seed 1

Each match draws from its own stream: `replay_match(seed)` plays one again at a single table.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from games.game import TERMINAL
from games.guandan.cards import ACTION, DECK, NUM_RANKS, pack
from games.guandan.matches.lockstep import OVER, PLAY, Matches
from games.guandan.matches.match import Match
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import NOBODY
from games.guandan.rules import Rules
from games.support.splitmix import STEP, mixed_bits
from gs2.commands.common import COUNT, SEED, print_json
from gs2.commands.groups import run_alone
from gs2.commands.progress import working

_DECK = pack(DECK)
_GAME = GuanDan()


@dataclass(frozen=True)
class SimulationSummary:
    """What happened in simulated matches.

    matches, rounds, decisions: how many (decisions include tribute and return cards).
    longest: most rounds of one match. doubles, singles, lasts: rounds won with the partner second, third,
    last. tributes, antis: rounds that began with tribute, and that should have but for the big jokers.
    drops: teams that fell from A to 2. drawn: matches without a winner. wins: of each team.
    seconds: time taken. digest: of every final round, so that equal runs can be told.
    """

    matches: int
    rounds: int
    decisions: int
    longest: int
    doubles: int
    singles: int
    lasts: int
    tributes: int
    antis: int
    drops: int
    drawn: int
    wins: tuple[int, int]
    seconds: float
    digest: str


def _draw(seeds: NDArray[np.uint64], counters: NDArray[np.uint64], bounds: NDArray[Any]) -> NDArray[np.int64]:
    """Return the counter-th number in [0, bound) of each seed's stream (SplitMix64), [n] int64."""
    bits = mixed_bits((seeds ^ np.uint64(0x5DEECE66D)) + counters * STEP) >> np.uint64(32)
    return (bits * bounds.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def replay_match(seed: int, *, rules: Rules | str = "ruling") -> Match:
    """Return one of the matches of `simulate_matches`, played again at a single table."""
    match = Match(seed, rules=rules)
    counter = 0
    while not match.over:
        due = match.pending()[0]
        index = _draw(
            np.array([seed], np.uint64), np.array([counter], np.uint64), np.array([len(due.actions)])
        )
        match.apply(due.seat, int(index[0]))
        counter += 1
    return match


def _require(holds: NDArray[Any], what: str, seeds: NDArray[Any]) -> None:
    """Raise AssertionError with the seeds of the matches where an invariant is broken."""
    if not np.all(holds):
        raise AssertionError(f"{what}: broken in matches with seeds {seeds[~holds][:5].tolist()}")


def _sizes(packed: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of cards in packed multisets [..., 2], int64: a sum over two-bit fields."""
    low = np.uint64(0x3333333333333333)
    x = (packed & low) + (packed >> np.uint64(2) & low)
    x = (x & np.uint64(0x0F0F0F0F0F0F0F0F)) + (x >> np.uint64(4) & np.uint64(0x0F0F0F0F0F0F0F0F))
    sizes: NDArray[np.int64] = (x * np.uint64(0x0101010101010101) >> np.uint64(56)).sum(-1).astype(np.int64)
    return sizes


def check_play(matches: Matches, counts: NDArray[np.int64]) -> None:
    """Check the rounds in play. counts: legal moves of each match."""
    rows = np.flatnonzero(matches.phase == PLAY)
    seeds, states = matches.seeds[rows], matches.states[rows]
    n = np.arange(len(rows))
    cards = (states["hand"] + states["played"]).sum(1)
    _require(np.all(cards == _DECK, 1), "108 cards conserved", seeds)
    held = _sizes(states["hand"])
    _require(np.all(held == states["left"], 1), "public counts", seeds)
    player = states["player"]
    _require((player >= 0) & (player < 4), "somebody acts", seeds)
    _require(held[n, player] > 0, "who acts holds cards", seeds)
    _require(counts[rows] > 0, "who acts has a move", seeds)
    _require((held == 0).sum(1) == states["finished"], "finished seats counted", seeds)
    _require(states["finished"] < 4, "somebody still holds cards", seeds)
    leads = states["leader"] == NOBODY
    _require(leads == (states["beat"]["type"] == 0), "a lead has nothing to beat", seeds)


def _check_round(matches: Matches, rows: NDArray[Any], states: NDArray[Any], before: NDArray[Any]) -> None:
    """Check finished rounds. before: [k] MATCH, as it was while they were played."""
    seeds = matches.seeds[rows]
    payoffs = _GAME.returns(states)
    _require(payoffs.sum(1) == 0, "payoffs sum to zero", seeds)
    _require(np.all(payoffs[:, :2] == payoffs[:, 2:], 1), "a team is paid alike", seeds)
    _require(np.all(np.sort(states["order"], 1) == np.arange(4), 1), "four seats in the order", seeds)
    left = np.take_along_axis(states["left"], states["order"].astype(np.int64), 1)
    _require(left[:, 0] == 0, "the first is out of cards", seeds)
    over = (left[:, 0] == 0) & (left[:, 1] == 0) & (states["order"][:, 0] % 2 == states["order"][:, 1] % 2)
    _require(over | (left[:, 2] == 0), "a round ends when a team is out", seeds)
    levels, was = matches.table["levels"][rows], before["levels"]
    _require(np.all(levels < NUM_RANKS, 1), "levels end at A", seeds)
    loser = 1 - states["order"][:, 0] % 2
    k = np.arange(len(rows))
    _require((levels[k, loser] == was[k, loser]) | (levels[k, loser] == 0), "losers stay or drop to 2", seeds)


def simulate_matches(
    n: int,
    seed: int,
    *,
    rules: Rules | str = "ruling",
    batch: int = 1024,
    max_rounds: int = 5000,
    progress: Callable[[int], None] | None = None,
) -> SimulationSummary:
    """Return a summary of n matches of random players, all invariants checked at every decision.

    seed: from it every match draws a seed of its own. batch: matches in lockstep.
    max_rounds: a match that takes longer counts as one that does not end.
    progress: called with the number of matches finished.
    Raises AssertionError, with the match's seed, if an invariant is broken.
    """
    began = time.perf_counter()
    seeds = np.random.default_rng(seed).integers(0, 2**63, n).astype(np.uint64)
    total = dict.fromkeys(
        ("rounds", "decisions", "doubles", "singles", "lasts", "tributes", "antis", "drops"), 0
    )
    drawn, longest, wins = 0, 0, [0, 0]
    digest = hashlib.sha256()
    for begin in range(0, n, batch):
        matches = Matches(seeds[begin : begin + batch], rules=rules)
        ends = np.zeros((len(matches), 2), np.uint64)
        for name, count in _play_out(matches, ends, max_rounds).items():
            total[name] += count
        table = matches.table
        longest = max(longest, int(table["round"].max()))
        total["rounds"] += int(table["round"].sum())
        total["drops"] += int(table["drops"].sum())
        drawn += int(np.sum(table["winner"] == NOBODY))
        wins = [wins[t] + int(np.sum(table["winner"] == t)) for t in range(2)]
        digest.update(ends.tobytes())
        if progress is not None:
            progress(min(begin + batch, n))
    return SimulationSummary(
        matches=n,
        longest=longest,
        drawn=drawn,
        wins=(wins[0], wins[1]),
        seconds=time.perf_counter() - began,
        digest=digest.hexdigest()[:16],
        **total,
    )


def _play_out(matches: Matches, ends: NDArray[np.uint64], max_rounds: int) -> dict[str, int]:
    """Play a batch to the end; return what to count, and each match's last public hash in `ends`."""
    count = dict.fromkeys(("decisions", "doubles", "singles", "lasts", "tributes", "antis"), 0)
    counters = np.zeros(len(matches), np.uint64)
    seeds = matches.seeds
    while not matches.over.all():
        while len(due := matches.card_decisions()):
            # of two payers in one match the second draws the next number
            second = np.concatenate([[False], due.rows[1:] == due.rows[:-1]])
            index = _draw(seeds[due.rows], counters[due.rows] + second.astype(np.uint64), due.options.sum(1))
            order = np.cumsum(due.options, 1) - 1
            matches.give(due, np.argmax(due.options & (order == index[:, None]), 1))
            np.add.at(counters, due.rows, np.uint64(1))
            count["decisions"] += len(due)
            count["tributes"] += int(np.sum(~due.back & (due.slots == 0)))
        moves = legal(matches.states)
        counts = moves.counts
        check_play(matches, counts)
        index = moves.offsets[:-1] + _draw(seeds, counters, counts)
        live = counts > 0
        actions = np.zeros(len(matches), ACTION)
        actions[live] = moves.values[index[live]]
        counters += live.astype(np.uint64)
        count["decisions"] += int(live.sum())
        before = matches.table.copy()
        ended = matches.play(actions)
        if len(ended.rows):
            _check_round(matches, ended.rows, ended.states, before[ended.rows])
            first = ended.states["order"][:, 0]
            place = np.argmax(ended.states["order"] == ((first + 2) % 4)[:, None], 1)
            for name, where in (("doubles", 1), ("singles", 2), ("lasts", 3)):
                count[name] += int(np.sum(place == where))
            ends[ended.rows] = ended.states["hash"]
            count["antis"] += int(matches.table["anti"][ended.rows[~ended.over]].sum())
            if matches.table["round"].max() > max_rounds:
                late = seeds[matches.table["round"] > max_rounds]
                raise AssertionError(f"matches that do not end: seeds {late[:5].tolist()}")
    _require(matches.phase == OVER, "every match ends", seeds)
    _require(matches.states["player"] == TERMINAL, "nobody acts after the end", seeds)
    return count


@click.command("simulate")
@click.option("--matches", type=COUNT, default=10_000, show_default=True, help="Number of matches.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the run.")
@click.option(
    "--rules",
    type=click.Choice(["ruling", "openguandan", "njupt", "paper"]),
    default="ruling",
    show_default=True,
    help="Rules to play by.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def simulate(matches: int, seed: int, rules: str, as_json: bool) -> None:
    """Play whole matches of random players and check every invariant at every decision."""
    with working("playing …") as tell:
        summary = simulate_matches(
            matches, seed, rules=rules, progress=lambda done: tell(f"{done} of {matches} matches")
        )
    if as_json:
        print_json(asdict(summary))
        return
    for name, value in asdict(summary).items():
        click.echo(f"{name:10} {value}")


if __name__ == "__main__":
    run_alone(simulate)
