"""The `gs2` command: one tree of commands, each imported only when it runs.

A command is named here by module and attribute, so that `gs2 --help` answers without NumPy, Numba or
torch, and so that the commands of `experiments` need no import from this package.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple

import click

__all__ = ["LazyGroup", "Target", "main"]

OUR_PACKAGES = frozenset({"games", "cfr", "blueprint", "gs2", "experiments"})


class Target(NamedTuple):
    """Where a command lives, and the line that `--help` shows for it."""

    module: str
    attribute: str
    help: str


class InputError(click.ClickException):
    """Bad input that the library refused: one line, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the message on one line of stderr."""
        click.echo(f"gs2: {self.format_message()}", file=file or sys.stderr)


def _raised_by_us(error: BaseException) -> bool:
    """Return whether one of our packages raised the error itself; anything else is a bug to be seen.

    An error of a class of ours is: of what a worker process raised, the class is all that is left.
    """
    if _ours(type(error).__module__):
        return True
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    return _ours(str(traceback.tb_frame.f_globals.get("__name__", "")))


def _ours(module: str) -> bool:
    return module.split(".")[0] in OUR_PACKAGES


class LazyGroup(click.Group):
    """A click group whose commands are imported on first use."""

    def __init__(self, *args: Any, targets: Mapping[str, Target], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.targets = targets

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of a command line; from here on anything can be printed on any terminal."""
        if parent is None:
            from gs2.plain import spell_on_every_terminal

            spell_on_every_terminal()
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table, which is the order in which people need them."""
        return list(self.targets)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command, importing its module."""
        target = self.targets.get(name)
        if target is None:
            return None
        command = getattr(importlib.import_module(target.module), target.attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` names; an unknown name is answered with near ones."""
        name = args[0]
        if name not in self.targets:
            import difflib

            near = difflib.get_close_matches(name, self.targets, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"one of: {', '.join(self.targets)}"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, target.help) for name, target in self.targets.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; refusals of the library become one-line errors."""
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise InputError(f"no file {error.filename!r}; check the path") from error
            if isinstance(error, OSError):
                raise InputError(f"{error.filename or 'a file'} cannot be used: {error.strerror}") from error
            if _raised_by_us(error):
                raise InputError(str(error)) from error
            raise


TARGETS = {
    "solve": Target("gs2.commands.solve", "solve", "Refine a strategy at one infoset by subgame solving."),
    "games": Target("gs2.commands.games", "games", "List the games, their parameters and sizes."),
    "infosets": Target("gs2.commands.games", "infosets", "Name the infosets of a game."),
    "blueprint": Target("gs2.commands.policies", "blueprint", "Compute a strategy for a whole game by CFR."),
    "exploitability": Target("gs2.commands.policies", "exploitability", "Measure a strategy exactly."),
    "knowledge": Target("gs2.commands.knowledge", "knowledge", "Size what each method would have to solve."),
    "match": Target("gs2.commands.match", "match", "Play two GuanDan agents on duplicate deals."),
    "ladder": Target("gs2.commands.match", "ladder", "Rate many GuanDan agents against each other."),
    "train": Target("gs2.commands.train", "train", "Train GuanDan's blueprint, or go on training it."),
    "gate": Target("gs2.commands.train", "gate", "Ask whether a checkpoint beats the shipped one."),
    "guandan": Target("gs2.commands.guandan", "guandan", "Tell random or recorded rounds of GuanDan."),
    "serve": Target("gs2.commands.table", "serve", "Serve GuanDan tables in either dialect of its world."),
    "play": Target("gs2.commands.table", "play", "Send our agents to anybody's GuanDan server."),
    "experiment": Target("experiments.commands", "experiment", "Run and report the refinement experiments."),
    "bench": Target("experiments.benches", "bench", "Measure speed on this machine."),
}


@click.group(cls=LazyGroup, targets=TARGETS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gs2", message="gs2 %(version)s")
def main() -> None:
    """Generative subgame solving for imperfect-information games.

    Start with `gs2 solve`: it refines a weak Leduc poker strategy at one infoset and explains the result.
    """


if __name__ == "__main__":
    main()
