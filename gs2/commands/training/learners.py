"""What `gs2 train` must know of each kind of training: its options, configuration, trainer and result.

A game may register its own (`gs2.wings`); any other has that of its network, with moves as inputs or a column
for each action.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import GAME_TYPED
from gs2.commands.training.run_options import changed_fields, check_device, saved_config

if TYPE_CHECKING:
    from blueprint.learning.base_trainer import BaseTrainer
    from blueprint.learning.run import RunPlace
    from blueprint.learning.self_play import Opponent, Setup
    from blueprint.protocol import Agent
    from games.game import Game

FOLDER, FILE = "a directory", "a .safetensors file"
SHARED = (
    "minutes processor_minutes decisions resume settings sizes seed checkpoint_minutes tensorboard as_json"
)
SELF_PLAY = "learner recipe threads on actors anneal evaluate_minutes against rounds"
Options = Mapping[str, Any]
Begin = Callable[["Path | None"], "BaseTrainer"]
"""Returns the trainer that a checkpoint holds, or a new one for None."""


class GameLearner:
    """Training for one kind of game.

    games: of the kind. outputs: FOLDER, FILE, or both. own: options that it takes beside SHARED ones; any
        other is refused.
    minutes, checkpoint_minutes: defaults. in_time: whether the minutes are those of the call, evaluations
        included. keep_every: minutes between numbered copies.
    beside: whether the training is kept beside the checkpoint. unit: what is played, a counter of the
        trainer. losses: of a row, by their letters. opponent: in the hint at the end.
    """

    games: tuple[str, ...]
    outputs: tuple[str, ...]
    own: str
    minutes, checkpoint_minutes = 10.0, 1.0
    in_time, beside = False, False
    keep_every: float | None = None
    unit, opponent = "rounds", "uniform"
    losses: Mapping[str, str] = {"A": "advantage", "V": "value"}

    @property
    def options(self) -> set[str]:
        """Return the options that it takes."""
        return {*SHARED.split(), *self.own.split()}

    def begin(self, game: Game, place: RunPlace, o: Options) -> Begin:
        """Return how the trainer of a run begins.

        Raises UsageError for options that contradict each other, the run or the machine, ConfigError for
        fields.
        """
        raise NotImplementedError

    def result(self, trainer: Any, place: RunPlace, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `--json` prints after the last row."""
        raise NotImplementedError


class Moves(GameLearner):
    """Training for games whose moves are inputs. threads: of a run by default, None for all cores."""

    games: tuple[str, ...] = ("DouDiZhu", "Big2", "games with moves_are_inputs")
    outputs: tuple[str, ...] = (FOLDER, FILE)
    own = f"{SELF_PLAY} start_from"
    threads: int | None = 1

    def begin(self, game: Game, place: RunPlace, o: Options) -> Begin:
        from blueprint.checkpoint import read_checkpoint
        from blueprint.climbing.climbing_blueprint import described_play
        from blueprint.climbing.move_config import ClimbingConfig, described_config
        from blueprint.climbing.move_trainer import MoveTrainer
        from blueprint.learning.self_play import EVALUATION_SEED
        from blueprint.paper_parts import paper_part
        from gs2.play.agent_names import load_game_agent, network_file, parse_agent
        from gs2.wings import games_with, own_part

        def opponent(name: str, rng: object) -> Agent:
            return load_game_agent(game, name, seed=EVALUATION_SEED)

        known = games_with("teacher").get(game.name.partition("(")[0], "uniform")
        changes = self.changes(ClimbingConfig, o, network=o["sizes"])
        saved = saved_config(place, o, changes, lambda at, told: described_config(at, told, game))
        name = o["start_from"]
        start = None if name is None else network_file(game.name, parse_agent(name)) or Path(name)
        if saved is not None:
            config = saved.replace(**changes)
        elif o["recipe"]:
            config = paper_part("recipe", "--recipe")(o["recipe"]).climbing_config(**changes)
        elif start is not None:
            like = described_play(start, read_checkpoint(start, prefix="-")[1], game)[0]
            config = like.replace(**{"seed": 0, "recipe": "", **changes})
        else:
            config = ClimbingConfig(**changes)
        return partial(
            MoveTrainer.begun,
            game=game,
            config=config,
            teacher=own_part(game.name, "teacher"),
            setup=self.setup(o, known, opponent, minutes=15.0 if o["against"] else 0.0),
            opponent=opponent,
            called=click.get_current_context().meta[GAME_TYPED],
            start=start,
        )

    def changes(self, kind: Any, o: Options, **sizes: tuple[str, ...]) -> dict[str, Any]:
        """Return the fields of a configuration class that --learner, settings and sizes change.

        Raises UsageError for a learner that there is not, or beside a recipe, and as `changed_fields`.
        """
        from blueprint.learning.move_training import LEARNERS

        changes, name = changed_fields(kind, o["seed"], set=o["settings"], **sizes), o["learner"]
        if name is None:
            return changes
        if name not in LEARNERS:
            known, game = " or ".join(LEARNERS), click.get_current_context().meta[GAME_TYPED]
            raise click.UsageError(f"--learner must be {known} for {game}; got {name}; name one of them")
        if o["recipe"] is not None:
            raise click.UsageError(f"--recipe {o['recipe']} says how it learns; leave --learner {name} out")
        return {**LEARNERS[name], **changes}

    def setup(self, o: Options, known: str, opponent: Opponent, *, minutes: float) -> Setup:
        """Return on what a run trains, and how it is evaluated.

        known: opponents by default. opponent: loads one. minutes: between evaluations, by default.
        Raises UsageError for a device that is not here, actors without a cluster, threads beside one,
        opponents that search or are never met, and rounds of no evaluation.
        """
        from numpy.random import default_rng

        from blueprint.learning.self_play import Setup
        from blueprint.protocol import follows
        from games.support.work.executor import available_cores

        minutes = minutes if o["evaluate_minutes"] is None else o["evaluate_minutes"]
        for name in ("against", "rounds"):
            if o[name] and not minutes:
                unasked = "none; add --evaluate-minutes", "--evaluate-minutes 0; leave one out"
                got = unasked[o["evaluate_minutes"] is not None]
                raise click.UsageError(f"--{name} needs evaluations; got {got}")
        opponents = (o["against"] or tuple(known.split(","))) if minutes else ()
        for name in opponents:
            if follows(opponent(name, default_rng(0))):
                raise click.UsageError(f"--against must name agents that do not search; got {name}")
        check_device(o["device"])
        if o["on"].is_local and o["actors"] is not None:
            raise click.UsageError(f"--actors {o['actors']} needs --on ray; here --threads say how many play")
        if not o["on"].is_local and o["threads"] is not None:
            raise click.UsageError(f"--threads {o['threads']} play here; with --on ray give --actors instead")
        return Setup(
            device=o["device"],
            threads=o["threads"] or self.threads or available_cores(),
            on=str(o["on"]),
            actors=o["actors"] or 0,
            anneal=o["anneal"],
            evaluate_minutes=minutes,
            opponents=opponents,
            rounds=o["rounds"] or 100,
        )

    def result(self, trainer: Any, place: RunPlace, row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "game": trainer.learner.game.name,
            "recipe": trainer.config.recipe,
            "output": str(place.checkpoint),
            **trainer.counted(),
            **dict.fromkeys(("advantage", "value", "critic", "hands")),
            **row,
        }


