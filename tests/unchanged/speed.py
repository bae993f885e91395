"""How fast this checkout is beside another: the same work in turns, in one run.

    python -m tests.unchanged.speed --before DIR               every piece of work, 5 pairs in 3 processes
    python -m tests.unchanged.speed --before DIR agent refine  some pieces
    python -m tests.unchanged.speed --before DIR --after DIR   another checkout than this one

A process of each checkout stands by, warm; the two work in turns, A B B A and so on, so that a machine whose
speed drifts slows both. Then fresh processes take over, since where a process lies in memory matters too.
Ratios are after over before in processor seconds, pair by pair: below 1 is faster. A median above 1.03 is
marked. A busy machine shows in the spread: with a wide one, run it again on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unchanged.checkout import PAPER, ROLLOUT, use_checkout

__all__ = ["WORKS", "Worker", "compare_speed"]

ROOT = Path(__file__).parent.parent.parent
MOST = 1.03
"""Ratio from which a median is marked."""


def _refine(game: str, method: str, sample: int | None) -> Callable[[], Any]:
    """Return the work of refining a game's blueprint, or a sample of its infosets."""
    from experiments.refinement.grid import Cell
    from experiments.refinement.run import run_cell

    cell = Cell(game, "cfr:100", method, "sequential", None, 300, sample, 0)
    return lambda: run_cell(cell)


def _solve(game: str, iterations: int) -> Callable[[], Any]:
    """Return the work of solving a game by CFR."""
    from cfr.sequence_form import sequence_form
    from cfr.solver import solve
    from cfr.tree import grow
    from games.registry import load_game

    form = sequence_form(grow(load_game(game), keep_states=False))
    return lambda: solve(form, iterations=iterations)


def _moves(canonical: bool) -> Callable[[], Any]:
    """Return the work of listing and playing moves in random rounds."""
    import numpy as np

    from blueprint.guandan.play.deals import deal_rounds
    from games.guandan.rounds.round import advance, legal

    def work() -> None:
        rng = np.random.default_rng(0)
        states = deal_rounds(3000, rng, tribute=0.5)
        while len(states):
            table = legal(states, canonical=canonical)
            index = table.offsets[:-1] + (rng.random(len(states)) * table.counts).astype(np.int64)
            advance(states, table.values[index])
            states = states[states["player"] >= 0]

    return work


def _self_play(rounds: int) -> Callable[[], Any]:
    """Return the work of the network's self-play in lockstep."""
    import numpy as np

    from blueprint.game_lockstep import play_rounds
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.selfplay import Scratch
    from gs2.guandan.agent_families import load_batched_agent

    agent, scratch = load_batched_agent("blueprint", np.random.default_rng(0)), Scratch()
    return lambda: play_rounds(deal_rounds(rounds, np.random.default_rng(0)), agent, scratch)


def _agent(name: str, rounds: int) -> Callable[[], Any]:
    """Return the work of an agent deciding one decision at a time, as at a table."""
    import numpy as np

    from blueprint.guandan.play.deals import deal_rounds
    from games.guandan.rounds.round import advance
    from gs2.guandan.agent_families import load_batched_agent

    def work() -> None:
        agent = load_batched_agent(name, np.random.default_rng(0))
        for seed in range(rounds):
            state = deal_rounds(1, np.random.default_rng(seed))
            while state["player"][0] >= 0:
                advance(state, agent.act(state))

    return work


def _training() -> Callable[[], Any]:
    """Return the work of a training step from the shipped checkpoint."""
    from tests.unchanged.training import training_step

    return training_step


