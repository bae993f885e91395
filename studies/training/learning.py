"""What a setting of training does to what is learned: all learn from one record of play, in minutes.

    python -m studies.training.learning --rounds 100000 --try trace=0.98 --try trace=0.9 --try trace=1

A network plays its own games once; each setting then goes on from that network with its passes over the same
games, and is judged on others that it never learns from, at each decision in turn against what the network
was before: by the squared error of the advantages against plain payoffs less the critic's value (what
training is to find, noisy and leaning nowhere), and by the cross-entropy of value and critic. Differences are
paired, so a thousandth of a level squared shows where the noise of one target is a thousand times that. How
far the advantages moved is printed beside: a setting that only adds noise moves as far as it gets worse.
Matches between networks need ten times as many decisions for what this tells, but say what it is worth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from gs2.commands.common import COUNT, SEED, CountType, FiniteRange
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.guandan.play.selfplay import PlayRecord
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.samples import Samples
    from blueprint.guandan.training.trainer import Trainer

__all__ = ["LearningRow", "PlayedRounds", "ablate_learning", "learning_rows", "play"]

AT_ONCE = 2048
"""Rounds that are played together, and decisions that are judged together."""
JUDGED = ("error", "moved", "value", "critic")
MARKS = (0.25, 0.5, 1.0)
"""Shares of the pass after which a network is judged."""


@dataclass(frozen=True)
class PlayedRounds:
    """Decisions of self-play in order, and what came of them.

    record: of all rounds, numbered from 0. payoff: [rounds] float32, to side 0.
    """

    record: PlayRecord
    payoff: NDArray[np.float32]

    def part(self, first: int, last: int) -> PlayedRounds:
        """Return the rounds from `first` up to `last`."""
        r = self.record
        rows = np.flatnonzero((r.round >= first) & (r.round < last))
        record = replace(
            r,
            states=r.states[rows],
            actions=r.actions[rows],
            round=r.round[rows] - first,
            chance=r.chance[rows],
            final=r.final[first:last],
        )
        return PlayedRounds(record, self.payoff[first:last])


@dataclass(frozen=True)
class LearningRow:
    """One setting after a share of the pass; differences are to the network all start from.

    decisions: learned from. seconds: of processor time, learning alone. error: mean change of the squared
    error of advantages, in levels squared, and its standard error over rounds. moved: mean square of the
    change of advantages. value, critic: mean change of their cross-entropies, in nats.
    """

    setting: str
    decisions: int
    seconds: float
    error: tuple[float, float]
    moved: float
    value: float
    critic: float


def play(trainer: Trainer, rounds: int, rng: np.random.Generator) -> PlayedRounds:
    """Return rounds that the trainer's network plays against itself, as in its training."""
    from blueprint.guandan.play.deals import deal_rounds
    from blueprint.guandan.play.selfplay import PlayRecord, Scratch, play_rounds
    from blueprint.structured import join
    from games.guandan.rounds.round import GuanDan

    config, scratch = trainer.config, Scratch()
    agent = trainer.learner.agent(config.temperature, config.epsilon, rng)
    found: list[PlayRecord] = []
    for first in range(0, rounds, AT_ONCE):
        deals = deal_rounds(min(AT_ONCE, rounds - first), rng, tribute=config.tribute)
        record = play_rounds(deals, [agent], scratch)
        found.append(replace(record, round=record.round + first))
    whole = PlayRecord(
        states=join([r.states for r in found]),
        actions=join([r.actions for r in found]),
        round=np.concatenate([r.round for r in found]),
        chance=np.concatenate([r.chance for r in found]),
        final=join([r.final for r in found]),
        steps=sum(r.steps for r in found),
    )
    return PlayedRounds(whole, GuanDan().returns(whole.final)[:, 0].astype(np.float32))


