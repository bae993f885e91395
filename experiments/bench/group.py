"""`gs2 bench`: speeds on this machine, one command for each bench that an installed package offers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from experiments.bench.bench import GROUP, RESERVED, Bench, BenchError, check_bench
from gs2.commands.common import NEW_FILE, held_new
from gs2.commands.groups import LazyGroup
from gs2.commands.progress import working

__all__ = ["bench", "bench_command"]


def bench_command(name: str, made: Bench[Any]) -> click.Command:
    """Return the command that runs a bench and shows what came out; made: of the entry point `name`.

    Raises BenchError if it is no bench, or one of another name.
    """
    check_bench(made)
    if made.name != name:
        raise BenchError(f"bench {made.name!r}: its entry point must have its name; got {name!r}; change it")

    @click.pass_context
    def run(ctx: click.Context, /, output: Path | None, as_json: bool, **options: Any) -> None:
        if output is not None:
            if output.suffix == ".json":
                raise click.UsageError(f"-o {output}: the figures are written to a .json beside; name a .md")
            held_new(output)
            held_new(output.with_suffix(".json"))
        with working("measuring …") as tell:
            result = made.run(tell, **options)
        from experiments.bench.output import show_result, write_result

        if output is not None:
            write_result(made, result, output, command_words(ctx))
        show_result(made, result, as_json)

    written = click.Option(
        ["-o", "--output"],
        type=NEW_FILE,
        help="Also write the tables to this new file as Markdown, and the figures beside it as JSON.",
    )
    as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print the figures as JSON.")
    return click.Command(name, params=[*made.options, written, as_json], callback=run, help=made.help)


def command_words(ctx: click.Context) -> str:
    """Return the command line that measures the same again, without what it wrote and how it printed."""
    words = ["gs2", "bench", str(ctx.info_name)]
    for option in ctx.command.params:
        name = option.name or ""
        if name in RESERVED or ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[name]
        values = list(value) if isinstance(value, tuple) else [value]
        if isinstance(option, click.Argument):
            words += map(str, values)
        elif isinstance(option, click.Option) and option.is_flag:
            words.append(option.opts[-1] if value else (option.secondary_opts or option.opts)[-1])
        else:
            words += [word for one in values for word in (option.opts[-1], str(one))]
    return shlex.join(words)


@click.group(cls=LazyGroup, entry_points=GROUP, adapt=bench_command)
def bench() -> None:
    """Measure speed on this machine; quote ratios, not seconds, across machines."""
