"""What each part of the GuanDan agent is worth: variants on the same judged positions and the same deals.

    python -m studies.agent.ablate_agent judge -b CHECKPOINT --positions 1000 -o runs/judged.jsonl
    python -m studies.agent.ablate_agent choose runs/judged.jsonl -b CHECKPOINT -o runs/ablate.jsonl
    python -m studies.agent.ablate_agent rounds standard -b CHECKPOINT --deals 2000 -o runs/ablate.jsonl
    python -m studies.agent.ablate_agent report runs/ablate.jsonl

Every row is appended as soon as it is known; a command that was stopped goes on where it was. Moves are
chosen and replayed with the network that judged, by which the judge plays every seat on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from experiments.outputs import report_file, report_options
from games.ragged import Ragged
from games.support.files import write_text
from gs2.commands.common import COUNT, OUTPUT_FILE, SEED, CountType, print_json
from gs2.commands.groups import run_alone
from gs2.commands.progress import working
from gs2.guandan.agent.guandan_config import GuanDanConfig
from studies.agent.agent_variants import VARIANTS
from studies.agent.tables import (
    Choice,
    RoundPair,
    RowFile,
    ablation_markdown,
    choice_key,
    mean_interval,
    read_agent_rows,
)

if TYPE_CHECKING:
    from gs2.guandan.agent.evaluator import Evaluator
    from gs2.guandan.beliefs.belief_network import Beliefs
    from gs2.guandan.beliefs.deal_network import DealNetwork
    from studies.agent.judge import Judged

__all__ = ["Networks", "ablate_guandan", "choose_moves", "play_pairs", "replay_rollouts"]

REPORT = "ABLATIONS_GUANDAN.md"
TOGETHER = 64
"""Deals played in lockstep."""


@dataclass(frozen=True, eq=False)
class Networks:
    """What variants think with: the blueprint's evaluator, beliefs about cards and about deals, or None."""

    evaluator: Evaluator
    beliefs: Beliefs | None = None
    deals: DealNetwork | None = None


def choose_moves(
    variant: str,
    config: GuanDanConfig,
    positions: Sequence[Judged],
    networks: Networks,
    seed: int,
) -> Iterator[Choice]:
    """Yield what a variant chooses at each position, which its own blueprint judged."""
    from gs2.guandan.agent.agent import Gs2Agent
    from gs2.guandan.agent.rollout import Rollouts
    from studies.agent.judge import judge_moves

    evaluator, beliefs, deals = networks.evaluator, networks.beliefs, networks.deals
    rollouts = Rollouts(evaluator)
    for judged in positions:
        rng = np.random.default_rng([seed, sum(judged.name.encode())])
        agent = Gs2Agent(evaluator, config, rng, beliefs=beliefs, deals=deals)
        began = time.process_time()
        decision = agent.decide(judged.state)
        seconds = time.process_time() - began
        gain = actual = 0.0
        if decision.changed:
            pair = decision.actions[[decision.blueprint, decision.choice]]
            place = [int(at) for move in pair for at in np.flatnonzero(judged.moves == move)]
            if len(place) == 2:
                payoffs, real = judged.payoffs[:, place], judged.actual[place]
            else:
                # a move so far behind by the blueprint that nobody has judged it yet
                payoffs, real, _ = judge_moves(judged.state, pair, len(judged.payoffs), rollouts, rng)
            gain, actual = float((payoffs[:, 1] - payoffs[:, 0]).mean()), float(real[1] - real[0])
        yield Choice(
            variant,
            evaluator.name,
            judged.name,
            gain,
            actual,
            decision.changed,
            seconds,
            decision.stage,
            seed,
        )


def replay_rollouts(
    positions: Sequence[Judged], evaluator: Evaluator, depth: int | None, worlds: int, trust: float
) -> Iterator[Choice]:
    """Yield what rollouts in the first `worlds` deals of the judge choose, judged by its other half.

    No elimination, and nothing is played: the judge noted what such rollouts are valued at.
    `evaluator` is the one that judged.
    """
    from gs2.guandan.agent.evaluator import evaluator_values
    from gs2.guandan.agent.racing import SPREAD, SPREAD_VALUED, Evidence, posterior
    from studies.agent.judge import DEPTHS

    end = "the end" if depth is None else depth
    anchor = "no anchor" if trust >= 100 else f"trust {trust}"
    variant = f"replayed: to {end}, {worlds} worlds, {anchor}"
    for judged in positions:
        k = len(judged.moves)
        prior = evaluator_values(evaluator, np.array(judged.state), Ragged(np.array([0, k]), judged.moves))
        half = len(judged.payoffs) // 2
        seen = judged.payoffs if depth is None else judged.values[DEPTHS.index(depth)]
        spread = SPREAD if depth is None else SPREAD_VALUED
        used = min(worlds, half)
        mean, _ = posterior(Evidence(seen[:used], np.ones(used), prior, trust, spread=spread), 0)
        best = int(np.argmax(mean))
        gain = float((judged.payoffs[half:, best] - judged.payoffs[half:, 0]).mean())
        actual = float(judged.actual[best] - judged.actual[0])
        yield Choice(variant, evaluator.name, judged.name, gain, actual, best != 0, float("nan"), "rollout")


