"""Groups of commands that are imported when they run, and commands that are programs of their own.

Both have the same boundary: what goes wrong outside of our code becomes one line on stderr and an exit code
(`gs2.startup.refusals`), and a program that was interrupted ends at once.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import click

from games.support.compiling import compiling_is_said
from games.support.near import near
from gs2.startup.extensions import ExtensionError, extensions, load_extension
from gs2.startup.refusals import INTERRUPTIONS, refusals


class Target(NamedTuple):
    """Where a command lives, and the line that `--help` shows for it."""

    module: str
    attribute: str
    help: str

    def load(self) -> click.Command:
        """Return the command, importing its module."""
        command = getattr(importlib.import_module(self.module), self.attribute)
        assert isinstance(command, click.Command)
        return command


class Boundary(click.Command):
    """A command at which errors and interruptions end."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of a command line; from here on anything can be printed on any terminal."""
        if parent is not None:
            return super().make_context(info_name, args, parent, **extra)
        from gs2.startup.plain import spell_on_every_terminal

        spell_on_every_terminal()
        with refusals():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what goes wrong outside of our code becomes a one-line error."""
        with refusals(), compiling_is_said():
            return super().invoke(ctx)

    def main(self, args: Any = None, *words: Any, **options: Any) -> Any:
        """Run the command line; one that was interrupted ends at once, whatever its threads are doing."""
        try:
            return super().main(args, *words, **options)
        except SystemExit as ending:
            if args is None and ending.code in INTERRUPTIONS:
                code = int(ending.code)
                ending.__context__ = None
                gc.collect()  # lets go of what the command held outside of the process, such as semaphores
                for stream in (sys.stdout, sys.stderr):
                    with suppress(OSError):
                        stream.flush()
                os._exit(code)
            raise


def as_command(name: str, made: Any) -> click.Command | Target:
    """Return what an entry point stands for, if it is a click command or names one; else ExtensionError."""
    if isinstance(made, click.Command | Target):
        return made
    raise ExtensionError(
        f"{name}: an entry point must stand for a click command or a Target; got {type(made).__name__}; "
        "name another object in the package that adds it"
    )


class LazyGroup(Boundary, click.Group):
    """A click group whose commands are imported on first use.

    targets: commands by name, in the order in which people need them. entry_points: a group of those that add
    further ones; one of our own names is never replaced. adapt: makes a command, or names it, of what an
    entry point stands for; called with the name and the object.
    """

    def __init__(
        self,
        *args: Any,
        targets: Mapping[str, Target] | None = None,
        entry_points: str | None = None,
        adapt: Callable[[str, Any], click.Command | Target] = as_command,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.targets = dict(targets or {})
        self.entry_points = entry_points
        self.adapt = adapt

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return our own names in the order of the table, then those that packages add."""
        return [*self.targets, *self._added()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command, importing its module; None if there is none of that name."""
        found: click.Command | Target | None = self.targets.get(name)
        if found is None:
            entries = self._added().get(name)
            if entries is None:
                return None
            found = self.adapt(name, load_extension(name, entries))
        return found.load() if isinstance(found, Target) else found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` names; an unknown name is answered with near ones."""
        name = args[0]
        if name not in self.targets and name not in (added := self._added()):
            names = [*self.targets, *added]
            hint = near(name, names, f"one of: {', '.join(names)}")
            absent = f". {self._absence()}" if self.entry_points is not None and not added else ""
            ctx.fail(f"no command {name!r}; {hint}{absent}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands; ours are not imported, and of others only what their line needs."""
        added = self._added()
        rows = [(name, target.help) for name, target in self.targets.items()]
        rows += [(name, self._line(name, entries)) for name, entries in added.items()]
        with formatter.section("Commands"):
            if rows:
                formatter.write_dl(rows)
            if self.entry_points is not None and not added:
                formatter.write_text(self._absence())

    def _added(self) -> dict[str, Any]:
        if self.entry_points is None:
            return {}
        return {
            name: found for name, found in extensions(self.entry_points).items() if name not in self.targets
        }

    def _line(self, name: str, entries: Any) -> str:
        try:
            made = self.adapt(name, load_extension(name, entries))
        except Exception as error:  # somebody's package; the others' help is shown all the same
            return f"(not usable: {str(error).removeprefix(f'{name}: ')})"
        return made.help if isinstance(made, Target) else made.get_short_help_str(100)

    def _absence(self) -> str:
        return (
            f"No installed package adds commands here (entry points {self.entry_points}); in a checkout of "
            "gs2, `pip install -e .` adds those that come with it."
        )


def run_alone(command: click.Command) -> None:
    """Run a command as the program `python -m MODULE`, with the boundary that `gs2` has."""
    Boundary(command.name, callback=command.callback, params=command.params, help=command.help).main()
