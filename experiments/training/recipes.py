"""The systems of the source papers at equal processor time, on one ladder.

    python -m experiments.training.recipes -o runs/recipes --minutes 120

Every recipe trains on one thread in a folder of its own, in turns of some minutes, so that a busy hour of the
machine falls on all of them. What counts is the processor's time, which other programs do not shorten. After
each turn its agent plays greedy on fixed deals, from which the learning curves are drawn. At the end all play
each other and two rule-based agents on the same deals. `turns.jsonl` and the results are appended to: the
same command goes on after a kill, and more minutes go on from fewer.

Schedules of recipes are made for two hours: `policy_from` and `guide` shrink with shorter runs.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from experiments.markdown import markdown_table
from games.support.files import LineFile, check_folder, read_bytes, write_text
from games.support.locks import hold
from gs2.commands.common import NEW_FOLDER, Interruption, stderr
from gs2.commands.groups import run_alone

if TYPE_CHECKING:
    from blueprint.guandan.arena.ladder import Ladder
    from blueprint.guandan.training.trainer import Trainer

__all__ = ["Plan", "compare_recipes", "learning_curves", "recipes", "train_in_turns"]

TURNS = "turns.jsonl"
WHOLE = 120.0
"""Minutes that the recipes' schedules are made for."""
SCHEDULES = ("policy_from", "guide")
RIVAL = "danzero"
"""Whom the papers compare their systems with."""
YARDSTICKS = ("greedy", "strong")
DEALS_SEED = 17
FEW = 400


@dataclass(frozen=True)
class Plan:
    """What is trained. minutes: of the processor for each recipe; turn: of each turn.

    deals: against greedy after a turn, each played from both sides. changes: of every recipe's training.
    """

    folder: Path
    names: tuple[str, ...]
    minutes: float
    turn: float
    deals: int
    changes: dict[str, Any]


