"""The learner of any other game for `gs2 train`: a network with a column for each action."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import GAME_TYPED, Interruption, number, print_json, stdout
from gs2.commands.progress import working
from gs2.commands.training.run_options import changed_fields, check_seed, whole_length, with_seed

if TYPE_CHECKING:
    from games.game import Game

__all__ = ["train_game"]


def train_game(
    game: Game,
    output: Path,
    *,
    minutes: float | None,
    decisions: int | None,
    resume: bool,
    settings: tuple[str, ...],
    sizes: tuple[str, ...],
    seed: int | None,
    checkpoint_minutes: float | None,
    as_json: bool,
) -> None:
    """Train a network in a .safetensors file and print where it stands.

    Raises UsageError for options that contradict the training, GameError where payoffs do not sum to zero,
    CheckpointError for files that lie there, and as `blueprint.research.game_training.train_game_network`.
    """
    import numpy as np

    from blueprint.checkpoint import CheckpointError, check_description, read_checkpoint
    from blueprint.research.game_network import GameNetworkConfig
    from blueprint.research.game_training import TrainingFiles, state_file, train_game_network
    from blueprint.research.research_training import Budget
    from games.game import not_zero_sum
    from games.support.locks import hold

    if not getattr(game, "zero_sum", True):
        raise not_zero_sum(game.name)
    changes = with_seed(changed_fields(GameNetworkConfig, set=settings, network=sizes), seed)
    click.get_current_context().with_resource(hold(output))
    kept = state_file(output) if resume and state_file(output).exists() else None
    if output.exists() and kept is None:
        hint = "it holds no training to continue" if resume else "--resume continues it"
        raise CheckpointError(f"{output}: the file already exists; {hint}, or name another file")
    if kept is None:
        config, stream = GameNetworkConfig(**changes), [changes.get("seed", 0), 0]
    elif settings or sizes:
        raise click.UsageError("a resumed run keeps its settings, so --set must not be given; leave it out")
    else:
        description = read_checkpoint(kept, prefix="-")[1]
        check_description(kept, description, {"config": dict})
        seed, played = int(description["config"].get("seed", 0)), description.get("generations", 0)
        check_seed(seed, changes)
        config, stream = None, [seed, played if isinstance(played, int) else 0]
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

        every = 60.0 * (0.5 if checkpoint_minutes is None else checkpoint_minutes)
        train_game_network(
            game,
            np.random.default_rng(stream),
            Budget(decisions, whole_length(minutes, kept)),
            config=config,
            files=TrainingFiles(output, resume, every, progress, asked),
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
        typed = click.get_current_context().meta[GAME_TYPED]
        stdout().print(f"try: gs2 match --game '{typed}' {output} uniform", soft_wrap=True)
    else:
        stdout().print(
            f"{output}: the training is complete; --minutes or a larger --decisions continues it",
            soft_wrap=True,
        )
    if asked.stop:
        raise SystemExit(asked.exit_code)
