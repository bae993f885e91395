"""Record every result, and compare another commit's with what was recorded."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.unchanged.decisions import GROUPS, Group, play_group
from tests.unchanged.machine import machine, same_machine
from tests.unchanged.matches import EXACT, match_digests
from tests.unchanged.rows import COUNTS, VALUES, choose_rows, compute_row, stored_rows
from tests.unchanged.training import training_step

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parent.parent.parent
EXPECTED, CHOICES = "expected.json", "choices.json.gz"
PARTS = ("decisions", "matches", "training", "rows")
AGREE = 0.995
"""Share of a group's decisions that must agree on another machine, where rounding may decide."""
CLOSE = 1e-6
"""Relative difference of an exploitability that another machine's rounding may make."""
NORMS = 1e-3
"""Relative difference of a tensor's norm after a training step on another machine."""


@dataclass(frozen=True)
class Finding:
    """One thing compared.

    status: "same" to the bit; "close" where another machine's rounding explains the rest; "differs"; or
    "not compared". text: what was found, in words.
    """

    part: str
    name: str
    status: str
    text: str = ""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Multiply on one thread: the order of sums must not depend on the number of cores."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def record(root: Path, parts: tuple[str, ...], tell: Callable[[str], None]) -> None:
    """Write the results of the checkout in use; parts left out keep what is there.

    root: of that checkout, whose commit is noted and whose stored rows are computed again.
    """
    DATA.mkdir(exist_ok=True)
    expected: dict[str, Any] = _read(DATA / EXPECTED) if (DATA / EXPECTED).exists() else {}
    expected["machine"] = machine()
    git = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    expected["commit"] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    with _one_thread():
        if "decisions" in parts:
            expected["decisions"], choices = {}, {}
            for group in GROUPS:
                tell(group.name)
                found = play_group(group)
                choices[group.name] = found.choices
                expected["decisions"][group.name] = {
                    **asdict(group),
                    "moves": found.moves,
                    "agents": found.agents,
                }
            text = json.dumps(choices, separators=(",", ":")).encode()
            (DATA / CHOICES).write_bytes(gzip.compress(text, 9, mtime=0))
        if "matches" in parts:
            tell("matches")
            expected["matches"] = match_digests(quick=False)
        if "training" in parts:
            tell("training")
            expected["training"] = training_step()
        if "rows" in parts:
            expected["rows"] = []
            stored = _stored(ROOT)
            for cell in choose_rows(ROOT):
                tell(f"{cell['game']} {cell['blueprint']} {cell['method']}")
                values = compute_row(cell)
                text = stored[_key(cell)]
                equal = [name for name in values if values[name] == text[name]]
                expected["rows"].append({**cell, "values": values, "as_stored": equal})
    (DATA / EXPECTED).write_text(json.dumps(expected, indent=1) + "\n")


def read_recorded() -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """Return what was recorded: everything but the choices, and the choices of each group."""
    choices = json.loads(gzip.decompress((DATA / CHOICES).read_bytes()))
    return _read(DATA / EXPECTED), {name: tuple(found) for name, found in choices.items()}


def check(
    parts: tuple[str, ...] = PARTS, *, quick: bool = False, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Finding]:
    """Yield what a comparison with the recorded results finds, one by one.

    quick: the quick part of each alone, without the training step.
    """
    expected, choices = read_recorded()
    exact = same_machine(expected["machine"], machine())
    with _one_thread():
        if "decisions" in parts:
            for group in GROUPS:
                if group.quick or not quick:
                    tell(group.name)
                    yield check_group(group, expected["decisions"][group.name], choices[group.name], exact)
        if "matches" in parts:
            tell("matches")
            for name, digest in match_digests(quick).items():
                wanted = expected["matches"][name]
                status = "same" if digest == wanted else "differs"
                if status == "differs" and not exact and name not in EXACT:
                    status = "not compared"
                text = "" if status == "same" else f"recorded {wanted}, now {digest}"
                yield Finding("matches", name, status, text)
        if "training" in parts and not quick:
            tell("training")
            yield _compare_training(expected["training"], training_step(), exact)
        if "rows" in parts:
            stored = _stored(ROOT)
            for cell in expected["rows"]:
                if cell["quick"] or not quick:
                    tell(f"{cell['game']} {cell['blueprint']} {cell['method']}")
                    yield compare_row(cell, compute_row(cell), stored.get(_key(cell)), exact)


