"""Every script in examples/ runs, with a small budget."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from blueprint.research import infoset_features
from gs2.search.config.stages import GENERATOR_NAMES
from gs2.search.generation import GENERATORS
from tests.patience import amount

EXAMPLES = Path(__file__).parents[2] / "examples"
ELSEWHERE = {"guandan_masked_agent"}
"""Run by tests/gs2/environments/test_game_env.py."""


def load(name: str) -> ModuleType:
    """Return an example as a module, its `main` not yet called."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run_by_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert path.stem in ELSEWHERE or f'load("{path.stem}")' in here, f"{path.name} is run by no test"


def test_kuhn_poker_is_solved(capsys: pytest.CaptureFixture[str]) -> None:
    assert load("solve_kuhn").main() < 1e-3
    assert "P0 holds J" in capsys.readouterr().out


def test_an_openspiel_game_comes_in_and_its_refined_policy_goes_out_again() -> None:
    pytest.importorskip("pyspiel")
    before, after = load("refine_openspiel_game").main("openspiel:kuhn_poker", 10)
    assert after < before / 2


def test_your_own_game_is_solved_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert load("own_game").main() < 1e-2
    assert "refined to" in capsys.readouterr().out


def test_your_own_generation_function_is_used_and_certified() -> None:
    try:
        wins = load("own_generator").main("kuhn_poker", 1)
    finally:
        GENERATORS.pop("highest", None)
        GENERATOR_NAMES[:] = [name for name in GENERATOR_NAMES if name != "highest"]
    assert all(wins[rule] <= wins["blueprint"] + 1e-9 for rule in ("random", "diverse", "highest"))


def test_two_agents_are_compared_and_the_stronger_one_wins(capsys: pytest.CaptureFixture[str]) -> None:
    assert load("compare_agents").main("kuhn_poker", "cfr:100", "uniform", 500) > 0
    assert "cfr:100 against uniform at kuhn_poker: +" in capsys.readouterr().out


def test_the_index_lists_every_example_by_a_question_and_says_which_are_long() -> None:
    index = (EXAMPLES.parent / "docs" / "start.md").read_text(encoding="utf-8").partition("## Examples")[2]
    rows = dict(re.findall(r"^\| ([^|]+\?) \| \[(?:\S+)\]\(\.\./examples/(\S+)\)", index, re.M))
    assert set(rows.values()) == {path.name for path in EXAMPLES.glob("*.py")}
    for name in rows.values():
        lines = len((EXAMPLES / name).read_text(encoding="utf-8").splitlines())
        assert lines <= 60 or f"{name}), {lines} lines" in index, f"{name} has {lines} lines"


def test_a_network_is_trained_and_trained_further(tmp_path: Path) -> None:
    example = load("train_guandan")
    for _ in range(2):
        results = example.main(tmp_path / "run", minutes=0.001, rounds=2, small=True)
        assert results
    assert (tmp_path / "run" / "last.safetensors").is_file()


@pytest.mark.long
def test_the_training_script_takes_its_minutes_from_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "train_guandan.py"), "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--minutes" in done.stdout


def test_an_agent_learns_big2_from_the_environment_alone() -> None:
    pytest.importorskip("pettingzoo")
    example = load("masked_agent")
    points = example.points_against_random(example.train(60), 60)
    assert points.mean() > 2.326 * points.std() / len(points) ** 0.5  # by chance once in a hundred tries


def test_a_strangers_card_game_goes_from_its_rules_to_a_replayed_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(infoset_features, "PLAYS", amount(infoset_features.PLAYS, 8))
    pairs = amount(20, 5)
    found = load("own_card_game").main(amount(300, 1), pairs)
    assert found["match"] > 0  # the rule agent against random play
    assert found["rounds"] == 3 * pairs and sum(found["refined"].values()) == pytest.approx(1)
    assert "chips a game" in capsys.readouterr().out


@pytest.mark.long
def test_a_strangers_large_game_goes_from_nothing_to_a_searched_move(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = (EXAMPLES / "large_game.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    load("large_game").main(6000)
    told = capsys.readouterr().out
    assert "P1 holds 1500 | dealt 2 | raise" in told and "gs2 against its blueprint" in told
