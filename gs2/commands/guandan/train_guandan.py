"""GuanDan's training for `gs2 train`: a run in a directory, alone or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.training.learners import FOLDER, SELF_PLAY, Begin, Moves, Options
from gs2.commands.training.run_options import changed_fields, saved_config

if TYPE_CHECKING:
    from blueprint.guandan.train_config import NetworkConfig
    from blueprint.learning.run import RunPlace
    from games.game import Game


class _GuanDan(Moves):
    games, outputs = ("GuanDan",), (FOLDER,)
    own = f"{SELF_PLAY} device preset"
    minutes, checkpoint_minutes, keep_every = 60.0, 5.0, 60.0
    in_time, opponent, threads = True, "strong", None

    def begin(self, game: Game, place: RunPlace, o: Options) -> Begin:
        from blueprint.guandan.play.quick_agents import load_quick_agent
        from blueprint.guandan.train_config import NetworkConfig, TrainConfig
        from blueprint.guandan.training.trainer import Trainer
        from blueprint.paper_parts import paper_part

        if game.name != "guandan(moves=full)":
            raise click.UsageError(f"gs2 train takes GuanDan with moves=full; got {game.name}; write guandan")
        changes = self.changes(TrainConfig, o)
        widths = changed_fields(NetworkConfig, None, network=o["sizes"])
        recipe, preset = o["recipe"], o["preset"]
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
        setup = self.setup(o, "greedy,strong", load_quick_agent, minutes=15.0)
        return partial(Trainer.begun, network=network, config=config, setup=setup)

    def result(self, trainer: Any, place: RunPlace, row: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().result(trainer, place, row), "output": str(place.output)}


GUANDAN = _GuanDan()