def check_group(group: Group, wanted: dict[str, Any], choices: tuple[int, ...], exact: bool) -> Finding:
    """Return how a group's decisions compare with the recorded ones.

    exact: whether they must all agree; else the share `AGREE` of them.
    """
    if asdict(group) != {name: _plain(wanted[name]) for name in asdict(group)}:
        return Finding("decisions", group.name, "differs", "the group itself was changed; record it anew")
    found = play_group(group, choices)
    share = found.same / len(choices)
    if len(found.choices) != len(choices) or found.moves != wanted["moves"]:
        text = found.first or "the lists of legal moves, or the deals, are others"
        return Finding("decisions", group.name, "differs", text)
    if found.same == len(choices):
        return Finding("decisions", group.name, "same", f"{len(choices)} decisions")
    status = "close" if not exact and share >= AGREE else "differs"
    text = f"{len(choices) - found.same} of {len(choices)} decisions differ, first {found.first}"
    return Finding("decisions", group.name, status, text)


def compare_row(
    cell: dict[str, Any], values: dict[str, str], stored: dict[str, str] | None, exact: bool
) -> Finding:
    """Return how a cell computed again compares with what was recorded and with the stored row.

    A value is the same if it is the recorded one or the stored one: their last digits differ where the
    library for linear algebra has other kernels. stored: the row as its file has it; None if it is gone.
    """
    name = f"{cell['game']} {cell['blueprint']} {cell['method']} {cell['mode']} seed {cell['seed']}"
    recorded = cell["values"]
    if stored is None:
        return Finding("rows", name, "differs", f"{cell['folder']}: the stored row is gone")
    moved = [field for field in cell["as_stored"] if recorded[field] != stored[field]]
    if moved:
        text = "; ".join(f"{field}: stored {stored[field]}, was {recorded[field]}" for field in moved)
        return Finding("rows", name, "differs", f"the stored row was changed: {text}")
    wrong = [field for field, value in values.items() if value not in (recorded[field], stored[field])]
    if wrong:
        text = "; ".join(f"{field}: recorded {recorded[field]}, now {values[field]}" for field in wrong)
        close = not exact and not set(wrong) & set(COUNTS) and all(_near(cell, values, f) for f in VALUES)
        return Finding("rows", name, "close" if close else "differs", text)
    apart = [field for field, value in values.items() if value != stored[field]]
    text = f"as recorded; stored with other kernels: {', '.join(apart)}" if apart else "as stored"
    return Finding("rows", name, "same", text)


def _near(cell: dict[str, Any], values: dict[str, str], field: str) -> bool:
    wanted, found = float(cell["values"][field]), float(values[field])
    return abs(wanted - found) <= CLOSE * max(abs(wanted), abs(found))


def _compare_training(wanted: dict[str, Any], found: dict[str, Any], exact: bool) -> Finding:
    if found == wanted:
        return Finding("training", "two generations", "same", f"digest {found['digest']}")
    differ = [name for name in wanted if found.get(name) != wanted[name]]
    text = f"other {', '.join(differ)}"
    if exact or wanted["norms"].keys() != found["norms"].keys():
        return Finding("training", "two generations", "differs", text)
    pairs = [(value, found["norms"][name]) for name, value in wanted["norms"].items()]
    close = all(abs(a - b) <= NORMS * max(abs(a), abs(b)) for a, b in pairs)
    return Finding("training", "two generations", "close" if close else "differs", text)


def _stored(root: Path) -> dict[tuple[str, ...], dict[str, str]]:
    return {_key({"folder": folder, **row}): row for folder, row in stored_rows(root)}


def _key(cell: dict[str, Any]) -> tuple[str, ...]:
    return tuple(cell[k] for k in ("folder", "game", "blueprint", "method", "mode", "sample", "seed"))


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found
