"""Recipes on GuanDan: against greedy after each turn, and on the ladder with two rule-based agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.markdown import markdown_table
from gs2.commands.common import Interruption
from studies.training.equal_time.levels_ladder import LevelsLadder, play_levels_ladder
from studies.training.equal_time.turns import RIVAL, Outcome, Plan, Turn, read_turns, shortened

if TYPE_CHECKING:
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.trainer import Trainer

__all__ = ["GuandanCourse"]

YARDSTICKS = ("greedy", "strong")
DEALS_SEED = 17


class GuandanCourse:
    """GuanDan, in levels a round.

    met: the agent that a turn ends against.
    """

    game = "guandan"
    rule = opponent = met = "greedy"
    unit = "levels a round"

    def agent(self, name: str, path: Path) -> str:
        """Return the agent that plays a recipe's checkpoint, in the words of `gs2 match`."""
        from blueprint.papers.recipes import named_recipe

        return named_recipe(name).agent(str(path))

    def wanted(self, plan: Plan, name: str) -> TrainConfig:
        """Return the training of a recipe as a plan has it."""
        from blueprint.papers.recipes import named_recipe

        config = named_recipe(name).train_config()
        return config.replace(**{**shortened(config.to_json(), plan.minutes), **plan.changes})

    def begin(self, plan: Plan, name: str) -> Trainer:
        """Return a new trainer of a recipe."""
        from blueprint.guandan.training.trainer import Trainer
        from blueprint.papers.recipes import named_recipe

        return Trainer(named_recipe(name).network_config(), self.wanted(plan, name), threads=1)

    def saved(self, path: Path) -> TrainConfig:
        """Return the training that a checkpoint was written by."""
        from blueprint.checkpoint import check_description, read_checkpoint
        from blueprint.guandan.train_config import TrainConfig

        _, description = read_checkpoint(path, prefix="-")
        check_description(path, description, {"train": dict})
        return TrainConfig.from_json(description["train"])

    def load(self, path: Path, plan: Plan, name: str) -> Trainer:
        """Return the trainer of a recipe's checkpoint, with the schedules of a plan."""
        from blueprint.guandan.training.trainer import Trainer

        return Trainer.load(path, threads=1, config=self.wanted(plan, name))

    def against_rule(self, name: str, path: Path, deals: int) -> dict[str, Any]:
        """Return levels a round and rounds won against `met`, with 95 % intervals over the deals."""
        from blueprint.guandan.play.duplicate import duplicate_deals, play_duplicate
        from blueprint.guandan.play.selfplay import Scratch
        from games.support.bootstrap import bootstrap_interval
        from gs2.guandan.agent_families import guandan_agent

        rng = np.random.default_rng(0)
        own, other = (guandan_agent(met).load(rng) for met in (self.agent(name, path), self.met))
        payoffs = play_duplicate(own, other, duplicate_deals(np.arange(deals), DEALS_SEED), Scratch())
        rng, net = np.random.default_rng(DEALS_SEED), payoffs.mean(1)
        return {
            "net": float(net.mean()),
            "net_interval": list(bootstrap_interval(net, rng)),
            "won": float((payoffs > 0).mean()),
        }

    def compare(self, plan: Plan, rounds: int, stop: Interruption) -> Outcome | None:
        """Return the ladder of all recipes and the yardsticks, and each recipe against the rival."""
        turns = read_turns(plan.folder)
        agents = {name: self.agent(name, plan.folder / name / turns[name][-1]["file"]) for name in plan.names}
        agents |= {name: name for name in YARDSTICKS}
        found = play_levels_ladder(plan, agents, rounds, stop)
        return None if found is None else Outcome([_table(plan, turns, found)])


def _table(plan: Plan, turns: dict[str, list[Turn]], ladder: LevelsLadder) -> str:
    from blueprint.papers.recipes import named_recipe

    rows = []
    for name in plan.names:
        first, last = turns[name][0], turns[name][-1]
        low, high = last["greedy"]["net_interval"]
        rows.append(
            (
                f"`{name}`",
                f"{last['processor_seconds'] / 60:.1f}",
                f"{last['decisions'] / 1e6:.1f} M",
                f"{first['greedy']['net']:+.2f}",
                f"{last['greedy']['net']:+.2f} [{low:+.2f}, {high:+.2f}]",
                ladder.rating(name),
                named_recipe(name).claim,
                ladder.in_words(name, RIVAL) if RIVAL in plan.names and name != RIVAL else "",
            )
        )
    heads = ("recipe", "minutes", "decisions", "untrained", "levels against greedy", "rating")
    return markdown_table((*heads, "the paper", f"here, against {RIVAL}: rounds; levels"), rows, "lrrrrrll")