def _turns(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the turns so far by recipe, oldest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    path = folder / TURNS
    for line in read_bytes(path).splitlines() if path.exists() else ():
        row = json.loads(line)
        found.setdefault(row["recipe"], []).append(row)
    return found


def _new_trainer(plan: Plan, name: str) -> Trainer:
    from blueprint.guandan.training.recipe_book import named_recipe
    from blueprint.guandan.training.trainer import Trainer

    recipe = named_recipe(name)
    config = recipe.train_config()
    shorter = {field: getattr(config, field) * min(1.0, plan.minutes / WHOLE) for field in SCHEDULES}
    return Trainer(recipe.network_config(), config.replace(**{**shorter, **plan.changes}), threads=1)


def _against_greedy(name: str, path: Path, deals: int) -> dict[str, Any]:
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


def _take_turn(plan: Plan, name: str, before: list[dict[str, Any]], stop: Interruption) -> bool:
    """Train one recipe for a turn; return whether it came to its end."""
    from blueprint.guandan.training.trainer import Trainer

    folder = check_folder(plan.folder / name)
    spent = float(before[-1]["processor_seconds"]) if before else 0.0
    if before:
        trainer = Trainer.load(folder / before[-1]["file"], threads=1)
    else:
        trainer = _new_trainer(plan, name)
        _keep(plan, name, trainer, 0, 0.0)
    until = min(60 * plan.minutes, spent + 60 * plan.turn)
    while spent < until:
        began = time.process_time()
        with stop.at_once():
            trainer.run_generation()
        spent += time.process_time() - began
    _keep(plan, name, trainer, len(before) or 1, spent)
    if before:
        _remove(folder / before[-1]["file"])
    return spent >= 60 * plan.minutes


def _keep(plan: Plan, name: str, trainer: Trainer, turn: int, spent: float) -> None:
    """Save a checkpoint, then tell of it: a kill in between leaves the turn before."""
    path = plan.folder / name / f"turn-{turn:04d}.safetensors"
    trainer.save(path)
    greedy = _against_greedy(name, path, plan.deals)
    row = {
        "recipe": name,
        "file": path.name,
        "processor_seconds": spent,
        "decisions": trainer.decisions,
        "rounds": trainer.rounds,
        "greedy": greedy,
    }
    with LineFile(plan.folder / TURNS) as file:
        file.append([json.dumps(row)])
    told = f"{spent / 60:.1f} min, {trainer.decisions:,} decisions, greedy {greedy['net']:+.2f}"
    stderr().print(f"{name}: {told}")


def _remove(path: Path) -> None:
    for each in (path, path.with_suffix(".json")):
        each.unlink(missing_ok=True)


def train_in_turns(plan: Plan, stop: Interruption) -> dict[str, list[dict[str, Any]]]:
    """Return all turns once every recipe has had its minutes.

    Raises Interrupted where it is stopped; what was told in the folder stays.
    """
    left = list(plan.names)
    while left:
        for name in tuple(left):
            before = _turns(plan.folder).get(name, [])
            done = before and before[-1]["processor_seconds"] >= 60 * plan.minutes
            if done or _take_turn(plan, name, before, stop):
                left.remove(name)
    return _turns(plan.folder)


def compare_recipes(plan: Plan, rounds: int, stop: Interruption) -> tuple[Ladder, dict[str, str]] | None:
    """Return the ladder of all recipes and the yardsticks, and each recipe against the rival, in words.

    rounds: deals of each pair. None if it was stopped.
    """
    from blueprint.guandan.arena.arena import Arena, ArenaConfig, Schedule
    from blueprint.guandan.arena.ladder import rate
    from blueprint.guandan.training.recipe_book import named_recipe
    from gs2.guandan.named_agents import NamedAgents

    turns, seed = _turns(plan.folder), plan.changes["seed"]
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


def _in_words(payoffs: Any, first: bool, seed: int) -> str:
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


def learning_curves(turns: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw levels a round against greedy by processor time, a line a recipe; needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, rows in turns.items():
        x = [row["processor_seconds"] / 60 for row in rows]
        y = np.array([row["greedy"]["net"] for row in rows])
        low, high = np.array([row["greedy"]["net_interval"] for row in rows]).T
        axes.errorbar(
            x, y, [np.maximum(y - low, 0), np.maximum(high - y, 0)], marker="o", capsize=2, label=name
        )
    axes.axhline(0, color="0.7", linewidth=0.8)
    axes.set(xlabel="minutes of one processor", ylabel="levels a round against greedy")
    axes.legend(frameon=False)
    figure.savefig(path)


def _table(plan: Plan, turns: dict[str, list[dict[str, Any]]], ladder: Ladder, claims: dict[str, str]) -> str:
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


class _Setting(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """FIELD=VALUE of training."""

    name = "setting"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """Return the field and its value."""
        from blueprint.guandan.train_config import TrainConfig
        from games.support.configuration import ConfigError
        from games.support.spec import field_types, read_settings

        try:
            return read_settings([value], field_types(TrainConfig))
        except ConfigError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.option("-o", "--output", type=NEW_FOLDER, required=True, help="Folder of the runs, to go on with.")
@click.option("--minutes", type=float, default=WHOLE, show_default=True, help="Of the processor, a recipe.")
@click.option("--recipes", "names", help="Names, separated by commas.  [default: all]")
@click.option("--turn", type=float, default=10.0, show_default=True, help="Minutes of a turn.")
@click.option("--rounds", type=int, default=2000, show_default=True, help="Deals of each pair at the end.")
@click.option("--set", "settings", type=_Setting(), multiple=True, help="Change every recipe's training.")
def recipes(
    output: Path,
    minutes: float,
    names: str | None,
    turn: float,
    rounds: int,
    settings: tuple[dict[str, Any], ...],
) -> None:
    """Train the recipes in turns at equal processor time, then rate them on one ladder.

    After each turn a quarter of the deals is played against greedy. `--set seed=1` is another run of all.
    """
    from blueprint.guandan.arena.ladder import plot_ladder
    from blueprint.guandan.training.recipe_book import RECIPES, named_recipe
    from games.support.interruption import Interrupted

    chosen = tuple(named_recipe(name.strip()).name for name in names.split(",")) if names else tuple(RECIPES)
    changes: dict[str, Any] = {"seed": 0}
    for one in settings:
        changes |= one
    plan = Plan(check_folder(output), chosen, minutes, turn, max(2, rounds // 4), changes)
    with hold(plan.folder, folder=True), Interruption() as stop:
        try:
            turns = train_in_turns(plan, stop)
            found = compare_recipes(plan, rounds, stop)
        except Interrupted:
            found = None
        if found is None:
            stderr().print("interrupted; the same command goes on from there")
            raise SystemExit(stop.exit_code)
        ladder, claims = found
        table = _table(plan, turns, ladder, claims)
        write_text(plan.folder / "recipes.md", table + "\n")
        plot_ladder(ladder, plan.folder / "ladder.svg")
        learning_curves({name: turns[name] for name in chosen}, plan.folder / "curves.svg")
    click.echo(table)


if __name__ == "__main__":
    run_alone(recipes)
