"""The error of every configuration: of networks, of training, of a search and of an agent."""

from __future__ import annotations

__all__ = ["ConfigError"]


class ConfigError(ValueError):
    """A configuration that cannot be: the field, the value received and the next step."""
