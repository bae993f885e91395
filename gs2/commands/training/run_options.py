"""Parts that learners share: recipes by name, changed fields, the seed, a run's length and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from gs2.commands.common import GAME_TYPED, Interruption, number, print_json, stderr, stdout
from gs2.commands.progress import working
from gs2.commands.training.train_display import scalar_writer

__all__ = [
    "RECIPE",
    "changed_fields",
    "check_device",
    "check_recipe",
    "check_seed",
    "watched",
]

LIST = "help"


class RecipeType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """The name of a recipe; "help" prints them all instead."""

    name = "recipe"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; one that no recipe has is refused with those that there are."""
        from blueprint.paper_parts import paper_part
        from games.support.configuration import ConfigError

        try:
            if value == LIST and ctx is not None:
                _show_recipes()
                ctx.exit()
            return str(paper_part("recipe", "--recipe")(str(value)).name)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


RECIPE = RecipeType()


def _show_recipes() -> None:
    """Print each system, its source, its fields and the claim of its paper."""
    from blueprint.paper_parts import paper_part

    for recipe in paper_part("recipes", "--recipe").values():
        stdout().print(f"[bold]{recipe.name}[/bold]: {recipe.system}", soft_wrap=True, highlight=False)
        for name, words in recipe.told().items():
            stdout().print(f"  {name}: {words}", soft_wrap=True, highlight=False, markup=False)


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


def check_seed(seed: int, changes: dict[str, Any]) -> None:
    """Raise UsageError if a run that goes on with a seed is asked for another."""
    if changes.get("seed", seed) != seed:
        raise click.UsageError(
            f"a resumed training keeps its seed, {seed}; got seed={changes['seed']}; leave it out, or train "
            "elsewhere"
        )


def check_recipe(recipe: str | None, saved: str, output: Path) -> None:
    """Raise UsageError if a run that goes on is asked for another recipe than it was begun with."""
    if recipe not in (None, saved):
        begun = f"the recipe {saved}" if saved else "no recipe"
        raise click.UsageError(
            f"--recipe must be that of the run in {output}, begun with {begun}; got {recipe}; leave it out, "
            "or train elsewhere"
        )


@dataclass(frozen=True)
class Watched:
    """A run whose generations are shown as they end.

    asked: hears Ctrl-C. tell: shows words on stderr. unit: "games" or "rounds". losses: a row's losses by
    their letters. write: keeps a row elsewhere. last: the last row, empty before the first.
    """

    asked: Interruption
    tell: Callable[[str], None]
    unit: str
    losses: dict[str, str]
    write: Callable[[dict[str, Any]], None]
    last: dict[str, float] = field(default_factory=dict)

    def progress(self, row: dict[str, float]) -> None:
        """Show a generation's row."""
        self.last.update(row)
        self.write(row)
        pace = row.get("decisions_per_second", row["decisions"] / max(row["seconds"], 1e-9))
        losses = "  ".join(f"{letter} loss {row[name]:.4f}" for letter, name in self.losses.items())
        done = f"{min(row['share'], 1):4.0%}  {row['decisions']:,.0f} decisions"
        self.tell(f"{done}, {pace:,.0f} a second  {losses}")
        if row["share"] >= 1:
            click.echo(f"{done}, {pace:,.0f} a second  {losses}", err=True)

    def end(self, checkpoint: Path, result: dict[str, Any], as_json: bool) -> None:
        """Print the result; exit as interrupted commands do after Ctrl-C."""
        words = "the training is complete; --minutes or a larger --decisions continues it"
        if self.last:
            losses = [f"{number(self.last[name])} ({letter})" for letter, name in self.losses.items()]
            played = f"{result['decisions']:,.0f} decisions in {result[self.unit]:,.0f} {self.unit}"
            words = f"{played}, {result['seconds']:.0f} s, losses {', '.join(losses)}"
        if as_json:
            print_json(result)
        elif self.asked.stop and not self.last:
            stderr().print("interrupted before the first generation was done; nothing is lost but that")
        else:
            stdout().print(f"{checkpoint}: {words}", soft_wrap=True)
            typed = click.get_current_context().meta[GAME_TYPED]
            stdout().print(f"try: gs2 match --game '{typed}' {checkpoint} uniform", soft_wrap=True)
        if self.asked.stop:
            raise SystemExit(self.asked.exit_code)


@contextmanager
def watched(unit: str, losses: dict[str, str], scalars: Path | None) -> Iterator[Watched]:
    """Yield the watch of a run that takes place in the block.

    unit, losses: as of `Watched`. scalars: the output of a run whose rows TensorBoard shows; None for none.
    """
    with ExitStack() as stack:
        write = (lambda row: None) if scalars is None else scalar_writer(scalars, stack)
        asked = stack.enter_context(Interruption())
        tell = stack.enter_context(working("the first generation …"))
        yield Watched(asked, tell, unit, losses, write)


def check_device(device: str) -> None:
    """Raise UsageError where torch has no such device here."""
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise click.UsageError(f"device must be cpu, cuda or cuda:N; got {device!r}") from None
    if kind not in ("cpu", "cuda"):
        raise click.UsageError(f"device must be cpu, cuda or cuda:N; got {device!r}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise click.UsageError("device cuda: torch sees no GPU here; use --device cpu")
