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


def check_recipes(folder: Path) -> None:
    """Fail unless a recipe is refused in words, and the command's help still there."""
    for game in ("guandan", "doudizhu"):
        for recipe in ("odmc", "help"):
            code, output = said("train", game, "-o", str(folder / "refused"), "--recipe", recipe)
            assert code == 2 and "--recipe needs blueprint.papers" in output, output
    code, output = said("train", "--help")
    assert code == 0 and "--recipe" in output


if __name__ == "__main__":
    assert not any(name.startswith("blueprint.papers") for name in sys.modules)
    sys.modules["blueprint.papers"] = None  # type: ignore[assignment]  # Python takes that for missing
    check_recipes(Path(sys.argv[1]))
    print("all of it works")
