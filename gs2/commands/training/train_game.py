"""The learner of any other game for `gs2 train`: a network with a column for each action."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gs2.commands.common import stdout
from gs2.commands.training.run_options import changed_fields, check_device, check_seed, watched

if TYPE_CHECKING:
    from games.game import Game

__all__ = ["train_game"]

TOLD = ("generations", "decisions", "games", "seconds", "q_loss", "v_loss", "curve")


def train_game(
    game: Game,
    output: Path,
    *,
    minutes: float | None,
    decisions: int | None,
    measure: int | None,
    resume: bool,
    learner: str | None,
    settings: tuple[str, ...],
    sizes: tuple[str, ...],
    seed: int | None,
    checkpoint_minutes: float | None,
    device: str,
    tensorboard: bool,
    as_json: bool,
) -> None:
    """Train a network in a .safetensors file and print where it stands.

    Raises UsageError for options that contradict the training, GameError where payoffs do not sum to zero,
    and as `blueprint.learning.run.train`.
    """
    from blueprint.checkpoint import check_description, read_checkpoint
    from blueprint.learning.run import RunLimits, RunManner, RunPlace, train
    from blueprint.research.game_network import GameNetworkConfig, learner_config
    from blueprint.research.game_training import GameTrainer
    from games.game import not_zero_sum
    from gs2.policies.private_moves import exact_exploitability

    check_device(device)
    if not getattr(game, "zero_sum", True):
        raise not_zero_sum(game.name)
    changes = changed_fields(GameNetworkConfig, seed, set=settings, network=sizes)
    place = RunPlace.with_state(output)
    kept = place.state if resume and place.state.exists() else None
    if kept is None:
        config = learner_config(learner or "dmc", changes)
    else:
        description = read_checkpoint(kept, prefix="-")[1]
        check_description(kept, description, {"config": dict})
        saved = {"learner": "dmc", **description["config"]}
        check_seed(int(saved.get("seed", 0)), changes)
        changes |= {} if learner is None else {"learner": learner}
        other = [f"{field}={value}" for field, value in changes.items() if saved.get(field, value) != value]
        if other:
            raise click.UsageError(f"a resumed run keeps its settings; got {', '.join(other)}; drop them")
        config = None
    if minutes is None and decisions is None:
        minutes = 10.0
    exact = None if measure is None else exact_exploitability(game)
    with watched("games", {"Q": "q_loss", "V": "v_loss"}, output if tensorboard else None) as run:
        every = 60.0 * (0.5 if checkpoint_minutes is None else checkpoint_minutes)
        begin = partial(GameTrainer.begun, game=game, config=config, device=device)
        train(
            place,
            partial(begin, measure=exact, times=measure or 0),
            RunLimits(minutes, decisions=decisions),
            RunManner(resume, every, progress=run.progress, interruption=run.asked),
        )
    result = {
        "game": game.name,
        "output": str(output),
        "bytes": output.stat().st_size,
        "complete": not run.asked.stop,
        **{name: run.last.get(name) for name in TOLD},
    }
    if measure is not None and not as_json:
        curve: Any = result["curve"] or ()
        for played, worth in curve:
            stdout().print(f"{int(played):,} decisions: exploitability {worth:.6g}", soft_wrap=True)
    run.end(output, result, as_json)
