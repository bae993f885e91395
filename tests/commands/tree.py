"""Every command there is, with the words that lead to it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gs2.cli import main
from gs2.commands.compare_agents import ladder, match
from gs2.commands.solve import solve
from gs2.commands.training.train import train

BY_GAME: dict[str, tuple[tuple[str, click.Command], ...]] = {
    "solve": (("guandan", solve),),
    "match": (("kuhn_poker", match), ("doudizhu", match)),
    "ladder": (("kuhn_poker", ladder),),
    "train": (("guandan", train), ("kuhn_poker", train), ("doudizhu", train)),
}
"""Commands whose options depend on the game, and the command of each kind of game."""


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command of the tree with the words that lead there."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command
            for game, other in BY_GAME.get(name, ()) if not path else ():
                yield (name, game), other


COMMANDS = list(leaves(main))
