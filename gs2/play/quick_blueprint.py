"""A network of a climbing game with a quicker copy of itself, in bfloat16, for what search plays out."""

from __future__ import annotations

from copy import copy
from pathlib import Path

from blueprint.checkpoint import read_checkpoint
from blueprint.climbing.climbing_blueprint import ClimbingBlueprint
from blueprint.climbing.network.fast_moves import FastMoves
from blueprint.layers.bfloat import native_half
from blueprint.protocol import Blueprint

__all__ = ["with_quick_copy"]


def with_quick_copy(blueprint: Blueprint, path: str | Path) -> Blueprint:
    """Return the blueprint of a checkpoint with a quicker copy as `quick`, where the processor has bfloat16.

    Of any blueprint but a climbing game's network, and on other processors, itself.
    """
    if not isinstance(blueprint, ClimbingBlueprint) or not native_half():
        return blueprint
    tensors, _ = read_checkpoint(Path(path), prefix="network.")
    found, quick = copy(blueprint), copy(blueprint)
    quick.network = FastMoves(blueprint.network.inputs, tensors, half=True, name=blueprint.name)
    found.quick = quick  # type: ignore[attr-defined]
    return found
