"""Parts of published systems, by name: the one door to `blueprint.papers`, which may be missing.

    recipe = paper_part("recipe", "--recipe odmc")("odmc")

A part is imported where a field or an option asks for it, and at no other time. A configuration with such a
field is refused where the wing is missing, and checked by the wing where it is not (`check_paper_fields`).
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from games.support.configuration import ConfigError, Configuration

WING = "blueprint.papers"
OFF: dict[str, tuple[object, ...]] = {"kind": ("ours",), "prune": (-1, None), "heeds": (True,)}
"""Values by which a field asks for nothing, where they are not 0, "", False and None."""


def paper_part(name: str, wanted: str = "") -> Any:
    """Return a part of the wing.

    wanted: what asks for it, for the message. Raises ConfigError where the wing is missing.
    """
    try:
        return resolve_name(f"{WING}.{resolve_name(f'{WING}:PARTS')[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(WING):
            raise ConfigError(
                f"{wanted or name} needs {WING}, the systems of published papers, which is not installed; "
                "leave it out, or install gs2 with it"
            ) from error
        raise


def check_paper_fields(config: Configuration, *fields: str) -> None:
    """Raise ConfigError where fields of the wing are set and contradict others, or the wing is missing.

    fields: those of the configuration that ask for a part of it.
    """
    for name in fields:
        value = getattr(config, name)
        if value not in OFF.get(name, (0, "", False, None)):
            paper_part("check", f"{config.label}: {name}={value}")(config)
            return
