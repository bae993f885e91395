"""Recipes on DouDiZhu and Big2: against the rule agent after each turn, and all against each other.

DouDiZhu is counted as its field does: points are 2 doubled by each bomb and the rocket, to the landlord or to
both farmers together; their mean is ADP, the share of rounds won WP. In Big2 one agent sits among three of
the other, on each seat in turn; a pair is played both ways, and what they come to is half the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.support.files import check_folder
from gs2.commands.common import Interruption
from studies.training.equal_time.points_ladder import PointsLadder, plot_points, rate_points
from studies.training.equal_time.turns import RIVAL, Outcome, Plan, Turn, read_turns, shortened

if TYPE_CHECKING:
    from blueprint.climbing.move_config import ClimbingConfig
    from blueprint.climbing.training.move_trainer import MoveTrainer

__all__ = ["ClimbingCourse", "PairPoints", "summary"]

DEALS_SEED = 17
SIDES = {"doudizhu": ("landlord", "farmers")}
"""Names of the teams where they differ."""
POINTS = {"doudizhu": 2.0, "big2": 1.0}
"""Points, as the field counts them, to 1 of the games' payoffs."""
RULE_NAMES = {"doudizhu": "gs2.play.shedding:SHEDDING", "big2": "gs2.play.big2_shedding:BIG2_SHEDDING"}
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairPoints:
    """What one agent came to among others. points: [deals, teams], as each team in turn."""

    points: Values

    @property
    def won(self) -> Values:
        """[deals, teams], 1 for each round won."""
        found: Values = (self.points > 0).astype(np.float64)
        return found


def summary(values: Values, seed: int = DEALS_SEED) -> tuple[float, float, float]:
    """Return a mean over deals, [n], with its 95 % interval."""
    from games.support.bootstrap import bootstrap_interval

    return (float(values.mean()), *bootstrap_interval(values, np.random.default_rng(seed)))


def _points(found: tuple[float, float, float]) -> str:
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(*found)


def _percent(found: tuple[float, float, float]) -> str:
    return "{:.1f} % [{:.1f}, {:.1f}]".format(*(100 * x for x in found))