def play_pairs(
    variant: str,
    config: GuanDanConfig,
    networks: Networks,
    seed: int,
    deals: int,
    *,
    start: int = 0,
) -> Iterator[list[RoundPair]]:
    """Yield duplicate rounds against the blueprint, `TOGETHER` deals at a time; deals depend on seed alone.

    start: deals played before.
    """
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from games.guandan.rounds.round import GuanDan, deal
    from gs2.guandan.agent.agent import Gs2Agent
    from gs2.guandan.agent.decision import Decision

    counts = {"changed": 0, "searched": 0, "decisions": 0}

    def watch(decision: Decision) -> None:
        counts["decisions"] += 1
        counts["changed"] += decision.changed
        counts["searched"] += decision.comparison is not None or decision.solution is not None

    evaluator = networks.evaluator
    game = GuanDan()
    for begin in range(start, deals, TOGETHER):
        n = min(TOGETHER, deals - begin)
        dealt = np.random.default_rng([seed, begin])
        states = deal(TOGETHER, dealt, level=dealt.integers(0, 13, TOGETHER))[:n]
        agent = Gs2Agent(
            evaluator, config, dealt, beliefs=networks.beliefs, deals=networks.deals, watch=watch
        )
        base = Gs2Agent(evaluator, "blueprint", dealt)
        counts.update(changed=0, searched=0, decisions=0)
        began = time.process_time()
        payoffs = []
        for side, agents in enumerate(((agent, base), (base, agent))):
            played = states.copy()
            play_rounds(played, agents, Scratch(), record=False)
            payoffs.append(game.returns(played)[:, side])
        seconds = (time.process_time() - began) / n
        share = {name: count / n for name, count in counts.items()}
        yield [
            RoundPair(
                variant,
                evaluator.name,
                seed,
                begin + i,
                float(a),
                float(b),
                changed=share["changed"],
                searched=share["searched"],
                decisions=share["decisions"],
                seconds=seconds,
            )
            for i, (a, b) in enumerate(zip(*payoffs, strict=True))
        ]


def _load(checkpoint: Path | None) -> Networks:
    import torch

    from gs2.guandan.agent.evaluator import load_evaluator
    from gs2.guandan.beliefs.belief_network import DEFAULT, load_beliefs
    from gs2.guandan.beliefs.deal_network import DEALS, load_deal_network

    torch.set_num_threads(1)
    return Networks(
        load_evaluator(checkpoint, quick=True),
        load_beliefs() if DEFAULT.is_file() else None,
        load_deal_network() if DEALS.is_file() else None,
    )


CHECKPOINT = click.option(
    "-b", "--blueprint", "checkpoint", type=click.Path(path_type=Path), help="[default: the shipped one]"
)
WITH_SEED = click.option("--seed", type=SEED, default=1, show_default=True)
OUTPUT = click.option(
    "-o", "--output", type=OUTPUT_FILE, required=True, help="File that rows are appended to."
)


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the output's rows as JSON.")


def _print_rows(output: Path, as_json: bool) -> None:
    """Print what a file of rows holds now: how many, or all of them as JSON."""
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    if as_json:
        print_json({"file": str(output), "rows": rows})
    else:
        click.echo(f"{len(rows):,} rows in {output}")


@click.group()
def ablate_guandan() -> None:
    """Measure what each part of the GuanDan agent is worth."""


@ablate_guandan.command()
@CHECKPOINT
@click.option("--positions", type=COUNT, default=1000, show_default=True)
@click.option("--worlds", type=CountType(2), default=64, show_default=True, help="Deals at each position.")
@WITH_SEED
@OUTPUT
@AS_JSON
def judge(
    checkpoint: Path | None, positions: int, worlds: int, seed: int, output: Path, as_json: bool
) -> None:
    """Judge the moves of positions from self-play."""
    from studies.agent.judge import write_judged

    evaluator = _load(checkpoint).evaluator
    with working("judging …") as tell:
        for count in write_judged(output, evaluator, positions, worlds, seed):
            tell(f"{count} of {positions} positions judged")
    _print_rows(output, as_json)


