"""Positions of GuanDan with a judge: what each candidate move is worth in many deals, played to the end.

Rounds differ by whole levels from luck alone, so two ways to search differ visibly only after thousands of
rounds. On the same positions they differ by what they choose, and a judge says at once what that is worth:
the mean payoff of the move in sampled deals, every seat going on by the blueprint's best move. The judge
believes what uniform deals say about hidden hands; the payoff in the deal as it was stands beside it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.structured import join
from games.guandan.cards import ACTION
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.round import advance, deal, legal
from games.guandan.rounds.state import STATE
from games.support.files import LineFile, check_folder, read_bytes, unique
from gs2.guandan.agent.evaluator import Evaluator, evaluator_values
from gs2.guandan.agent.rollout import Rollouts

__all__ = [
    "Judged",
    "decision_positions",
    "drawn_positions",
    "judge_moves",
    "read_judged",
    "write_judged",
]

GAP = 0.6
"""Levels behind the blueprint's best move up to which a move is judged."""
MOST = 6
"""Moves judged at one position."""
DEPTHS = (0, 2, 4, 8, 16)
"""Decisions of a rollout after which the evaluator's value is noted on the way to the end."""
ROUNDS = 8
"""Rounds of self-play at once; positions are drawn from so many before more are played."""


@dataclass(frozen=True, eq=False)
class Judged:
    """One position and what its moves are worth.

    name: of the position, with all that it depends on: BLUEPRINT/WORLDS/SEED-NUMBER. state: [1] STATE, the
    deal as it was. moves: [k] ACTION, blueprint's best first.
    payoffs: [w, k] float64 in the sampled deals, to the team to act; actual: [k] in the deal as it was.
    values: [d, w, k] float64, the evaluator's value after `DEPTHS` decisions of the same rollouts.
    """

    name: str
    state: NDArray[Any]
    moves: NDArray[Any]
    payoffs: NDArray[np.float64]
    actual: NDArray[np.float64]
    values: NDArray[np.float64]


