"""`--set FIELD=VALUE`: changes of a configuration that is loaded when the first one is read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

__all__ = ["SettingType"]


class SettingType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """FIELD=VALUE of a configuration of training or of a network."""

    name = "setting"

    def __init__(self, module: str, configuration: str) -> None:
        """Take the name of a configuration and of its module, which loads when it is needed."""
        self.module, self.configuration = module, configuration

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the setting; one that the configuration cannot have is refused."""
        from games.support.configuration import ConfigError

        try:
            self.changes((str(value),))
        except ConfigError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def changes(self, settings: tuple[str, ...]) -> dict[str, Any]:
        """Return the fields that settings change, with their values. Raises ConfigError for a wrong one."""
        from games.support.spec import field_types, read_settings

        return read_settings(settings, field_types(getattr(import_module(self.module), self.configuration)))
