"""Run by `test_wing`, in a process in which `blueprint.papers` cannot be imported: what must work without."""

from __future__ import annotations

import sys
from pathlib import Path


def said(*words: str) -> tuple[int, str]:
    """Return the exit code and the output of a command."""
    from click.testing import CliRunner

    from gs2.cli import main

    done = CliRunner().invoke(main, words, env={"COLUMNS": "400"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def works(*words: str) -> None:
    """Fail unless a command ends well."""
    code, output = said(*words)
    assert code == 0, (words, output)


def refused(wanted: str, *words: str) -> None:
    """Fail unless a command refuses what is wanted, in words."""
    code, output = said(*words)
    assert code == 2 and wanted in output and " needs blueprint.papers" in output, (words, output)


def check_commands(folder: Path) -> None:
    """Fail unless the commands are there, train and play, and refuse what is a paper's alone."""
    works("--help")
    works("train", "--help")
    tiny = ("--network", "state=16", "--network", "action=16", "--network", "critic=16", "--minutes", "0")
    small = ("--set", "rounds=4", "--set", "batch=64", "--threads", "1")
    for game in ("guandan", "doudizhu"):
        run = ("train", game, "-o", str(folder / game))
        for recipe in ("odmc", "help"):
            refused("--recipe", *run, "--recipe", recipe)
        for field in ("prune=1", "personas=0.5", "policy=1", "guide=5"):
            refused(f"Config: {field}", *run, "--set", field)
        works(*run, *tiny, *small)
    refused("--preset danzero", "train", "guandan", "-o", str(folder / "other"), "--preset", "danzero")
    refused("Config: kind", "train", "guandan", "-o", str(folder / "other"), "--network", "kind=danzero")
    refused("Play: persona", "match", "--pairs", "1", "blueprint:persona=balanced", "greedy")
    last = str(folder / "doudizhu" / "last.safetensors")
    works("match", "--game", "doudizhu", last, "network", "--pairs", "1")
    works("match", str(folder / "guandan" / "last.safetensors"), "network", "--pairs", "1")


if __name__ == "__main__":
    assert not any(name.startswith("blueprint.papers") for name in sys.modules)
    sys.modules["blueprint.papers"] = None  # type: ignore[assignment]  # Python takes that for missing
    check_commands(Path(sys.argv[1]))
    print("all of it works")