def decision_positions(evaluator: Evaluator, rounds: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return the positions of greedy self-play at which a second move comes near the best, [n] STATE."""
    states = deal(rounds, rng, level=rng.integers(0, 13, rounds))
    found = []
    while len(live := np.flatnonzero(states["player"] >= 0)):
        here = states[live]
        table = legal(here, canonical=True)
        q = evaluator_values(evaluator, here, table)
        top = np.maximum.reduceat(q, table.offsets[:-1])
        near = np.add.reduceat(q >= top[table.rows] - GAP, table.offsets[:-1])
        found.append(here[near > 1])
        best = [int(np.argmax(q[a:b])) + a for a, b in zip(table.offsets, table.offsets[1:], strict=False)]
        advance(here, table.values[best])
        states[live] = here
    return join(found)


def judge_moves(
    state: NDArray[Any], moves: NDArray[Any], worlds: int, rollouts: Rollouts, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the payoffs of moves in sampled deals, [worlds, k], in the deal as it is, [k], and on the way.

    On the way: [d, worlds, k], values in the sampled deals after `DEPTHS` decisions.
    """
    seat = int(state["player"][0])
    deals = join([state, determinise(np.repeat(state, worlds), seat, rng)])
    after = np.repeat(deals, len(moves))
    advance(after, np.tile(moves, len(deals)))
    shape, sign = (len(deals), len(moves)), 1 - 2 * (seat & 1)
    steps = np.diff(DEPTHS, prepend=0)
    values = np.array([sign * rollouts.payoffs(after, int(step)).reshape(shape) for step in steps])
    payoffs = sign * rollouts.payoffs(after).reshape(shape)
    return payoffs[1:], payoffs[0], values[:, 1:]


def near_moves(evaluator: Evaluator, state: NDArray[Any]) -> NDArray[Any]:
    """Return the moves that are judged, best by the blueprint first, [k] ACTION."""
    table = legal(state, canonical=True)
    q = evaluator_values(evaluator, state, table)
    order = np.argsort(-q, kind="stable")
    near: NDArray[Any] = table.values[order[q[order] >= q[order[0]] - GAP][:MOST]]
    return near


def write_judged(path: Path, evaluator: Evaluator, positions: int, worlds: int, seed: int) -> Iterator[int]:
    """Judge positions and append them to a file; yield how many it holds, those written before included.

    The first of many positions are those that fewer would be. Rows of other seeds, blueprints or numbers of
    deals may stand in the file too.
    """
    check_folder(path.parent)
    with LineFile(path) as file:
        yield from _write_judged(file, evaluator, positions, worlds, seed)


def _write_judged(
    file: LineFile, evaluator: Evaluator, positions: int, worlds: int, seed: int
) -> Iterator[int]:
    names = [parse_judged(line, f"{file.path}, line {n}").name for n, line in enumerate(file.lines, 1)]
    wanted = [f"{evaluator.name}/{worlds}/{seed}-{number}" for number in range(positions)]
    done = set(names).intersection(wanted)
    rollouts = Rollouts(evaluator)
    yield len(done)
    for number, (name, state) in enumerate(zip(wanted, drawn_positions(evaluator, seed), strict=False)):
        if name in done:
            continue
        moves = near_moves(evaluator, state)
        dealt = np.random.default_rng([seed, number])
        found = judge_moves(state, moves, worlds, rollouts, dealt)
        file.append([json.dumps(to_row(name, state, moves, *found))])
        yield number + 1


def drawn_positions(evaluator: Evaluator, seed: int) -> Iterator[NDArray[Any]]:
    """Yield positions in an order that depends on the seed and the evaluator alone, [1] STATE each."""
    for part in itertools.count():
        rng = np.random.default_rng([seed, part, ROUNDS])
        states = decision_positions(evaluator, ROUNDS, rng)
        if not len(states):
            return
        for at in rng.permutation(len(states)):
            yield states[at : at + 1]


def to_row(
    name: str,
    state: NDArray[Any],
    moves: NDArray[Any],
    payoffs: NDArray[Any],
    actual: NDArray[Any],
    values: NDArray[np.float64],
) -> dict[str, object]:
    """Return one judged position as plain values; states and moves as hexadecimal bytes."""
    return {
        "position": name,
        "state": state.tobytes().hex(),
        "moves": moves.tobytes().hex(),
        "payoffs": payoffs.astype(int).tolist(),
        "actual": actual.astype(int).tolist(),
        "values": (1000 * values).astype(int).tolist(),
    }


def read_judged(path: Path, most: int | None = None, *, judge: str | None = None) -> list[Judged]:
    """Return the judged positions of a file, each once, at most `most`.

    judge: name of the network by which they must have been judged; None takes those of any.
    Raises ValueError if a row was not written by `write_judged`, or if another network judged. Warns with
    DoubleRows where one comes again.
    """
    lines = read_bytes(path).split(b"\n")[:-1]
    found = [parse_judged(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    chosen = unique(found, lambda judged: judged.name, path)[:most]
    for name in (judged.name for judged in chosen if judge is not None):
        who = name.partition("/")[0] if "/" in name else "a network it does not name"
        if who != judge:
            raise ValueError(
                f"{path}, position {name}: it must have been judged by the network that is asked, {judge}; "
                f"it was by {who}; name that one by -b, or judge anew"
            )
    return chosen


def parse_judged(line: bytes, where: str) -> Judged:
    """Return the judged position that a line holds. Raises ValueError if it is none."""
    try:
        row = json.loads(line)
        state = np.frombuffer(bytes.fromhex(row["state"]), STATE).copy()
        moves = np.frombuffer(bytes.fromhex(row["moves"]), ACTION).copy()
        payoffs, actual, values = (
            np.array(row[name], np.float64) for name in ("payoffs", "actual", "values")
        )
        k = len(moves)
        fits = len(state) == 1 and isinstance(row["position"], str) and actual.shape == (k,)
        if not (fits and payoffs.shape[1:] == (k,) and values.shape[1:] == (*payoffs.shape[:1], k)):
            raise ValueError("its sizes do not agree")
        return Judged(row["position"], state, moves, payoffs, actual, values / 1000)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{where}: not a judged position ({error}); judge anew") from error