WORKS: dict[str, Callable[[], Callable[[], Any]]] = {
    "refine": lambda: _refine("leduc_poker", "gs2+", None),
    "closure": lambda: _refine("goofspiel_10_ascending_3", "gs2+", 40),
    "generate": lambda: _refine("leduc_poker", "gs2+:whole=0,k=3", 100),
    "cfr leduc": lambda: _solve("leduc_poker", 30_000),
    "cfr dice": lambda: _solve("liars_dice_6", 60),
    "moves": lambda: _moves(False),
    "canonical": lambda: _moves(True),
    "self-play": lambda: _self_play(100),
    "training": _training,
    "agent": lambda: _agent(ROLLOUT, 2),
    "paper": lambda: _agent(PAPER, 1),
}
"""Pieces of work by name: searches, CFR, move lists, self-play, a training step, the agents."""


def _serve(root: Path) -> None:
    """Do the work whose name comes in, a line each; answer with processor and wall seconds."""
    use_checkout(root)
    import torch

    torch.set_num_threads(1)
    ready: dict[str, Callable[[], Any]] = {}
    answer = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = WORKS[name]()
            ready[name]()
        began, ran = time.perf_counter(), time.process_time()
        ready[name]()
        print(json.dumps([time.process_time() - ran, time.perf_counter() - began]), file=answer, flush=True)


class Worker:
    """A process with the code of one checkout, warm from its first answer on."""

    def __init__(self, root: Path) -> None:
        """Start it. root: the checkout."""
        command = [sys.executable, "-m", "tests.unchanged.speed", "--serve", "--before", str(root.resolve())]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def seconds(self, name: str) -> tuple[float, float]:
        """Return the processor and wall seconds of a piece of work; raise RuntimeError if it failed."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"speed: the process ended in {name!r}; its error stands above")
        ran, took = json.loads(line)
        return float(ran), float(took)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def compare_speed(
    before: Path, after: Path, names: tuple[str, ...], *, processes: int = 3, pairs: int = 5
) -> dict[str, list[tuple[float, float]]]:
    """Return the processor seconds (before, after) of every pair, by piece of work.

    processes: fresh ones of each checkout. pairs: of each process.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for number in range(processes):
        workers = Worker(before), Worker(after)
        try:
            for name in names:
                print(f"… {name}, processes {number + 1} of {processes}", file=sys.stderr, flush=True)
                for worker in workers:
                    worker.seconds(name)
                for pair in range(pairs):
                    order = (0, 1) if pair % 2 == 0 else (1, 0)
                    took = {which: workers[which].seconds(name)[0] for which in order}
                    found[name].append((took[0], took[1]))
        finally:
            for worker in workers:
                worker.close()
    return found


def main() -> int:
    """Return the exit status: 1 if a median ratio is above `MOST`."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.unchanged.speed", description=__doc__.split("\n")[0]
    )
    parser.add_argument("names", nargs="*", help=f"{', '.join(WORKS)} (default: all)")
    parser.add_argument("--before", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--after", type=Path, default=ROOT, help="the checkout compared (default: this one)")
    parser.add_argument("--processes", type=int, default=3, help="fresh processes of each (default 3)")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of each process (default 5)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        _serve(chosen.before)
        return 0
    if unknown := set(chosen.names) - set(WORKS):
        parser.error(f"work must be among {', '.join(WORKS)}; got {', '.join(sorted(unknown))}")
    found = compare_speed(
        chosen.before,
        chosen.after,
        tuple(chosen.names) or tuple(WORKS),
        processes=chosen.processes,
        pairs=chosen.pairs,
    )
    print("after / before, processor seconds; below 1 is faster")
    print(
        f"{'work':10} {'before':>9} {'after':>9} {'least':>7} {'median':>7} {'most':>7}  of the fastest runs"
    )
    slower = False
    for name, pairs in found.items():
        ratios = sorted(after / before for before, after in pairs)
        median = statistics.median(ratios)
        old, new = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
        slower |= median > MOST
        mark = "  slower" if median > MOST else ""
        print(
            f"{name:10} {old:8.3f}s {new:8.3f}s {ratios[0]:7.3f} {median:7.3f} {ratios[-1]:7.3f}  "
            f"{new / old:.3f}{mark}"
        )
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