class ClimbingCourse:
    """DouDiZhu or Big2, in points a round."""

    rule = "rule"
    unit = "points a round"
    opponent = "the rule agent"

    def __init__(self, game: str) -> None:
        """Take the game's name."""
        from games.registry import load_game
        from gs2.wings import own_part

        self.game, self.loaded = game, load_game(game)
        self.agent = own_part(self.loaded.name, "teacher")

    def wanted(self, plan: Plan, name: str) -> ClimbingConfig:
        """Return the training of a recipe as a plan has it."""
        from blueprint.papers.recipes import named_recipe

        config = named_recipe(name).climbing_config()
        return config.replace(**{**shortened(config.to_json(), plan.minutes), **plan.changes})

    def begin(self, plan: Plan, name: str) -> MoveTrainer:
        """Return a new trainer of a recipe."""
        from blueprint.climbing.training.move_trainer import MoveTrainer

        return MoveTrainer(self.loaded, self.wanted(plan, name), threads=1, teacher=self.agent)

    def saved(self, path: Path) -> ClimbingConfig:
        """Return the training that a checkpoint was written by."""
        from blueprint.checkpoint import read_checkpoint
        from blueprint.climbing.move_config import described_config

        return described_config(path, read_checkpoint(path, prefix="-")[1], self.loaded)

    def load(self, path: Path, plan: Plan, name: str) -> MoveTrainer:
        """Return the trainer of a recipe's checkpoint, with the schedules of a plan."""
        from blueprint.climbing.training.move_trainer import MoveTrainer

        config = self.wanted(plan, name)
        return MoveTrainer.load(path, self.loaded, threads=1, teacher=self.agent, config=config)

    def against_rule(self, name: str, path: Path, deals: int) -> dict[str, Any]:
        """Return points a round and rounds won against the rule agent; of DouDiZhu on either side as well."""
        from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
        from gs2.play.game_pairs import play_numbered

        own = load_climbing_blueprint(path, self.loaded)
        played = play_numbered(self.loaded, (own, self.agent), np.arange(deals), DEALS_SEED)
        met = PairPoints(POINTS[self.game] * played.payoffs)
        net, low, high = summary(met.points.mean(1))
        return {
            "net": net,
            "net_interval": [low, high],
            "won": float(met.won.mean()),
            "sides": {
                side: {"adp": float(met.points[:, k].mean()), "wp": float(met.won[:, k].mean())}
                for k, side in enumerate(SIDES.get(self.game, ()))
            },
        }

    def compare(self, plan: Plan, rounds: int, stop: Interruption) -> Outcome | None:
        """Return what all recipes and the rule agent come to against each other, and against the rival."""
        turns = read_turns(plan.folder)
        agents = {name: str(plan.folder / name / turns[name][-1]["file"]) for name in plan.names}
        agents["rule agent"] = RULE_NAMES[self.game]
        met = self._all_pairs(plan, agents, rounds, stop)
        if met is None:
            return None
        labels = list(agents)
        ladder = rate_points(labels, self.nets(labels, met), np.random.default_rng(plan.changes["seed"]))
        plot_points(ladder, plan.folder / "ladder.svg", self.unit)
        claims = {name: met[name, RIVAL] for name in plan.names if (name, RIVAL) in met}
        return Outcome(
            [
                _table(plan, turns, ladder, claims),
                *self._sides(claims),
                "Points a round, row against column:",
                ladder.cross_table(),
            ]
        )

    def _all_pairs(
        self, plan: Plan, agents: dict[str, str], rounds: int, stop: Interruption
    ) -> dict[tuple[str, str], PairPoints] | None:
        """Return what each agent comes to against each other one, None if it was stopped."""
        from gs2.play.arena import Meeting, play_match

        results = check_folder(plan.folder / f"pairs-{plan.minutes:g}")
        labels = list(agents)
        two = max(self.loaded.teams) == 1
        found: dict[tuple[str, str], PairPoints] = {}
        for j, b in enumerate(labels):
            for i, a in enumerate(labels):
                if i == j or (two and i > j):
                    continue
                file = results / (f"{a}--{b}".replace(" ", "_") + ".jsonl")
                meeting = Meeting(self.game, agents[a], agents[b], rounds, plan.changes["seed"])
                played = play_match(meeting, game=self.loaded, output=file, stop=stop)
                if not played.complete:
                    return None
                points = POINTS[self.game] * played.games.payoffs
                found[a, b] = PairPoints(points)
                if two:  # the same games from the other side
                    found[b, a] = PairPoints(-points[:, ::-1])
        return found

    def nets(
        self, labels: Sequence[str], met: dict[tuple[str, str], PairPoints]
    ) -> dict[tuple[int, int], Values]:
        """Return points to i against j on each deal, for i < j."""
        found: dict[tuple[int, int], Values] = {}
        for j, b in enumerate(labels):
            for i, a in enumerate(labels[:j]):
                found[i, j] = (met[a, b].points.mean(1) - met[b, a].points.mean(1)) / 2
        return found

    def _sides(self, claims: dict[str, PairPoints]) -> list[str]:
        """Return a table of WP and ADP as each side against the rival, where the sides differ."""
        sides = SIDES.get(self.game, ())
        if not sides or not claims:
            return []
        rows = []
        for name, met in claims.items():
            cells = [f"`{name}`"]
            for k in range(len(sides)):
                cells += [_percent(summary(met.won[:, k])), _points(summary(met.points[:, k]))]
            rows.append(cells)
        heads = [f"{side} {what}" for side in sides for what in ("WP", "ADP")]
        title = f"Against `{RIVAL}`, by side:"
        return [title, markdown_table(("recipe", *heads), rows, "l" + "r" * len(heads))]


def _table(
    plan: Plan, turns: dict[str, list[Turn]], ladder: PointsLadder, claims: dict[str, PairPoints]
) -> str:
    from blueprint.papers.recipes import named_recipe

    rows = []
    for name in plan.names:
        first, last = turns[name][0], turns[name][-1]
        against = ""
        if name in claims:
            met = claims[name]
            against = f"{_points(summary(met.points.mean(1)))}; {_percent(summary(met.won.mean(1)))}"
        rating = ladder.ratings[ladder.agents.index(name)]
        rows.append(
            (
                f"`{name}`",
                f"{last['processor_seconds'] / 60:.1f}",
                f"{last['decisions'] / 1e6:.1f} M",
                f"{first['rule']['net']:+.3f}",
                _points((last["rule"]["net"], *last["rule"]["net_interval"])),
                f"{100 * last['rule']['won']:.1f} %",
                _points((rating.mean, rating.low, rating.high)),
                named_recipe(name).claim,
                against,
            )
        )
    heads = ("recipe", "minutes", "decisions", "untrained", "points against the rule agent", "won")
    more = ("points against all others", "the paper", f"here, against {RIVAL}: points; rounds won")
    return markdown_table((*heads, *more), rows, "lrrrrrrll")