class _Columns(GameLearner):
    games, outputs = ("games without moves_are_inputs",), (FILE,)
    own = "measure learner device"
    checkpoint_minutes, beside, unit = 0.5, True, "games"
    losses: Mapping[str, str] = {"Q": "q_loss", "V": "v_loss"}

    def begin(self, game: Game, place: RunPlace, o: Options) -> Begin:
        from blueprint.research.game_network import GameNetworkConfig, learner_config
        from blueprint.research.game_training import GameTrainer
        from games.game import not_zero_sum
        from gs2.policies.policy_spec import exact_exploitability

        check_device(o["device"])
        if not getattr(game, "zero_sum", True):
            raise not_zero_sum(game.name)
        changes = changed_fields(GameNetworkConfig, o["seed"], set=o["settings"], network=o["sizes"])
        saved = saved_config(
            place, o, changes, lambda at, told: GameNetworkConfig.from_json(told.get("config", {}))
        )
        if saved is None:
            config = learner_config(o["learner"] or "mmd", changes)
        else:
            changes |= {} if o["learner"] is None else {"learner": o["learner"]}
            other = [f"{name}={value}" for name, value in changes.items() if getattr(saved, name) != value]
            if other:
                raise click.UsageError(f"a resumed run keeps its settings; got {', '.join(other)}; drop them")
            config = None
        measure = None if o["measure"] is None else exact_exploitability(game)
        begin = partial(GameTrainer.begun, game=game, config=config, device=o["device"])
        return partial(begin, measure=measure, times=o["measure"] or 0)

    def result(self, trainer: Any, place: RunPlace, row: Mapping[str, Any]) -> dict[str, Any]:
        told = ("generations", "decisions", "games", "seconds", "q_loss", "v_loss", "curve")
        found = {**trainer.told(), **row}
        return {
            "game": trainer.layout.game.name,
            "output": str(place.checkpoint),
            "bytes": place.checkpoint.stat().st_size if place.checkpoint.exists() else 0,
            **{name: found.get(name) for name in told},
        }


MOVES, COLUMNS = Moves(), _Columns()


def learners() -> list[GameLearner]:
    """Return every kind of training."""
    from gs2.wings import own_parts

    return [*own_parts("training"), MOVES, COLUMNS]


def learner_of(game: Game, name: str) -> GameLearner:
    """Return the training of a game; name: by which it was asked for."""
    from gs2.wings import own_part

    own: GameLearner | None = own_part(name, "training")
    return own or (MOVES if getattr(game, "moves_are_inputs", False) else COLUMNS)
