"""The `gs2` command: one tree of commands, each imported only when it runs.

A command of ours is named here by module and attribute, so that `gs2 --help` answers without NumPy, Numba or
torch. Other packages add theirs by entry points (`gs2.startup.extensions`); those that measure, which come
with gs2, are found in the same way.
"""

from __future__ import annotations

import os

import click

from gs2.commands.groups import LazyGroup, Target
from gs2.wings import OWN_COMMANDS

# Read by NumPy as it is imported, here and in the processes that follow. Its products are small, and its
# threads wait for each other by spinning: with other programs beside, two were hundreds of times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

GROUP = "gs2.commands"
"""Entry points that add commands."""
TARGETS = {
    "solve": Target("gs2.commands.solve", "solve", "Refine a strategy at one infoset by search."),
    "games": Target("gs2.commands.games", "games", "List the games, their parameters and sizes."),
    "infosets": Target("gs2.commands.games", "infosets", "Name the infosets of a game."),
    "blueprint": Target("gs2.commands.policies", "blueprint", "Compute a strategy for a whole game by CFR."),
    "exploitability": Target("gs2.commands.policies", "exploitability", "Measure a strategy exactly."),
    "exploit": Target("gs2.commands.exploit", "exploit", "Bound from below how exploitable an agent is."),
    "knowledge": Target("gs2.commands.games", "knowledge", "Size what each method would have to solve."),
    "match": Target(
        "gs2.commands.compare_agents",
        "match",
        "Play two agents of a game on the same deals.",
    ),
    "ladder": Target(
        "gs2.commands.compare_agents",
        "ladder",
        "Rate many agents of a game against each other.",
    ),
    "train": Target("gs2.commands.training.train", "train", "Train a blueprint of a game."),
    "gate": Target("gs2.commands.training.gating", "gate", "Ask whether a checkpoint beats the shipped one."),
    **{name: Target(*told) for name, told in OWN_COMMANDS.items()},
    "review": Target("gs2.commands.review", "review", "Judge every decision of a record by search."),
    "web": Target("gs2.commands.web", "web", "Play, watch, review and explore in a browser."),
}


@click.group(
    cls=LazyGroup,
    targets=TARGETS,
    entry_points=GROUP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="gs2", message="gs2 %(version)s")
def main() -> None:
    """Generative subgame solving for imperfect-information games.

    Start with `gs2 solve`: it refines a weak Leduc poker strategy at one infoset and explains the result.
    """


if __name__ == "__main__":
    main()
