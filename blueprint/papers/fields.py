"""Which fields of configurations go together where a part of a published system is set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from games.support.configuration import ConfigError, one_of

PERSONALITIES = ("aggressive", "conservative", "balanced", "exploration")
"""Whose move it was: that of a rule-based personality, or the network's own."""
ALPHA = 0.5
"""Weight of the values beside a style, where none is given: as much as the style's."""


def check_fields(config: Any) -> None:
    """Raise ConfigError for fields of a configuration that contradict each other."""
    CHECKS[config.label](config)


def _check_network(config: Any) -> None:
    if config.kind == "ours":
        raise ConfigError(
            "NetworkConfig: branch, personality and opponent are parts of danzero; got the kind 'ours'; "
            "leave them out, or set kind=danzero and critic=0"
        )
    if config.personality and config.blocks < 3:
        raise ConfigError(
            f"NetworkConfig: with a personality head blocks must be at least 3; got {config.blocks}; the "
            "head shares all hidden layers but the last two"
        )
    if config.critic:
        raise ConfigError(f"NetworkConfig: danzero has no critic, critic must be 0; got {config.critic}")
    if config.past or config.hands or config.stakes:
        raise ConfigError("NetworkConfig: danzero has none of past, hands and stakes; leave them out")


def _check_policy(config: Any) -> None:
    if config.policy and (config.guide or config.prune >= 0 or not config.critic or not config.temperature):
        raise ConfigError(
            f"{config.label}: a policy needs a critic and a temperature, and draws from all moves by itself; "
            "leave guide and prune out"
        )


def _check_training(config: Any) -> None:
    _check_policy(config)
    if config.personas and (config.policy or config.strangers_share):
        raise ConfigError(
            f"TrainConfig: personas must be 0 beside a policy or strangers; got {config.personas}; a seat "
            "plays by one of them"
        )


def _check_climbing(config: Any) -> None:
    _check_policy(config)
    if bool(config.personas) != bool(config.personality):
        raise ConfigError(
            "ClimbingConfig: personas and a personality head need each other; got "
            f"personas={config.personas}, personality={config.personality}; use --recipe pdhqn for both"
        )
    if config.recognise and not config.personas:
        raise ConfigError(
            f"ClimbingConfig: recognise needs personas to tell apart; got recognise={config.recognise}, "
            "personas=0; use --recipe pdhqn for both"
        )
    if config.personas and (config.policy or config.guide):
        raise ConfigError(
            f"ClimbingConfig: personas must be 0 beside a policy or a guide; got {config.personas}; a seat "
            "plays by one of them"
        )
    if config.guide and not config.guide_share:
        raise ConfigError("ClimbingConfig: a guide needs a guide_share above 0; got 0")


def _check_style(config: Any) -> None:
    if config.persona:
        one_of(PERSONALITIES)(config, attrs.fields_dict(type(config))["persona"], config.persona)
    if config.alpha is not None and not config.persona:
        raise ConfigError(f"{config.label}: alpha={config.alpha:g} blends with a style; name a persona too")


def _check_network_play(config: Any) -> None:
    _check_style(config)
    if config.persona and config.temperature:
        raise ConfigError(
            f"NetworkPlay: a persona plays its best move; got temperature={config.temperature:g}; set 0"
        )


def _check_move_play(config: Any) -> None:
    _check_style(config)
    if config.persona and (config.temperature or config.prune is not None):
        raise ConfigError("MovePlay: a persona plays its best move; leave temperature and prune out")
    if config.persona and not config.heeds:
        raise ConfigError("MovePlay: a persona listens to its models of the others; leave heeds out")


CHECKS: dict[str, Callable[[Any], None]] = {
    "NetworkConfig": _check_network,
    "TrainConfig": _check_training,
    "ClimbingConfig": _check_climbing,
    "NetworkPlay": _check_network_play,
    "MovePlay": _check_move_play,
}
"""By the label of the configuration."""