@ablate_guandan.command()
@click.argument("judged", type=click.Path(exists=True, path_type=Path))
@CHECKPOINT
@click.option("--variant", "names", multiple=True, type=click.Choice(list(VARIANTS)), help="[default: all]")
@click.option("--positions", type=COUNT, default=200, show_default=True)
@WITH_SEED
@OUTPUT
@AS_JSON
def choose(
    judged: Path,
    checkpoint: Path | None,
    names: tuple[str, ...],
    positions: int,
    seed: int,
    output: Path,
    as_json: bool,
) -> None:
    """Ask variants for moves at the positions of a file that `judge` wrote, with the same blueprint.

    Another --seed adds rows of its own; the report counts each position once, with its mean.
    """
    from studies.agent.judge import read_judged

    networks = _load(checkpoint)
    evaluator = networks.evaluator
    everywhere = read_judged(judged, positions, judge=evaluator.name)
    with RowFile(output) as file, working("…") as tell:
        known = {choice_key(row) for row in file.rows if isinstance(row, Choice)}
        for name in names or VARIANTS:
            todo = [p for p in everywhere if (name, evaluator.name, p.name, seed) not in known]
            for row in choose_moves(name, VARIANTS[name], todo, networks, seed):
                file.append([row])
                tell(f"{name}: position {row.position}")
    _print_rows(output, as_json)


@ablate_guandan.command()
@click.argument("judged", type=click.Path(exists=True, path_type=Path))
@CHECKPOINT
@OUTPUT
@AS_JSON
def replay(judged: Path, checkpoint: Path | None, output: Path, as_json: bool) -> None:
    """Compare depths, numbers of deals and anchors of rollouts from what `judge` noted with its blueprint."""
    from studies.agent.judge import DEPTHS, read_judged

    evaluator = _load(checkpoint).evaluator
    everywhere = read_judged(judged, judge=evaluator.name)
    grid: list[tuple[int | None, int, float]] = [(depth, 32, 0.2) for depth in (*DEPTHS, None)]
    grid += [(8, worlds, 0.2) for worlds in (1, 4, 8, 16)]
    grid += [(8, 32, trust) for trust in (0.05, 0.1, 0.4, 100.0)]
    with RowFile(output) as file, working("replaying …"):
        known = {choice_key(row) for row in file.rows if isinstance(row, Choice)}
        for depth, worlds, trust in grid:
            found = replay_rollouts(everywhere, evaluator, depth, worlds, trust)
            file.append([row for row in found if choice_key(row) not in known])
    _print_rows(output, as_json)


@ablate_guandan.command()
@click.argument("name", metavar="VARIANT", type=click.Choice(list(VARIANTS)))
@CHECKPOINT
@click.option("--deals", type=COUNT, default=2000, show_default=True)
@WITH_SEED
@OUTPUT
@AS_JSON
def rounds(name: str, checkpoint: Path | None, deals: int, seed: int, output: Path, as_json: bool) -> None:
    """Play duplicate rounds of a variant against its own blueprint."""
    networks = _load(checkpoint)
    evaluator = networks.evaluator
    with RowFile(output) as file, working("…") as tell:
        rows = [row for row in file.rows if isinstance(row, RoundPair)]
        cell = (name, evaluator.name, seed)
        gains = [row.gain for row in rows if (row.variant, row.blueprint, row.seed) == cell]
        start = len(gains) // TOGETHER * TOGETHER
        for part in play_pairs(name, VARIANTS[name], networks, seed, deals, start=start):
            fresh = part[len(gains) - part[0].deal :] if part[0].deal < len(gains) else part
            file.append(fresh)
            gains += [row.gain for row in fresh]
            mean, half = mean_interval(np.array(gains))
            tell(f"{name}: {len(gains)} of {deals} deals, {mean:+.3f} ± {half:.3f} levels a round")
    _print_rows(output, as_json)


@ablate_guandan.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@report_options(REPORT)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(files: tuple[Path, ...], output: Path | None, checkout: bool, as_json: bool) -> None:
    """Write the tables of some files of rows."""
    text = ablation_markdown(read_agent_rows(files))
    output = report_file(REPORT, output, checkout, heading=text.partition("\n")[0])
    write_text(output, text + "\n")
    if as_json:
        print_json({"written": [str(output)]})
    else:
        click.echo(output)


if __name__ == "__main__":
    run_alone(ablate_guandan)
