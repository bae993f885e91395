"""Rows of the GuanDan ablations, one line of JSON each, and the tables made from them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.markdown import markdown_table
from games.support.files import LineFile, check_folder, open_regular, unique

__all__ = [
    "Choice",
    "RoundPair",
    "RowFile",
    "ablation_markdown",
    "choice_key",
    "mean_interval",
    "read_agent_rows",
]

MOST_BYTES = 1 << 28
"""Of a file of rows, unpacked."""
BASES = ("rollouts uniform deals", "rollouts")
"""Variants against which the others are set: the first of them that was asked."""


@dataclass(frozen=True)
class Choice:
    """What a variant chose at one judged position.

    gain: mean payoff of its move less the blueprint's in the judge's deals; actual: in the deal as it was.
    changed: whether the two differ. seconds: of processor time. stage: what decided. seed: of what is drawn;
    that of rows which do not tell is 1.
    """

    variant: str
    blueprint: str
    position: str
    gain: float
    actual: float
    changed: bool
    seconds: float
    stage: str
    seed: int = 1


@dataclass(frozen=True)
class RoundPair:
    """One deal played twice against the blueprint, with seats exchanged.

    first, second: payoffs to the variant's team, in levels. changed, searched, decisions: of the variant, in
    both rounds. seconds: of processor time, the lockstep's shared equally.
    """

    variant: str
    blueprint: str
    seed: int
    deal: int
    first: float
    second: float
    changed: float
    searched: float
    decisions: float
    seconds: float

    @property
    def gain(self) -> float:
        """Net levels a round."""
        return (self.first + self.second) / 2


class RowFile:
    """A file of rows that this process alone adds to, one line of JSON each. Use it in a `with` block.

    rows: those it held when it was opened.
    Raises LockHeld if another process adds to it, FileProblem if it cannot be written, ValueError if it holds
    something else.
    """

    def __init__(self, path: Path) -> None:
        check_folder(path.parent)
        self._file = LineFile(path)
        try:
            self.rows = parse_rows(self._file.lines, path)
        except BaseException:
            self._file.close()
            raise

    def append(self, rows: Sequence[Choice | RoundPair]) -> None:
        """Add rows and have them on the disk before returning."""
        self._file.append(json.dumps({"kind": type(row).__name__, **asdict(row)}) for row in rows)

    def __enter__(self) -> RowFile:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let others write the file."""
        self._file.close()


