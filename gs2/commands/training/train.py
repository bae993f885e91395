"""`gs2 train GAME -o OUTPUT`: train a network for a game, by the learner of its kind."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gs2.commands.common import (
    CORES,
    COUNT,
    GAME_TYPED,
    NAMES,
    NOT_NEGATIVE,
    ON,
    OUTPUT_FILE,
    OUTPUT_FOLDER,
    POSITIVE,
    SEED,
    print_json,
    stderr,
    stdout,
)
from gs2.commands.training.learners import FILE, FOLDER, GameLearner, learner_of, learners
from gs2.commands.training.run_options import RECIPE, Watched
from gs2.wings import FIRST

if TYPE_CHECKING:
    from games.game import Game


@click.command()
@click.argument("game", default=FIRST)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Directory (GuanDan, DouDiZhu, Big2), or .safetensors file (all but GuanDan).  [required]",
)
@click.option(
    "--minutes",
    type=NOT_NEGATIVE,
    help="Length of this call, on top of what a resumed run has; 0 is one generation.  [default: 60 for "
    "GuanDan, else 10]",
)
@click.option(
    "--decisions", type=COUNT, help="End after this many decisions, those of a resumed run included."
)
@click.option(
    "--measure",
    type=COUNT,
    help="Measure the exact exploitability so many times over the training, where the game's size allows it "
    "(not GuanDan, DouDiZhu, Big2).",
)
@click.option(
    "--processor-minutes",
    type=POSITIVE,
    help="Length in processor time of this process, which other programs do not shorten.",
)
@click.option("--resume", is_flag=True, help="Continue the run at the output, if one exists.")
@click.option(
    "--learner",
    type=click.Choice(("dmc", "mmd", "ppo")),
    help="Magnetic mirror descent (mmd; not GuanDan, DouDiZhu, Big2), PPO or Deep Monte Carlo.  [default: "
    "dmc for GuanDan, DouDiZhu and Big2, else mmd]",
)
@click.option(
    "--recipe",
    type=RECIPE,
    metavar="NAME",
    help="System of a source paper: danzero, danzero+, sdmc, pdhqn, odmc, ours; help lists them (GuanDan, "
    "DouDiZhu, Big2).",
)
@click.option(
    "--start-from",
    metavar="FILE",
    help="Checkpoint of the game, by any rules, that a new run begins from; network: gs2's (DouDiZhu, Big2).",
)
@click.option(
    "--set",
    "settings",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change a field of the training; repeatable.",
)
@click.option(
    "--network",
    "sizes",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change a size of the network; repeatable.",
)
@click.option("--seed", type=SEED, help="Seed of the network and self-play.  [default: 0]")
@click.option(
    "--threads",
    type=CORES,
    help="Threads that play and learn (GuanDan, DouDiZhu, Big2).  [default: all cores for GuanDan, else 1]",
)
@click.option(
    "--checkpoint-minutes",
    type=NOT_NEGATIVE,
    help="Minutes between checkpoints.  [default: 5 for GuanDan, 1 for DouDiZhu and Big2, else 0.5]",
)
@click.option(
    "--preset",
    type=click.Choice(("ours", "danzero")),
    help="Network (GuanDan).  [default: ours, or that of the resumed run]",
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:N (not DouDiZhu, Big2).")
@ON
@click.option(
    "--actors",
    type=CORES,
    help="Actors of --on ray that play, a core each (GuanDan, DouDiZhu, Big2).  [default: its cores]",
)
@click.option(
    "--anneal",
    is_flag=True,
    help="Let the learning rate fall to zero over the run (GuanDan, DouDiZhu, Big2).",
)
@click.option(
    "--evaluate-minutes",
    type=NOT_NEGATIVE,
    help="Minutes between evaluations; 0 for never (GuanDan, DouDiZhu, Big2).  [default: 15 for GuanDan or "
    "--against, else 0]",
)
@click.option(
    "--against",
    type=NAMES,
    help="Opponents of the evaluations, separated by commas (GuanDan, DouDiZhu, Big2).  [default: "
    "greedy,strong for GuanDan, else the game's rule agent, or uniform]",
)
@click.option(
    "--rounds",
    type=COUNT,
    help="Deals of each evaluation (GuanDan, DouDiZhu, Big2).  [default: 100]",
)
@click.option("--tensorboard", is_flag=True, help="Write scalars for TensorBoard (extra: gs2[tensorboard]).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def train(game: str, output: str | None, **options: Any) -> None:
    """Train a network for GAME by self-play; the game is never listed.

    GAME is a game string, guandan by default. The network is an agent of `gs2 match`: OUTPUT itself if it is
    a .safetensors file, else last.safetensors in that directory. A directory also gets curve.jsonl, with a
    line for each generation.

    The same command with --resume continues, also after Ctrl-C or a kill; a killed run loses the work since
    its last checkpoint. `--set FIELD=VALUE` changes the training, and `--network FIELD=VALUE` a size of the
    network; the error for an unknown field names similar ones, or all. `--on ray --actors N` lets
    actors of a cluster play (GuanDan, DouDiZhu, Big2); `--set staleness=1` lets them go on while this process
    learns. Your own games with moves_are_inputs train as DouDiZhu and Big2 do.
    """
    from games.registry import game_string, load_game

    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'; name the output: gs2 train GAME -o OUTPUT")
    click.get_current_context().meta[GAME_TYPED] = game
    loaded = load_game(game, general_sum=True)
    name = game_string(game, loaded).partition("(")[0]
    learner = learner_of(loaded, name)
    _check_given(learner, name)
    _train(loaded, _checked(output, learner, name), learner, options)


def _train(game: Game, output: Path, learner: GameLearner, options: dict[str, Any]) -> None:
    """Train a network at an output and print where it stands.

    Raises UsageError for options that contradict each other, the run or the machine, ConfigError for fields,
    and as `blueprint.learning.run.train`.
    """
    from blueprint.learning.run import RunLimits, RunManner, RunPlace
    from blueprint.learning.run import train as run_training

    place = RunPlace.with_state(output) if learner.beside else RunPlace.of(output)
    begin = learner.begin(game, place, options)
    names = "minutes", "processor_minutes", "decisions"
    given: dict[str, Any] = {name: options[name] for name in names}
    if all(limit is None for limit in given.values()):
        given["minutes"] = learner.minutes
    if learner.in_time:
        given["call_minutes"] = given.pop("minutes")
    limits = RunLimits(**given)
    minutes = options["checkpoint_minutes"]
    every = 60.0 * (learner.checkpoint_minutes if minutes is None else minutes)
    with ExitStack() as stack:
        run = Watched(learner.losses, output if options["tensorboard"] else None, stack)
        manner = RunManner(
            options["resume"], every, learner.keep_every, progress=run.progress, interruption=run.asked
        )
        trainer = run_training(place, begin, limits, manner)
    found = {"complete": not run.asked.stop, **learner.result(trainer, place, run.last)}
    if options["as_json"]:
        print_json(found)
    elif run.asked.stop and not run.last:
        stderr().print("interrupted before the first generation was done; nothing is lost but that")
    else:
        for played, worth in (options["measure"] and found["curve"]) or ():
            stdout().print(f"{int(played):,} decisions: exploitability {worth:.6g}")
        stdout().print(f"{place.checkpoint}: {run.end(trainer, learner.unit)}")
        typed = click.get_current_context().meta[GAME_TYPED]
        hint = f"try: gs2 match --game '{typed}' {place.checkpoint} {learner.opponent}"
        stdout().print(hint)
    if run.asked.stop:
        raise SystemExit(run.asked.exit_code)


def _check_given(learner: GameLearner, game: str) -> None:
    """Raise UsageError for an option on the command line that the learner does not take."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        takers = [one for one in learners() if name in one.options]
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and takers and learner not in takers:
            *others, last = (word for taker in takers for word in taker.games)
            games = f"{', '.join(others)} and {last}" if others else last
            flag = option.opts[0]
            raise click.UsageError(f"{flag} is for {games} only; train {game} without {flag}")


def _checked(output: str, learner: GameLearner, game: str) -> Path:
    """Return the output as a path, once it is known to be of the learner's kind and to be writable."""
    kind = FILE if Path(output).suffix == ".safetensors" else FOLDER
    if kind not in learner.outputs:
        raise click.UsageError(
            f"--output must name {learner.outputs[0]} for {game}; got {output!r}; name one"
        )
    return (OUTPUT_FILE if kind == FILE else OUTPUT_FOLDER).convert(output, None, None)
