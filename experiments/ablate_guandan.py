"""What each part of the GuanDan agent is worth: variants on the same judged positions and the same deals.

    python -m experiments.ablate_guandan judge -b CHECKPOINT --positions 1000 -o runs/judged.jsonl
    python -m experiments.ablate_guandan choose runs/judged.jsonl -b CHECKPOINT -o runs/ablate.jsonl
    python -m experiments.ablate_guandan rounds standard -b CHECKPOINT --deals 2000 -o runs/ablate.jsonl
    python -m experiments.ablate_guandan report runs/ablate.jsonl

Every row is appended as soon as it is known; a command that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from gs2.commands.common import stderr
from gs2.guandan.config import GuanDanConfig
from gs2.guandan.presets import PRESETS, preset

if TYPE_CHECKING:
    from gs2.guandan.beliefs import Beliefs
    from gs2.guandan.evaluator import Evaluator

__all__ = ["VARIANTS", "Choice", "RoundPair", "ablate_guandan", "choose_moves", "play_pairs"]

REPORT = Path(__file__).parent / "ABLATIONS_GUANDAN.md"
TOGETHER = 64
"""Deals played in lockstep."""


def _variants() -> dict[str, GuanDanConfig]:
    """Return every variant by name; none is held to a deadline, so that only the work it may do counts."""
    rollouts = preset("standard").replace(endgame=0)
    subgame = preset("paper").replace(leaf="value", room=300)
    found = {name: PRESETS[name] for name in ("fast", "standard", "deep", "paper")}
    found |= {
        "rollouts": rollouts,
        "rollouts depth 0": rollouts.replace(depth=0),
        "rollouts depth 2": rollouts.replace(depth=2),
        "rollouts depth 4": rollouts.replace(depth=4),
        "rollouts depth 16": rollouts.replace(depth=16),
        "rollouts to the end": rollouts.replace(depth=None),
        "rollouts one world": rollouts.replace(worlds=1, wave=1),
        "rollouts 8 worlds": rollouts.replace(worlds=8, wave=8),
        "rollouts 128 worlds": rollouts.replace(worlds=128),
        "rollouts uniform deals": rollouts.replace(belief=0.0),
        "rollouts trust 0.05": rollouts.replace(trust=0.05),
        "rollouts trust 0.1": rollouts.replace(trust=0.1),
        "rollouts without anchor": rollouts.replace(trust=100.0),
        "subgame": subgame,
        "subgame random": subgame.replace(generator="random"),
        "subgame clusters": subgame.replace(generator="clusters"),
        "subgame k=1": subgame.replace(k=1),
        "subgame k=3": subgame.replace(k=3),
        "subgame k=30": subgame.replace(k=30),
        "subgame depth 4": subgame.replace(subgame_depth=4, crowd_depth=4),
        "subgame unsafe": subgame.replace(gadget="unsafe"),
        "subgame entry floor": subgame.replace(entry_floor=0.1),
        "subgame companions": subgame.replace(companions=1),
        "subgame beliefs": subgame.replace(belief=1.0),
        "subgame candidates": subgame.replace(gap=0.25, candidates=3),
        "subgame anchored": subgame.replace(anchor=0.5, temperature=0.06),
        "subgame roll-outs": subgame.replace(leaf="rollout"),
    }
    return {name: config.replace(deadline=3600.0) for name, config in found.items()}


VARIANTS = _variants()


@dataclass(frozen=True)
class Choice:
    """What a variant chose at one judged position.

    gain: mean payoff of its move less the blueprint's in the judge's deals; actual: in the deal as it was.
    changed: whether the two differ. seconds: of processor time. stage: what decided.
    """

    variant: str
    blueprint: str
    position: str
    gain: float
    actual: float
    changed: bool
    seconds: float
    stage: str


@dataclass(frozen=True)
class RoundPair:
    """One deal played twice against the blueprint, with seats exchanged.

    first, second: payoffs to the variant's team, in levels. changed, searched, decisions: of the variant, in
    both rounds. seconds: of processor time, the lockstep's shared equally.
    """

    variant: str
    blueprint: str
    seed: int
    deal: int
    first: float
    second: float
    changed: float
    searched: float
    decisions: float
    seconds: float

    @property
    def gain(self) -> float:
        """Net levels a round."""
        return (self.first + self.second) / 2


def choose_moves(
    variant: str,
    config: GuanDanConfig,
    positions: list[Any],
    evaluator: Evaluator,
    beliefs: Beliefs | None,
    seed: int,
) -> Iterator[Choice]:
    """Yield what a variant chooses at each judged position."""
    from experiments.judge_guandan import judge_moves
    from gs2.guandan.agent import Gs2Agent
    from gs2.guandan.rollout import Rollouts

    rollouts = Rollouts(evaluator)
    for judged in positions:
        rng = np.random.default_rng([seed, sum(judged.name.encode())])
        agent = Gs2Agent(evaluator, config, rng, beliefs=beliefs)
        began = time.process_time()
        decision = agent.decide(judged.state)
        seconds = time.process_time() - began
        gain = actual = 0.0
        if decision.changed:
            place = [np.flatnonzero(judged.moves == decision.actions[i]) for i in (decision.choice, 0)]
            if len(place[0]):
                gain = float((judged.payoffs[:, place[0][0]] - judged.payoffs[:, 0]).mean())
                actual = float(judged.actual[place[0][0]] - judged.actual[0])
            else:
                # a move so far behind by the blueprint that nobody has judged it yet
                pair = np.concatenate([judged.moves[:1], decision.action])
                payoffs, real = judge_moves(judged.state, pair, len(judged.payoffs), rollouts, rng)
                gain, actual = float((payoffs[:, 1] - payoffs[:, 0]).mean()), float(real[1] - real[0])
        name = evaluator.name
        yield Choice(variant, name, judged.name, gain, actual, decision.changed, seconds, decision.stage)


def play_pairs(
    variant: str,
    config: GuanDanConfig,
    evaluator: Evaluator,
    beliefs: Beliefs | None,
    seed: int,
    deals: int,
    *,
    start: int = 0,
) -> Iterator[list[RoundPair]]:
    """Yield duplicate rounds against the blueprint, `TOGETHER` deals at a time; deals depend on seed alone.

    start: deals played before.
    """
    from blueprint.selfplay import Scratch, play_rounds
    from games.guandan.round import GuanDan, deal
    from gs2.guandan.agent import Decision, Gs2Agent

    counts = {"changed": 0, "searched": 0, "decisions": 0}

    def watch(decision: Decision) -> None:
        counts["decisions"] += 1
        counts["changed"] += decision.changed
        counts["searched"] += decision.comparison is not None or decision.solution is not None

    game = GuanDan()
    for begin in range(start, deals, TOGETHER):
        n = min(TOGETHER, deals - begin)
        dealt = np.random.default_rng([seed, begin])
        states = deal(n, dealt, level=dealt.integers(0, 13, n))
        agent = Gs2Agent(evaluator, config, dealt, beliefs=beliefs, watch=watch)
        base = Gs2Agent(evaluator, "blueprint", dealt)
        counts.update(changed=0, searched=0, decisions=0)
        began = time.process_time()
        payoffs = []
        for side, choosers in enumerate(((agent, base), (base, agent))):
            played = states.copy()
            play_rounds(played, choosers, Scratch(), record=False)
            payoffs.append(game.returns(played)[:, side])
        seconds = (time.process_time() - began) / n
        share = [counts[name] / n for name in ("changed", "searched", "decisions")]
        yield [
            RoundPair(variant, evaluator.name, seed, begin + i, float(a), float(b), *share, seconds)
            for i, (a, b) in enumerate(zip(*payoffs, strict=True))
        ]


def _append(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for row in rows:
            file.write(json.dumps({"kind": type(row).__name__, **asdict(row)}) + "\n")


def read_rows(paths: tuple[Path, ...] | list[Path]) -> list[Choice | RoundPair]:
    """Return the rows of files, in order.

    Raises ValueError at a line that is no row.
    """
    kinds = {"Choice": Choice, "RoundPair": RoundPair}
    rows: list[Choice | RoundPair] = []
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                fields = json.loads(line)
                rows.append(kinds[fields.pop("kind")](**fields))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: not a row of this experiment ({error})") from error
    return rows


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval."""
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(
        values
    ) > 1 else 0.0