def read_agent_rows(paths: tuple[Path, ...] | list[Path]) -> list[Choice | RoundPair]:
    """Return the rows of files, `.gz` or not, in order; a last line cut short by a kill is left out.

    Raises ValueError at a line that is no row. Warns with DoubleRows where one comes again in a file.
    """
    rows: list[Choice | RoundPair] = []
    for path in paths:
        with open_regular(path) as file:
            try:
                opened = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
                data = opened.read(MOST_BYTES + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(
                    f"{path}: must be compressed by gzip ({error}); name another file"
                ) from error
        if len(data) > MOST_BYTES:
            raise ValueError(f"{path}: rows must take at most {MOST_BYTES:,} bytes; name a part of them")
        rows += parse_rows(data.split(b"\n")[:-1], path)
    return rows


def parse_rows(lines: Sequence[bytes], path: Path) -> list[Choice | RoundPair]:
    """Return the rows that lines of a file hold, each once. Raises and warns as `read_agent_rows`."""
    kinds = {"Choice": Choice, "RoundPair": RoundPair}
    rows: list[Choice | RoundPair] = []
    for number, line in enumerate(lines, 1):
        try:
            told = json.loads(line)
            row = kinds[told.pop("kind")](**told)
            for field in fields(row):
                value = getattr(row, field.name)
                wanted = {"str": str, "bool": bool, "int": int}.get(str(field.type), int | float)
                if not isinstance(value, wanted) or isinstance(value, bool) != (wanted is bool):
                    raise TypeError(f"{field.name} must be of type {field.type}")
            rows.append(row)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not a row of this experiment ({error})") from error
    return unique(rows, _key, path)


def choice_key(row: Choice) -> tuple[str, str, str, int]:
    """Return what makes a choice the one it is, and which is asked once."""
    return row.variant, row.blueprint, row.position, row.seed


def _key(row: Choice | RoundPair) -> tuple[str | int, ...]:
    if isinstance(row, Choice):
        return choice_key(row)
    return row.variant, row.blueprint, row.seed, row.deal


def mean_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval."""
    return float(values.mean()), 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(
        values
    ) > 1 else 0.0


def _milliseconds(seconds: list[float]) -> str:
    """Return the median, nothing if no time was taken."""
    return "" if np.isnan(seconds).any() else f"{1000 * np.median(seconds):.0f}"


def _by_position(choices: list[Choice]) -> dict[str, dict[str, list[Choice]]]:
    """Return each variant's choices by position: more than one where it was asked with several seeds."""
    chosen: dict[str, dict[str, list[Choice]]] = {}
    for row in choices:
        chosen.setdefault(row.variant, {}).setdefault(row.position, []).append(row)
    return chosen


def _mean(rows: list[Choice], field: str) -> float:
    """Return the mean over seeds: what is drawn anew at a position says nothing of other positions."""
    return sum(float(getattr(row, field)) for row in rows) / len(rows)


def ablation_markdown(rows: list[Choice | RoundPair]) -> str:
    """Return the tables as Markdown."""
    lines = ["# What each part of the GuanDan agent is worth", ""]
    lines += [
        "Written by `python -m studies.agent.ablate_agent report`. Intervals are 95 %, normal over deals or",
        "positions. Processor milliseconds were taken beside other work on a noisy two-core machine.",
        "",
    ]
    pairs = [row for row in rows if isinstance(row, RoundPair)]
    choices = [row for row in rows if isinstance(row, Choice)]
    if pairs:
        lines += [
            "## Duplicate rounds against the agent's own blueprint",
            "",
            "Each deal is played twice with seats exchanged; both partners search, alone.",
            "",
        ]
        table: list[tuple[object, ...]] = []
        for key in dict.fromkeys((row.variant, row.blueprint) for row in pairs):
            part = [row for row in pairs if (row.variant, row.blueprint) == key]
            mean, half = mean_interval(np.array([row.gain for row in part]))
            total = sum(row.decisions for row in part)
            table.append(
                (
                    *key,
                    f"{len(part):,}",
                    f"{mean:+.3f} ± {half:.3f}",
                    f"{sum(row.changed for row in part) / total:.1%}",
                    f"{sum(row.searched for row in part) / total:.1%}",
                    f"{1000 * sum(row.seconds for row in part) / total:.1f}",
                )
            )
        heads = ("variant", "blueprint", "deals", "net levels a round", "moves changed", "searched")
        lines += [markdown_table((*heads, "ms a decision"), table, "llrrrrr"), ""]
    for name in dict.fromkeys(row.blueprint for row in choices):
        chosen = _by_position([row for row in choices if row.blueprint == name])
        against_which = next((variant for variant in BASES if variant in chosen), None)
        base = {} if against_which is None else chosen[against_which]
        lines += [
            f"## The same positions, blueprint {name}",
            "",
            "Gain: thousandths of a level won by the chosen move over the blueprint's, in the judge's",
            "uniform deals played to the end. Actual: the gain in the deal as it was. Changed: how often",
            "another move was chosen.",
        ]
        if against_which is not None:
            lines.append(f"Against `{against_which}`: the difference on the positions that both were asked.")
        lines.append("")
        table = []
        for variant, found in chosen.items():
            asked = [row for rows in found.values() for row in rows]
            gain = mean_interval(1000 * np.array([_mean(rows, "gain") for rows in found.values()]))
            actual = mean_interval(1000 * np.array([_mean(rows, "actual") for rows in found.values()]))
            both = [place for place in found if place in base]
            against = ""
            if both and found is not base:
                apart = [_mean(found[place], "gain") - _mean(base[place], "gain") for place in both]
                far = mean_interval(1000 * np.array(apart))
                against = f"{far[0]:+.0f} ± {far[1]:.0f}"
            table.append(
                (
                    variant,
                    f"{len(found):,}",
                    f"{gain[0]:+.0f} ± {gain[1]:.0f}",
                    against,
                    f"{actual[0]:+.0f} ± {actual[1]:.0f}",
                    f"{np.mean([row.changed for row in asked]):.0%}",
                    _milliseconds([row.seconds for row in asked]),
                )
            )
        versus = "against" if against_which is None else f"against `{against_which}`"
        heads = ("variant", "positions", "gain", versus, "actual", "changed")
        lines += [markdown_table((*heads, "ms"), table, "lrrrrrr"), ""]
    return "\n".join(lines)
