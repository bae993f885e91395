"""Parts that learners share: recipes by name, changed fields, the seed, a run's length and its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from games.support.interruption import Interruption
from gs2.commands.common import bold, number, stdout
from gs2.commands.progress import working

if TYPE_CHECKING:
    from blueprint.learning.run import RunPlace

LIST = "help"


class RecipeType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """The name of a recipe; "help" prints each system, its source, its fields and its paper's claim."""

    name = "recipe"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; one that no recipe has is refused with those that there are."""
        from blueprint.paper_parts import paper_part
        from games.support.configuration import ConfigError

        try:
            if value == LIST and ctx is not None:
                out = stdout()
                for recipe in paper_part("recipes", "--recipe").values():
                    out.print(bold(f"{recipe.name}:"), recipe.system)
                    for name, words in recipe.told().items():
                        out.print(f"  {name}: {words}")
                ctx.exit()
            return str(paper_part("recipe", "--recipe")(str(value)).name)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


RECIPE = RecipeType()


def changed_fields(kind: Any, seed: int | None, **settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a configuration class that FIELD=VALUE settings change, with their values.

    kind: the class. seed: of --seed, None if it was not given. settings: by the option that gives them,
    without its dashes.
    Raises BadParameter for a field that does not exist and a value of another type, UsageError for a recipe
    and for two seeds.
    """
    from games.support.configuration import ConfigError
    from games.support.spec import field_types, read_settings

    changes: dict[str, Any] = {}
    for option, words in settings.items():
        try:
            changes |= read_settings(words, field_types(kind))
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint=f"'--{option}'") from error
    for option in ("recipe", "learner"):
        if option in changes:
            raise click.UsageError(
                f"--{option} names a {option}; got --set {option}={changes[option]}; use --{option}"
            )
    if seed is not None and changes.setdefault("seed", seed) != seed:
        raise click.UsageError(
            f"a training has one seed; got --seed {seed} and --set seed={changes['seed']}; leave one out"
        )
    return changes


def saved_config(
    place: RunPlace,
    options: Mapping[str, Any],
    changes: dict[str, Any],
    read: Callable[[Path, dict[str, Any]], Any],
) -> Any:
    """Return the configuration of the run that goes on at a place; None where one begins.

    options: of the command. changes: of fields. read: returns the configuration that a description tells.
    Raises UsageError if the run is asked for another seed, or another recipe than it was begun with,
    CheckpointError for a state whose settings are not those of today.
    """
    from blueprint.checkpoint import ANEW, CheckpointError, read_checkpoint
    from games.support.configuration import ConfigError

    if not options["resume"] or not place.state.exists():
        return None
    try:
        saved = read(place.state, read_checkpoint(place.state, prefix="-")[1])
    except ConfigError as error:
        raise CheckpointError(f"checkpoint: {place.state}: {error}; {ANEW}") from None
    told = saved.to_json()
    seed, recipe = told["seed"], options["recipe"]
    if changes.get("seed", seed) != seed:
        raise click.UsageError(
            f"a resumed training keeps its seed, {seed}; got seed={changes['seed']}; leave it out, or train "
            "elsewhere"
        )
    if recipe not in (None, told.get("recipe")):
        begun = f"the recipe {told['recipe']}" if told["recipe"] else "no recipe"
        raise click.UsageError(
            f"--recipe must be that of the run in {place.output}, begun with {begun}; got {recipe}; leave it "
            "out, or train elsewhere"
        )
    return saved


class Watched:
    """A run whose generations are shown as they end.

    asked: hears Ctrl-C. last: the last row, empty before the first.
    """

    def __init__(self, losses: Mapping[str, str], scalars: Path | None, stack: ExitStack) -> None:
        """Begin to watch. losses: by their letters. scalars: output whose rows TensorBoard shows; or none."""
        self.losses, self.last = losses, dict[str, Any]()
        self._write = (lambda row: None) if scalars is None else scalar_writer(scalars, stack)
        self.asked = stack.enter_context(Interruption())
        self._tell = stack.enter_context(working("the first generation …"))

    def progress(self, row: dict[str, Any]) -> None:
        """Show a generation's row."""
        self.last = row
        self._write(row)
        pace = row.get("decisions_per_second", row["decisions"] / max(row.get("seconds", 0), 1e-9))
        words = [f"{min(row['share'], 1):4.0%}  {row['decisions']:,.0f} decisions, {pace:,.0f} a second"]
        words += [f"{letter} loss {row[name]:.4f}" for letter, name in self.losses.items() if name in row]
        words += [f"won vs {name} {share:.1%}" for name, share in row.get("won", {}).items()]
        if "actors" in row:
            words.append(f"{row['actors']} actors, staleness {row['mean_staleness']:.1f}")
        self._tell("  ".join(words))
        if row["share"] >= 1:
            click.echo("  ".join(words), err=True)

    def end(self, trainer: Any, unit: str) -> str:
        """Return what is said of a trainer at the end; unit: what it has played, one of its counters."""
        if not self.last:
            return "the training is complete; --minutes or a larger --decisions continues it"
        losses = [f"{number(self.last[k])} ({letter})" for letter, k in self.losses.items() if k in self.last]
        played = f"{trainer.decisions:,.0f} decisions in {getattr(trainer, unit):,.0f} {unit}"
        return f"{played}, {trainer.seconds:.0f} s" + (f", losses {', '.join(losses)}" if losses else "")


def scalar_writer(output: Path, stack: ExitStack) -> Callable[[dict[str, Any]], None]:
    """Return a function that writes a row's numbers for TensorBoard.

    output: of the training. They go to its folder `tensorboard`, or beside its file, NAME.tensorboard.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise click.UsageError("--tensorboard needs an extra: pip install 'gs2[tensorboard]'") from None
    is_file = output.suffix == ".safetensors"
    folder = output.with_suffix(".tensorboard") if is_file else output / "tensorboard"
    opened = cache(lambda: stack.enter_context(SummaryWriter(str(folder))))  # it makes files at once

    def write(row: dict[str, Any]) -> None:
        writer = opened()
        for name, value in row.items():
            if isinstance(value, int | float):
                writer.add_scalar(name, value, row["decisions"])
        for decisions, exploitability in row.get("curve", ())[-1:]:
            if decisions == row["decisions"]:
                writer.add_scalar("exploitability", exploitability, decisions)
        for name, share in row.get("won", {}).items():
            writer.add_scalar(f"won/{name}", share, row["decisions"])

    return write


def check_device(device: str) -> None:
    """Raise UsageError where torch has no such device here."""
    import torch

    kind = ""
    with suppress(RuntimeError):
        kind = torch.device(device).type
    if kind not in ("cpu", "cuda"):
        raise click.UsageError(f"device must be cpu, cuda or cuda:N; got {device!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise click.UsageError("device cuda: torch sees no GPU here; use --device cpu")
