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
from collections.abc import Callable
from pathlib import Path

from experiments.bench.works import Piece, Work, timed
from tests.unchanged.checkout import PAPER, ROLLOUT, use_checkout

ROOT = Path(__file__).parent.parent.parent
MOST = 1.03
"""Ratio from which a median is marked."""
HERE, GUANDAN = "tests.unchanged.speed:", "experiments.bench.guandan.works:"


class Worker:
    """A process of its own that does pieces of work; warm from the second answer to one on."""

    def __init__(self, root: Path = ROOT) -> None:
        """Start it. root: the checkout whose packages do the work."""
        program = f"from tests.unchanged.speed import serve; serve({str(root.resolve())!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )

    def ask(self, work: Work) -> None:
        """Let it do a piece once."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([work.name, work.maker, work.options]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Piece:
        """Wait for the piece asked for; raise RuntimeError if it failed."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("speed: the process ended; its error stands above")
        return Piece(*json.loads(line))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def serve(root: str) -> None:
    """Do the pieces of work that come in, a line each, with the packages of a checkout; answer each."""
    if root != str(ROOT):
        use_checkout(Path(root))
    answer, sys.stdout = sys.stdout, sys.stderr
    ready: dict[str, Callable[[], float]] = {}
    for line in sys.stdin:
        if line not in ready:
            ready[line] = Work(*json.loads(line)).made()
        print(json.dumps(timed(ready[line])), file=answer, flush=True)


def refine(
    *, game: str, method: str = "gs2+", sample: int | None = None, **changes: int
) -> Callable[[], int]:
    """Return the work of refining a game's blueprint, or a sample of its infosets. changes: of the method."""
    import numpy as np

    from games.registry import load_game
    from gs2.policies.policy_spec import policy_from_spec
    from gs2.search.config.presets import preset
    from gs2.search.context import SearchContext
    from gs2.search.refine.whole import RefineOptions, refine_both

    context = SearchContext(load_game(game))
    policy = policy_from_spec("cfr:100", context.game, context.tree)
    infosets = np.random.default_rng(0).permutation(context.tree.n_infosets)[:sample]
    options = RefineOptions(infosets=np.sort(infosets))
    config = preset(method, iterations=300, mode="sequential", **changes)
    return lambda: len(refine_both(context, policy, config, options).searches)


def solve(*, game: str, iterations: int) -> Callable[[], int]:
    """Return the work of solving a game by CFR."""
    from cfr.sequence_form import sequence_form
    from cfr.solver import solve
    from cfr.tree import grow
    from games.registry import load_game

    form = sequence_form(grow(load_game(game), keep_states=False))

    def iterate() -> int:
        solve(form, iterations=iterations)
        return iterations

    return iterate


def moves(*, canonical: bool) -> Callable[[], int]:
    """Return the work of 1,000 random rounds of GuanDan in lockstep, by lists of moves."""
    import numpy as np

    from blueprint.guandan.play.deals import deal_rounds
    from games.guandan.rounds.playout import legal
    from games.guandan.rounds.round import advance

    def play() -> int:
        rng = np.random.default_rng(0)
        states, done = deal_rounds(1000, rng, tribute=0.5), 0
        while len(states):
            done += len(states)
            table = legal(states, canonical=canonical)
            drawn = (rng.random(len(states)) * table.counts).astype(np.int64)
            advance(states, table.values[table.offsets[:-1] + drawn])
            states = states[states["player"] >= 0]
        return done

    return play


def agent(*, name: str, rounds: int) -> Callable[[], int]:
    """Return the work of an agent deciding one decision at a time, as at a table."""
    import numpy as np
    import torch

    from blueprint.guandan.play.deals import deal_rounds
    from games.guandan.rounds.round import advance
    from gs2.guandan.agent_families import guandan_agent

    torch.set_num_threads(1)

    def decide() -> int:
        agent, done = guandan_agent(name).load(np.random.default_rng(0)), 0
        for seed in range(rounds):
            state = deal_rounds(1, np.random.default_rng(seed))
            while state["player"][0] >= 0:
                advance(state, agent.decide(state).action)
                done += 1
        return done

    return decide


WORKS = {
    work.name: work
    for work in (
        Work("refine", f"{HERE}refine", {"game": "leduc_poker"}),
        Work("closure", f"{HERE}refine", {"game": "goofspiel_10_ascending_3", "sample": 80}),
        Work("generate", f"{HERE}refine", {"game": "leduc_poker", "sample": 200, "whole": 0, "k": 3}),
        Work("cfr leduc", f"{HERE}solve", {"game": "leduc_poker", "iterations": 30_000}),
        Work("cfr dice", f"{HERE}solve", {"game": "liars_dice_6", "iterations": 60}),
        Work("moves", f"{HERE}moves", {"canonical": False}),
        Work("canonical", f"{HERE}moves", {"canonical": True}),
        Work("self-play", f"{GUANDAN}self_play", {"rounds": 100}),
        Work("training", f"{GUANDAN}training", {"rounds": 24}),
        Work("agent", f"{HERE}agent", {"name": ROLLOUT, "rounds": 2}),
        Work("paper", f"{HERE}agent", {"name": PAPER, "rounds": 1}),
    )
}
"""Pieces of work by name: searches, CFR, move lists, self-play, a training step, the agents."""


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
                for worker in (*workers, *workers):  # the second time warm
                    _seconds(worker, name)
                for pair in range(pairs):
                    order = (0, 1) if pair % 2 == 0 else (1, 0)
                    took = {which: _seconds(workers[which], name) for which in order}
                    found[name].append((took[0], took[1]))
        finally:
            for worker in workers:
                worker.close()
    return found


def _seconds(worker: Worker, name: str) -> float:
    worker.ask(WORKS[name])
    return worker.answer().processor


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
    chosen = parser.parse_args()
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
