"""Recipes on GuanDan: against greedy after each turn, and on the ladder with two rule-based agents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.markdown import markdown_table
from experiments.training.equal_time.turns import RIVAL, Outcome, Plan, Turn, read_turns, shortened
from games.support.files import check_folder
from gs2.commands.common import Interruption

if TYPE_CHECKING:
    from blueprint.guandan.arena.ladder import Ladder
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.trainer import Trainer

__all__ = ["GuandanCourse"]

YARDSTICKS = ("greedy", "strong")
DEALS_SEED = 17
FEW = 400
Payoffs = Any


class GuandanCourse:
    """GuanDan, in levels a round."""

    game = "guandan"
    rule = opponent = "greedy"
    unit = "levels a round"

    def wanted(self, plan: Plan, name: str) -> TrainConfig:
        """Return the training of a recipe as a plan has it."""
        from blueprint.guandan.training.recipe_book import named_recipe

        config = named_recipe(name).train_config()
        return config.replace(**{**shortened(config.to_json(), plan.minutes), **plan.changes})

    def begin(self, plan: Plan, name: str) -> Trainer:
        """Return a new trainer of a recipe."""
        from blueprint.guandan.training.recipe_book import named_recipe
        from blueprint.guandan.training.trainer import Trainer

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
        """Return levels a round and rounds won against greedy, with 95 % intervals over the deals."""
        from blueprint.guandan.arena.duplicate import duplicate_deals, play_duplicate
        from blueprint.guandan.play.selfplay import Scratch
        from blueprint.guandan.training.recipe_book import named_recipe
        from games.support.bootstrap import bootstrap_interval
        from gs2.guandan.named_agents import load_batched_agent

        own = load_batched_agent(named_recipe(name).agent(str(path)), np.random.default_rng(0))
        payoffs = play_duplicate(
            own, load_batched_agent("greedy"), duplicate_deals(np.arange(deals), DEALS_SEED), Scratch()
        )
        rng, net = np.random.default_rng(DEALS_SEED), payoffs.mean(1)
        return {
            "net": float(net.mean()),
            "net_interval": list(bootstrap_interval(net, rng)),
            "won": float((payoffs > 0).mean()),
        }

    def compare(self, plan: Plan, rounds: int, stop: Interruption) -> Outcome | None:
        """Return the ladder of all recipes and the yardsticks, and each recipe against the rival."""
        from blueprint.guandan.arena.ladder import plot_ladder

        turns = read_turns(plan.folder)
        found = _ladder(plan, turns, rounds, stop)
        if found is None:
            return None
        ladder, claims = found
        plot_ladder(ladder, plan.folder / "ladder.svg")
        return Outcome([_table(plan, turns, ladder, claims)])


def _ladder(
    plan: Plan, turns: dict[str, list[Turn]], rounds: int, stop: Interruption
) -> tuple[Ladder, dict[str, str]] | None:
    from blueprint.guandan.arena.arena import Arena, ArenaConfig, Schedule
    from blueprint.guandan.arena.ladder import rate
    from blueprint.guandan.training.recipe_book import named_recipe
    from gs2.guandan.named_agents import NamedAgents

    seed = plan.changes["seed"]
    agents = {
        name: named_recipe(name).agent(str(plan.folder / name / turns[name][-1]["file"]))
        for name in plan.names
    }
    agents |= {name: name for name in YARDSTICKS}
    labels = list(agents)
    payoffs, claims = {}, {}
    results = check_folder(plan.folder / f"pairs-{plan.minutes:g}")
    # for a few deals it takes longer to start processes than to play
    with Arena(NamedAgents(), None if rounds > FEW else 1) as arena:
        schedule = Schedule(rounds, config=ArenaConfig(seed=seed))
        for j, b in enumerate(labels):
            for i, a in enumerate(labels[:j]):
                file = results / (re.sub(r"[^\w.+-]", "_", f"{a}--{b}") + ".jsonl")
                found = arena.play(agents[a], agents[b], schedule, output=file, stop=stop)
                if not found.complete:
                    return None
                payoffs[i, j] = found.payoffs
                if RIVAL in (a, b) and {a, b} <= set(plan.names):
                    claims[a if b == RIVAL else b] = _in_words(found.payoffs, b == RIVAL, seed)
    return rate(labels, payoffs, np.random.default_rng([seed, 0x1ADD])), claims


def _in_words(payoffs: Payoffs, first: bool, seed: int) -> str:
    """Return rounds won and levels a round with intervals; first: the payoffs are to the one told of."""
    from blueprint.guandan.arena.statistics import rounds_won
    from games.support.bootstrap import bootstrap_interval

    own = payoffs if first else -payoffs
    parts = []
    for values, unit, scale in ((rounds_won(own).mean(1), " %", 100), (own.mean(1), "", 1)):
        low, high = bootstrap_interval(values, np.random.default_rng(seed))
        form = "{:.1f}" if unit else "{:+.2f}"
        words = [form.format(scale * x) for x in (values.mean(), low, high)]
        parts.append(f"{words[0]}{unit} [{words[1]}, {words[2]}]")
    return "; ".join(parts)


def _table(plan: Plan, turns: dict[str, list[Turn]], ladder: Ladder, claims: dict[str, str]) -> str:
    from blueprint.guandan.training.recipe_book import named_recipe

    rows = []
    for name in plan.names:
        first, last = turns[name][0], turns[name][-1]
        rating = ladder.ratings[ladder.agents.index(name)]
        low, high = last["greedy"]["net_interval"]
        rows.append(
            (
                f"`{name}`",
                f"{last['processor_seconds'] / 60:.1f}",
                f"{last['decisions'] / 1e6:.1f} M",
                f"{first['greedy']['net']:+.2f}",
                f"{last['greedy']['net']:+.2f} [{low:+.2f}, {high:+.2f}]",
                f"{rating.mean:.0f} [{rating.low:.0f}, {rating.high:.0f}]",
                named_recipe(name).claim,
                claims.get(name, ""),
            )
        )
    heads = ("recipe", "minutes", "decisions", "untrained", "levels against greedy", "rating")
    return markdown_table((*heads, "the paper", f"here, against {RIVAL}: rounds; levels"), rows, "lrrrrrll")
