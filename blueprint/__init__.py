"""Blueprints: Q-functions and policies that tell a search which histories, moves and leaf values to use."""

from typing import TYPE_CHECKING

from games.support.lazy import lazy_exports

if TYPE_CHECKING:
    from blueprint.checkpoint import SHIPPED, CheckpointError
    from blueprint.guandan.network.export import export_checkpoint
    from blueprint.guandan.network.inference import Inference, load_inference
    from blueprint.guandan.play.choosers import load_chooser
    from blueprint.guandan.train_config import NetworkConfig, TrainConfig
    from blueprint.guandan.training.trainer import Trainer
    from blueprint.neural import NeuralBlueprint, check_blueprint, load_blueprint
    from blueprint.protocol import Blueprint
    from blueprint.tabular import SeatTable, TabularBlueprint

__all__ = [
    "SHIPPED",
    "Blueprint",
    "CheckpointError",
    "Inference",
    "NetworkConfig",
    "NeuralBlueprint",
    "SeatTable",
    "TabularBlueprint",
    "TrainConfig",
    "Trainer",
    "check_blueprint",
    "export_checkpoint",
    "load_blueprint",
    "load_chooser",
    "load_inference",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "blueprint.guandan.play.choosers": ("load_chooser",),
        "blueprint.checkpoint": ("SHIPPED", "CheckpointError"),
        "blueprint.guandan.train_config": ("NetworkConfig", "TrainConfig"),
        "blueprint.guandan.network.export": ("export_checkpoint",),
        "blueprint.guandan.network.inference": ("Inference", "load_inference"),
        "blueprint.neural": ("NeuralBlueprint", "check_blueprint", "load_blueprint"),
        "blueprint.protocol": ("Blueprint",),
        "blueprint.tabular": ("SeatTable", "TabularBlueprint"),
        "blueprint.guandan.training.trainer": ("Trainer",),
    },
)