def learning_rows(
    checkpoint: Path,
    settings: dict[str, TrainConfig],
    *,
    rounds: int,
    held_out: int,
    seed: int,
    window: float,
) -> Iterator[LearningRow]:
    """Yield a row for each setting at each of MARKS.

    checkpoint: with a critic; all settings start from it and play as the first one says. rounds, held_out:
    to learn from and to judge by. window: decisions learned from that the mean of the weights looks back on.
    Raises ValueError if the checkpoint holds no critic.
    """
    from blueprint.guandan.training.samples import batches
    from blueprint.guandan.training.trainer import Trainer

    def start(config: TrainConfig) -> Trainer:
        return Trainer.load(checkpoint, config=config.replace(average=1.0), threads=1)

    trainer = start(next(iter(settings.values())))
    judge = trainer.learner.judge()
    if judge is None:
        raise ValueError(f"{checkpoint} holds no critic; give a checkpoint of a run that has one")
    whole = play(trainer, rounds + held_out, np.random.default_rng(seed))
    learned, held = whole.part(0, rounds), whole.part(rounds, rounds + held_out)
    plain = trainer.config.replace(trace=1.0, focus=0.0)
    trainer.learner.config = plain
    truth, _ = trainer.learner.samples(held.record, held.payoff, judge, np.random.default_rng(0))
    before = _judged(trainer, truth)
    for name, config in settings.items():
        trainer = start(config)
        # means look back on decisions learned from here, not on all that were ever trained
        span = config.batch * trainer.decisions / window
        rng = np.random.default_rng(seed)
        samples, _ = trainer.learner.samples(learned.record, learned.payoff, judge, rng)
        number = max(1, round(config.passes * len(samples) / config.batch))
        marks = {max(1, round(number * share)) for share in MARKS}
        seconds = 0.0
        for step, batch in enumerate(batches([samples], min(config.batch, len(samples)), number, rng), 1):
            begin = time.process_time()
            trainer.learner.learn(batch, trainer.decisions, span)
            seconds += time.process_time() - begin
            if step in marks:
                after = _judged(trainer, truth)
                wrong = (after[0] - truth.target) ** 2 - (before[0] - truth.target) ** 2
                by_round = np.bincount(held.record.round, wrong, held_out)
                yield LearningRow(
                    name,
                    step * config.batch,
                    seconds,
                    (float(wrong.mean()), float(by_round.std() * held_out**0.5 / len(wrong))),
                    float(((after[0] - before[0]) ** 2).mean()),
                    float((after[1] - before[1]).mean()),
                    float((after[2] - before[2]).mean()),
                )


def _judged(trainer: Trainer, samples: Samples) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the advantages [n] of what was played, and the cross-entropies [n] of value and critic."""
    import torch
    from torch.nn import functional as F

    from blueprint.guandan.network.inputs import encode_full
    from blueprint.protocol import Decisions

    learner = trainer.learner
    out = np.empty((3, len(samples)), np.float32)
    with torch.inference_mode(), learner.precision():
        for first in range(0, len(samples), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            states = samples.states[part]
            seats, rows = states["player"].astype(np.int64), np.arange(len(states) + 1)
            asked = Decisions(states, rows[:-1], seats, rows, samples.actions[part])
            inputs = learner.network.encode(asked)
            x, a = (learner.tensor(y) for y in inputs)
            h = learner.mean_network.states(x)
            full = learner.tensor(encode_full(states, seats))
            outcome = torch.from_numpy(samples.outcome[part])
            out[0, part] = learner.mean_network.advantages(h, a).float().numpy()
            judged = learner.mean_network.outcomes(h), cast(Any, learner.mean_critic)(full)
            for k, logits in enumerate(judged, 1):
                out[k, part] = F.cross_entropy(logits.float(), outcome, reduction="none").numpy()
    return out[0], out[1], out[2]


@click.command("learning")
@click.option("--checkpoint", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--try", "tries", multiple=True, required=True, help="Settings to compare, FIELD=VALUE,…; repeatable."
)
@click.option("--rounds", type=COUNT, default=80000, show_default=True, help="Rounds to learn from.")
@click.option("--held-out", type=CountType(2), default=20000, show_default=True, help="Rounds to judge by.")
@click.option(
    "--window",
    type=FiniteRange(1),
    default=2e6,
    show_default=True,
    help="Decisions that the mean of the weights looks back on.",
)
@click.option("--seed", type=SEED, default=101, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def ablate_learning(
    checkpoint: Path | None,
    tries: tuple[str, ...],
    rounds: int,
    held_out: int,
    window: float,
    seed: int,
    as_json: bool,
) -> None:
    """Print what training settings learn from the same games."""
    import torch

    from blueprint.checkpoint import read_checkpoint
    from blueprint.guandan import SHIPPED
    from blueprint.guandan.train_config import TrainConfig
    from games.support.configuration import ConfigError
    from games.support.spec import field_types, read_settings

    torch.set_num_threads(1)
    path = SHIPPED if checkpoint is None else checkpoint
    saved = TrainConfig.from_json(read_checkpoint(path)[1]["train"])
    known = field_types(TrainConfig)
    try:
        settings = {one: saved.replace(**read_settings(one.split(","), known)) for one in tries}
    except ConfigError as error:
        raise click.UsageError(f"--try: {error}") from None
    from gs2.commands.common import print_json
    from gs2.commands.progress import working

    with working(f"playing {rounds:,} rounds and learning from them …"):
        found = list(
            learning_rows(path, settings, rounds=rounds, held_out=held_out, seed=seed, window=window)
        )
    if as_json:
        print_json([asdict(row) for row in found])
        return
    from experiments.markdown import markdown_table

    heads = ("setting", "learned from", "seconds", *(f"{x}, 1e-4" for x in JUDGED))
    table = [
        (
            row.setting,
            f"{row.decisions / 1e6:.2f} M",
            f"{row.seconds:.0f}",
            f"{1e4 * row.error[0]:+.1f} ± {1.96e4 * row.error[1]:.1f}",
            *(f"{1e4 * x:+.1f}" for x in (row.moved, row.value, row.critic)),
        )
        for row in found
    ]
    click.echo(markdown_table(heads, table, "lrrrrrr"))


if __name__ == "__main__":
    run_alone(ablate_learning)
