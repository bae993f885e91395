"""GuanDan's blueprint: network, play, training, rule-based agents and the arena."""

from blueprint.networks import WEIGHTS

__all__ = ["SHIPPED"]

SHIPPED = WEIGHTS / "guandan.safetensors"
"""The checkpoint that comes with the package."""
