"""`gs2 solve` in games too large to list, and where histories are to be drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gs2.cli import main

LARGE = "goofspiel(cards=13,turns=13)"
AT = "P0 | prize 4: bid 6 won | prize 2"
QUICK = ["--method", "gs2-d", "--depth", "1", "--leaf", "rollout", "--samples", "4", "--companions", "3"]


def run(*words: str) -> tuple[int, str]:
    """Return the exit code and all that was printed."""
    done = CliRunner().invoke(main, ["solve", *words])
    return done.exit_code, done.output


def test_a_game_too_large_to_list_is_solved_at_an_infoset() -> None:
    code, said = run(LARGE, "--infoset", AT, "--blueprint", "uniform", "--iterations", "20", *QUICK)
    assert code == 0, said
    assert "4 histories of the infoset" in said and "nothing is certified" in said
    assert "Whole game" not in said


def test_what_was_drawn_is_in_the_json() -> None:
    code, said = run(LARGE, "--infoset", AT, "--blueprint", "uniform", "--iterations", "5", *QUICK, "--json")
    assert code == 0, said
    result = json.loads(said[said.index("{") :])
    assert result["sampled"]["histories"] == 4 and not result["sampled"]["complete"]
    assert sum(row["refined"] for row in result["actions"]) == pytest.approx(1)
    assert "opponent_best_response" not in result


@pytest.mark.parametrize(
    ("certificate", "says"),
    [
        ("none", "nothing is certified; another seed draws others"),
        ("anchored", "none of the opponent infosets drawn gains; of others it is only likely"),
        ("statistical", "games from histories drawn anew judge the answer, against blueprint; what other"),
    ],
)
def test_how_far_an_answer_reaches_is_said_by_certificate(certificate: str, says: str) -> None:
    at = [LARGE, "--infoset", AT, "--blueprint", "uniform", "--iterations", "5", "--certificate", certificate]
    code, said = run(*at, *QUICK)
    assert code == 0, said
    assert says in " ".join(said.split())


def test_a_policy_file_is_refined_at_drawn_histories(tmp_path: Path) -> None:
    file = str(tmp_path / "kuhn.npz")
    made = CliRunner().invoke(main, ["blueprint", "kuhn_poker", "--iterations", "50", "-o", file])
    assert made.exit_code == 0, made.output
    words = ["kuhn_poker", "--infoset", "P1 holds Q | bet", "--source", "sampled", "--blueprint", file]
    code, said = run(*words)
    assert code == 0, said
    assert "all there are" in said


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["--blueprint", "cfr:100", *QUICK], "blueprint must be a file of `gs2 train`"),
        (["--blueprint", "uniform", *QUICK, "-o", "x.npz"], "output holds a strategy of the whole game"),
        (["--blueprint", "uniform", "--depth", "1"], "leaf = exact needs a game that can be listed"),
        (["--blueprint", "uniform", *QUICK, "--gadget", "path"], "gadget = path needs a game that can be"),
    ],
)
def test_what_needs_the_whole_game_is_refused_with_what_to_do(words: list[str], rule: str) -> None:
    code, said = run(LARGE, "--infoset", AT, *words)
    assert code == 2
    assert rule in " ".join(said.split())


@pytest.mark.parametrize("option", ["samples", "companions"])
def test_a_number_of_draws_is_refused_where_all_histories_are_listed(option: str) -> None:
    words = ["kuhn_poker", "--infoset", "P1 holds Q | bet", "--blueprint", "uniform", f"--{option}", "3"]
    code, said = run(*words)
    assert code == 2 and f"{option} is of histories that are drawn" in " ".join(said.split())
    code, said = run(*words, "--source", "sampled", "--method", "gs2-d")
    assert code == 0, said
