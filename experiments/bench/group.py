"""`gs2 bench`: speeds on this machine, one command for each bench that an installed package offers.

What a bench found is shown on the terminal, as JSON, and as a document headed by how it was measured.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shlex
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from experiments.bench.bench import GROUP, RESERVED, Bench, BenchError, check_bench
from experiments.outputs import commit_of_code
from games.support.files import write_text
from gs2.commands.common import NEW_FILE, held_new, print_json, stdout
from gs2.commands.groups import LazyGroup
from gs2.commands.progress import working

if TYPE_CHECKING:
    from rich.table import Table


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


_PACKAGES = ("numpy", "numba", "open_spiel")


def machine_text() -> str:
    """Return the machine and the software that matters for speed, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    versions = []
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    software = ", ".join((f"Python {platform.python_version()}", *versions))
    return f"{_processor()}, {cores} cores{busy}; {platform.system()}; {software}"


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    if names.exists():
        for line in names.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def plain(result: Any) -> Any:
    """Return a bench's record, a dataclass or a list of them, as plain values."""
    return [asdict(row) for row in result] if isinstance(result, list) else asdict(result)


def as_markdown(table: Table) -> str:
    """Return a table for terminals, with its title and caption, as Markdown."""
    from experiments.markdown import markdown_table

    sides = "".join("r" if column.justify == "right" else "l" for column in table.columns)
    headers = [str(column.header) for column in table.columns]
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    text = f"## {table.title}\n\n" if table.title else ""
    text += markdown_table(headers, list(zip(*cells, strict=True)), sides) + "\n"
    return text + (f"\n{table.caption}\n" if table.caption else "")


def write_result(bench: Bench[Any], result: Any, path: Path, command: str) -> None:
    """Write a record's tables to `path` as Markdown and its figures beside it as JSON.

    command: what regenerates the file.
    """
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    commit = commit_of_code() or "unknown"
    head = f"# {bench.title}\n\n{bench.about}\n\n`{command}`; commit {commit}, {day}; {machine_text()}.\n"
    write_text(path, "\n".join((head, *(as_markdown(table) for table in bench.tables(result)))))
    write_text(path.with_suffix(".json"), json.dumps(plain(result), indent=1) + "\n")


def show_result(bench: Bench[Any], result: Any, as_json: bool) -> None:
    """Print a record's tables, or its figures as JSON."""
    if as_json:
        print_json(plain(result))
        return
    for table in bench.tables(result):
        stdout().print(table)
