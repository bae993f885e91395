"""Blueprints: Q-functions and policies that say which roots, which branches and what leaves are worth."""

from typing import TYPE_CHECKING

from games.lazy import lazy_exports

if TYPE_CHECKING:
    from blueprint.agents import load_chooser
    from blueprint.checkpoint import SHIPPED, CheckpointError
    from blueprint.config import NetworkConfig, TrainConfig
    from blueprint.export import export_checkpoint
    from blueprint.inference import Inference, load_inference
    from blueprint.neural import NeuralBlueprint, check_blueprint, load_blueprint
    from blueprint.protocol import Blueprint
    from blueprint.tabular import SeatTable, TabularBlueprint
    from blueprint.train import Trainer

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
        "blueprint.agents": ("load_chooser",),
        "blueprint.checkpoint": ("SHIPPED", "CheckpointError"),
        "blueprint.config": ("NetworkConfig", "TrainConfig"),
        "blueprint.export": ("export_checkpoint",),
        "blueprint.inference": ("Inference", "load_inference"),
        "blueprint.neural": ("NeuralBlueprint", "check_blueprint", "load_blueprint"),
        "blueprint.protocol": ("Blueprint",),
        "blueprint.tabular": ("SeatTable", "TabularBlueprint"),
        "blueprint.train": ("Trainer",),
    },
)
