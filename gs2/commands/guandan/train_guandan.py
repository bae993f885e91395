"""GuanDan's training for `gs2 train`: a run in a directory, alone or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.training.learners import FOLDER, Begin, GameLearner, Options
from gs2.commands.training.run_options import changed_fields, check_device, saved_config

if TYPE_CHECKING:
    from blueprint.guandan.train_config import NetworkConfig
    from blueprint.learning.run import RunPlace
    from games.game import Game


class _GuanDan(GameLearner):
    games, outputs = ("GuanDan",), (FOLDER,)
    own = "device preset recipe threads on actors anneal evaluate_minutes against rounds"
    limits = ("minutes",)
    minutes, checkpoint_minutes, keep_every = 60.0, 5.0, 60.0
    in_time, opponent = True, "strong"

    def begin(self, game: Game, place: RunPlace, o: Options) -> Begin:
        import numpy as np

        from blueprint.guandan.play.quick_agents import load_quick_agent
        from blueprint.guandan.train_config import NetworkConfig, TrainConfig
        from blueprint.guandan.training.trainer import Setup, Trainer
        from blueprint.paper_parts import paper_part
        from games.support.work.executor import available_cores

        if game.name != "guandan(moves=full)":
            raise click.UsageError(f"gs2 train takes GuanDan with moves=full; got {game.name}; write guandan")
        changes = changed_fields(TrainConfig, o["seed"], set=o["settings"])
        widths = changed_fields(NetworkConfig, None, network=o["sizes"])
        recipe, preset, on, actors = o["recipe"], o["preset"], o["on"], o["actors"]
        network: NetworkConfig | None
        if recipe is not None:
            if preset is not None:
                raise click.UsageError(
                    f"--recipe {recipe} has a network of its own; got --preset {preset} as well; leave one "
                    "of them out"
                )
            system = paper_part("recipe", "--recipe")(recipe)
            network, config = system.network_config(**widths), system.train_config(**changes)
        else:
            network, config = NetworkConfig(), TrainConfig(**changes)
            if preset == "danzero":
                network = paper_part("recipe", "--preset danzero")(preset).network_config()
            network = network.replace(**widths)
        saved = saved_config(place, o, changes, lambda at, told: TrainConfig.from_json(told.get("train", {})))
        if saved is not None:
            config = saved.replace(**changes)
            network = network if preset is not None or widths else None
        evaluate = o["evaluate_minutes"]
        opponents = tuple(name for name in o["against"].split(",") if name) if evaluate else ()
        for name in opponents:
            load_quick_agent(name, np.random.default_rng(0))
        check_device(o["device"])
        if on.is_local and actors is not None:
            raise click.UsageError(f"--actors {actors} needs --on ray; here --threads say how many play")
        setup = Setup(
            device=o["device"],
            threads=o["threads"] or available_cores(),
            on=str(on),
            actors=actors or 0,
            anneal=o["anneal"],
            evaluate_minutes=evaluate,
            opponents=opponents,
            rounds=o["rounds"],
        )
        return partial(Trainer.begun, network=network, config=config, setup=setup)

    def result(self, trainer: Any, place: RunPlace, row: Mapping[str, Any]) -> dict[str, Any]:
        return {**row, "evaluation": trainer.evaluation, "output": str(place.output)}


GUANDAN = _GuanDan()
