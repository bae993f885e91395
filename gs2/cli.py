"""The `gs2` command: one tree of commands, each imported only when it runs.

A command is named here by module and attribute, so that `gs2 --help` answers without NumPy, Numba or
torch, and so that the commands of `experiments` need no import from this package.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import click

from games.support.near import near
from gs2.refusals import INTERRUPTIONS, refusals

__all__ = ["LazyGroup", "Target", "main"]


class Target(NamedTuple):
    """Where a command lives, and the line that `--help` shows for it."""

    module: str
    attribute: str
    help: str


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
            hint = near(name, self.targets, f"one of: {', '.join(self.targets)}")
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, target.help) for name, target in self.targets.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what goes wrong outside of our code becomes a one-line error."""
        with refusals():
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


TARGETS = {
    "solve": Target("gs2.commands.solve", "solve", "Refine a strategy at one infoset by subgame solving."),
    "games": Target("gs2.commands.games", "games", "List the games, their parameters and sizes."),
    "infosets": Target("gs2.commands.games", "infosets", "Name the infosets of a game."),
    "blueprint": Target("gs2.commands.policies", "blueprint", "Compute a strategy for a whole game by CFR."),
    "exploitability": Target("gs2.commands.policies", "exploitability", "Measure a strategy exactly."),
    "knowledge": Target("gs2.commands.knowledge", "knowledge", "Size what each method would have to solve."),
    "match": Target("gs2.commands.compare_agents", "match", "Play two GuanDan agents on duplicate deals."),
    "ladder": Target("gs2.commands.compare_agents", "ladder", "Rate many GuanDan agents against each other."),
    "train": Target("gs2.commands.train", "train", "Train GuanDan's blueprint, or go on training it."),
    "gate": Target("gs2.commands.train", "gate", "Ask whether a checkpoint beats the shipped one."),
    "guandan": Target("gs2.commands.guandan", "guandan", "Play random games of GuanDan, or replay a record."),
    "serve": Target("gs2.commands.table", "serve", "Serve GuanDan tables to clients over WebSockets."),
    "play": Target("gs2.commands.table", "play", "Play on a GuanDan server with agents of gs2, or yourself."),
    "experiment": Target("experiments.commands", "experiment", "Run and report the refinement experiments."),
    "bench": Target("experiments.bench.commands", "bench", "Measure speed on this machine."),
}


@click.group(cls=LazyGroup, targets=TARGETS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gs2", message="gs2 %(version)s")
def main() -> None:
    """Generative subgame solving for imperfect-information games.

    Start with `gs2 solve`: it refines a weak Leduc poker strategy at one infoset and explains the result.
    """


if __name__ == "__main__":
    main()
