"""`gs2 train GAME`: a blueprint of any game by Deep Monte Carlo self-play, however large the game is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import (
    GAME,
    GAME_TYPED,
    OUTPUT_FILE,
    Interruption,
    number,
    print_json,
    stdout,
)
from gs2.commands.progress import working
from gs2.commands.training.run_options import chosen_seed, run_options, whole_length
from gs2.commands.training.setting_type import SettingType

if TYPE_CHECKING:
    from games.game import Game

__all__ = ["train_game"]


OF_GAME = SettingType("blueprint.research.game_network", "GameNetworkConfig")


class GameTrainCommand(click.Command):
    """`gs2 train GAME`, which hands a game whose moves are inputs of a network to a command of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the command that trains the game of the first word."""
        from games.game import GameError
        from games.registry import load_game

        try:
            game = load_game(args[0], general_sum=True) if args else None
            by_moves = getattr(game, "moves_are_inputs", False)
        except GameError:
            by_moves = False  # its own command says what is wrong
        if by_moves:
            from gs2.commands.training.train_climbing import train_climbing_game

            return train_climbing_game.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("train", cls=GameTrainCommand)
@click.argument("game", type=GAME)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    required=True,
    help="Network to write, a .safetensors file; beside it lie its description and the state of the run.",
)
@run_options(OF_GAME, 30.0)
def train_game(
    game: Game,
    output: Path,
    resume: bool,
    settings: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Train a network for GAME by Deep Monte Carlo self-play; the game is never listed.

    The network is an agent of `gs2 match --game GAME` and a blueprint of `gs2 solve GAME`. It is saved every
    half minute; the same command with --resume continues from there, also after Ctrl-C or a kill.
    `--set width=128`, `--set temperature=0.01` and so on change the training. GuanDan has another trainer:
    gs2 train DIRECTORY. So have DouDiZhu and Big2: gs2 train doudizhu --help.
    """
    import numpy as np

    from blueprint.checkpoint import CheckpointError
    from blueprint.research.game_network import GameNetworkConfig
    from blueprint.research.game_training import TrainingFiles, state_file, train_game_network
    from blueprint.research.research_training import Budget
    from games.support.locks import hold

    if output.suffix != ".safetensors":
        raise click.UsageError(f"--output must name a .safetensors file; got {str(output)!r}")
    click.get_current_context().with_resource(hold(output))
    goes_on = resume and state_file(output).exists()
    if goes_on and settings:
        raise click.UsageError("a resumed run keeps its settings, so --set must not be given; leave it out")
    if output.exists() and not goes_on:
        hint = "it holds no training to continue" if resume else "--resume continues it"
        raise CheckpointError(f"{output}: the file already exists; {hint}, or name another file")
    changes = OF_GAME.changes(settings)
    kept = state_file(output) if goes_on else None
    seed = chosen_seed(seed, changes, kept)
    minutes, decisions = limits["minutes"], limits["decisions"]
    if minutes is None and decisions is None:
        minutes = 10.0
    last: dict[str, Any] = {}
    with Interruption() as asked, working("the first generation …") as tell:

        def progress(row: dict[str, float]) -> None:
            last.update(row)
            pace = row["decisions"] / max(row["seconds"], 1e-9)
            words = (
                f"{min(row['share'], 1):4.0%}  {int(row['decisions']):,} decisions, {pace:,.0f} a second  "
                f"Q loss {row['q_loss']:.4f}  V loss {row['v_loss']:.4f}"
            )
            tell(words)
            if row["share"] >= 1:
                click.echo(words, err=True)

        train_game_network(
            game,
            np.random.default_rng([seed, _generations(state_file(output)) if goes_on else 0]),
            Budget(decisions, whole_length(minutes, kept)),
            config=None if goes_on else GameNetworkConfig(**{**changes, "seed": seed}),
            files=TrainingFiles(output, resume, limits["checkpoint_seconds"], progress, asked),
        )
    result = {
        "game": game.name,
        "output": str(output),
        "bytes": output.stat().st_size,
        "complete": not asked.stop,
        **{
            name: last.get(name)
            for name in ("generations", "decisions", "games", "seconds", "q_loss", "v_loss")
        },
    }
    if as_json:
        print_json(result)
    elif last:
        done = (
            f"{int(last['decisions']):,} decisions in {int(last['games']):,} games, {last['seconds']:.0f} s"
        )
        stdout().print(
            f"{output}: {done}, losses {number(last['q_loss'])} (Q) and {number(last['v_loss'])} (V)",
            soft_wrap=True,
        )
        typed = click.get_current_context().meta.get(GAME_TYPED, game.name)
        stdout().print(f"try: gs2 match --game '{typed}' {output} uniform", soft_wrap=True)
    else:
        stdout().print(
            f"{output}: the training is complete; --minutes or a larger --decisions continues it",
            soft_wrap=True,
        )
    if asked.stop:
        raise SystemExit(asked.exit_code)


def _generations(path: Path) -> int:
    """Return how many generations a training has played; a resumed one draws from another stream."""
    from blueprint.checkpoint import read_checkpoint

    found = read_checkpoint(path, prefix="-")[1].get("generations", 0)
    return int(found) if isinstance(found, int) else 0
