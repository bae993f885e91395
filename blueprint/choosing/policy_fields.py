"""Which fields of a training go together where it learns a policy."""

from __future__ import annotations

from typing import ClassVar, Protocol

from games.support.configuration import ConfigError

__all__ = ["check_policy_fields"]


class _OfPolicy(Protocol):
    """The fields of training that a policy stands on, of every trainer."""

    label: ClassVar[str]

    @property
    def policy(self) -> float: ...

    @property
    def guide(self) -> float: ...

    @property
    def prune(self) -> int: ...

    @property
    def critic(self) -> int: ...

    @property
    def temperature(self) -> float: ...


def check_policy_fields(config: _OfPolicy) -> None:
    """Raise ConfigError for a policy without what it needs, or beside what it replaces."""
    if config.policy and (config.guide or config.prune >= 0 or not config.critic or not config.temperature):
        raise ConfigError(
            f"{config.label}: a policy needs a critic and a temperature, and draws from all moves by itself; "
            "leave guide and prune out"
        )