def markdown(rows: list[Choice | RoundPair]) -> str:
    """Return the tables as Markdown."""
    lines = ["# What each part of the GuanDan agent is worth", ""]
    lines += [
        "Written by `python -m experiments.ablate_guandan report`. Intervals are 95 %, normal over deals or",
        "positions. Processor milliseconds were taken beside other work on a noisy two-core machine.",
        "",
    ]
    pairs = [row for row in rows if isinstance(row, RoundPair)]
    choices = [row for row in rows if isinstance(row, Choice)]
    if pairs:
        lines += [
            "## Duplicate rounds against the agent's own blueprint",
            "",
            "Each deal is played twice with seats exchanged; both partners search, alone.",
            "",
            "| variant | blueprint | deals | net levels a round | moves changed | searched | ms a decision |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for key in dict.fromkeys((row.variant, row.blueprint) for row in pairs):
            part = [row for row in pairs if (row.variant, row.blueprint) == key]
            mean, half = _interval(np.array([row.gain for row in part]))
            total = sum(row.decisions for row in part)
            lines.append(
                f"| {key[0]} | {key[1]} | {len(part):,} | {mean:+.3f} ± {half:.3f} | "
                f"{sum(row.changed for row in part) / total:.1%} | "
                f"{sum(row.searched for row in part) / total:.1%} | "
                f"{1000 * sum(row.seconds for row in part) / total:.1f} |"
            )
        lines.append("")
    for name in dict.fromkeys(row.blueprint for row in choices):
        lines += [
            f"## The same positions, blueprint {name}",
            "",
            "Gain: levels won by the chosen move over the blueprint's, in the judge's uniform deals played to",
            "the end. Against `rollouts`: the difference on the positions that both were asked. Actual: the gain",
            "in the deal as it was. Changed: how often another move than the blueprint's.",
            "",
            "| variant | positions | gain, millilevels | against `rollouts` | actual | changed | ms |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        table: dict[str, dict[str, Choice]] = {}
        for row in choices:
            if row.blueprint == name:
                table.setdefault(row.variant, {})[row.position] = row
        base = table.get("rollouts", {})
        for variant, found in table.items():
            gain = _interval(1000 * np.array([row.gain for row in found.values()]))
            actual = _interval(1000 * np.array([row.actual for row in found.values()]))
            both = [place for place in found if place in base]
            against = ""
            if both and variant != "rollouts":
                far = _interval(1000 * np.array([found[p].gain - base[p].gain for p in both]))
                against = f"{far[0]:+.0f} ± {far[1]:.0f}"
            lines.append(
                f"| {variant} | {len(found):,} | {gain[0]:+.0f} ± {gain[1]:.0f} | {against} | "
                f"{actual[0]:+.0f} ± {actual[1]:.0f} | "
                f"{np.mean([row.changed for row in found.values()]):.0%} | "
                f"{1000 * np.median([row.seconds for row in found.values()]):.0f} |"
            )
        lines.append("")
    return "\n".join(lines)


def _load(checkpoint: Path | None) -> tuple[Evaluator, Beliefs | None]:
    import torch

    from gs2.guandan.beliefs import DEFAULT, load_beliefs
    from gs2.guandan.evaluator import load_evaluator

    torch.set_num_threads(1)
    return load_evaluator(checkpoint), load_beliefs() if DEFAULT.is_file() else None


CHECKPOINT = click.option(
    "-b", "--blueprint", "checkpoint", type=click.Path(path_type=Path), help="[default: the shipped one]"
)
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
OUTPUT = click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Rows, appended."
)


@click.group()
def ablate_guandan() -> None:
    """Measure what each part of the GuanDan agent is worth."""


@ablate_guandan.command()
@CHECKPOINT
@click.option("--positions", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--worlds", type=click.IntRange(min=2), default=64, show_default=True, help="Deals a position.")
@SEED
@OUTPUT
def judge(checkpoint: Path | None, positions: int, worlds: int, seed: int, output: Path) -> None:
    """Judge the moves of positions from self-play."""
    from experiments.judge_guandan import write_judged

    evaluator, _ = _load(checkpoint)
    with stderr().status("judging …") as status:
        for count in write_judged(output, evaluator, positions, worlds, seed):
            status.update(f"{count} of {positions} positions judged")


@ablate_guandan.command()
@click.argument("judged", type=click.Path(exists=True, path_type=Path))
@CHECKPOINT
@click.option("--variant", "names", multiple=True, type=click.Choice(list(VARIANTS)), help="[default: all]")
@click.option("--positions", type=click.IntRange(min=1), default=200, show_default=True)
@SEED
@OUTPUT
def choose(
    judged: Path, checkpoint: Path | None, names: tuple[str, ...], positions: int, seed: int, output: Path
) -> None:
    """Ask variants at the positions of a file that `judge` wrote."""
    from experiments.judge_guandan import read_judged

    evaluator, beliefs = _load(checkpoint)
    everywhere = read_judged(judged, positions)
    known = {
        (row.variant, row.blueprint, row.position)
        for row in (read_rows([output]) if output.is_file() else [])
        if isinstance(row, Choice)
    }
    with stderr().status("…") as status:
        for name in names or VARIANTS:
            todo = [p for p in everywhere if (name, evaluator.name, p.name) not in known]
            for row in choose_moves(name, VARIANTS[name], todo, evaluator, beliefs, seed):
                _append(output, [row])
                status.update(f"{name}: position {row.position}")


@ablate_guandan.command()
@click.argument("name", metavar="VARIANT", type=click.Choice(list(VARIANTS)))
@CHECKPOINT
@click.option("--deals", type=click.IntRange(min=1), default=2000, show_default=True)
@SEED
@OUTPUT
def rounds(name: str, checkpoint: Path | None, deals: int, seed: int, output: Path) -> None:
    """Play duplicate rounds of a variant against its own blueprint."""
    evaluator, beliefs = _load(checkpoint)
    rows = [row for row in (read_rows([output]) if output.is_file() else []) if isinstance(row, RoundPair)]
    cell = (name, evaluator.name, seed)
    gains = [row.gain for row in rows if (row.variant, row.blueprint, row.seed) == cell]
    start = len(gains) // TOGETHER * TOGETHER
    with stderr().status("…") as status:
        for part in play_pairs(name, VARIANTS[name], evaluator, beliefs, seed, deals, start=start):
            fresh = part[len(gains) - part[0].deal :] if part[0].deal < len(gains) else part
            _append(output, fresh)
            gains += [row.gain for row in fresh]
            mean, half = _interval(np.array(gains))
            status.update(f"{name}: {len(gains)} of {deals} deals, {mean:+.3f} ± {half:.3f} levels a round")


@ablate_guandan.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), default=REPORT, show_default=True)
def report(files: tuple[Path, ...], output: Path) -> None:
    """Write the tables of some files of rows."""
    output.write_text(markdown(read_rows(files)) + "\n")
    click.echo(output)


if __name__ == "__main__":
    ablate_guandan()
