"""`gs2 solve` in games too large to list, and where histories are to be drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from games import load_game
from gs2.commands.solve import drawn_default
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import PRESETS, preset
from gs2.search.explain import solve_infoset
from tests.commands.runner import gs2, ran, refused
from tests.gs2.search.setting import KUHN, LEDUC, context

LARGE = "goofspiel(cards=13,turns=13)"
AT = "P0 | prize 4: bid 6 won | prize 2"
QUICK = ["--method", "gs2-d", "--depth", "1", "--leaf", "rollout", "--samples", "4", "--companions", "3"]


def run(*words: str) -> tuple[int, str]:
    """Return the exit code and all that was printed."""
    done = gs2("solve", *words)
    return done.exit_code, done.output


DEALT = "liars_dice(dice=5)"


def test_without_an_infoset_one_of_a_large_game_is_drawn_by_the_seed() -> None:
    found = set()
    for seed in ("0", "1"):
        code, said = run(DEALT, "--blueprint", "uniform", "--iterations", "5", "--seed", seed, *QUICK)
        assert code == 0, said
        found.add(next(line for line in said.splitlines() if "player 0 to act" in line))
    assert len(found) == 2


def test_without_a_blueprint_a_large_game_says_how_to_make_one() -> None:
    told = refused("solve", DEALT, *QUICK)
    assert f"make one with `gs2 train '{DEALT}' -o FILE.safetensors" in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("big2",),
            "rollout by unsafe gadget",
        ),  # a shipped network, by the search for those that never hesitate
        (("doudizhu(landlord=bid)",), "rollout by unsafe gadget"),
        (("dark_hex", "--blueprint", "uniform"), "gs2 by unsafe gadget"),
        ((DEALT, "--blueprint", "uniform", "--depth", "1", "--leaf", "rollout"), "gs2+ by maxmargin gadget"),
    ],
)
def test_a_large_game_is_searched_by_what_fits_it_if_no_method_is_named(
    words: tuple[str, ...], says: str
) -> None:
    code, said = run(*words, "--samples", "4", "--iterations", "5")
    assert code == 0 and says in said and "Sample" in said, said


@pytest.mark.parametrize(
    ("game", "blueprint"),
    [("doudizhu", "network"), ("phantom_ttt(abrupt=true)", "cfr:10"), ("doudizhu(ranks=4)", "network")],
)
def test_the_usual_blueprint_of_a_large_game_is_one_that_it_has(game: str, blueprint: str) -> None:
    assert drawn_default(load_game(game)) == blueprint


def test_a_closure_too_large_is_refused_before_it_is_grown() -> None:
    words = refused("solve", DEALT, "--blueprint", "uniform", "--method", "maxmargin")
    assert "method maxmargin solves to the end of the game" in words and "take the method gs2" in words


@pytest.mark.parametrize(
    ("certificate", "says"),
    [
        ("none", "nothing is certified; another seed draws others"),
        ("anchored", "none of the opponent infosets drawn gains; of others it is only likely"),
        ("statistical", "games from histories drawn anew judge the answer, against blueprint; what other"),
    ],
)
def test_how_far_an_answer_in_a_game_too_large_to_list_reaches_is_said(certificate: str, says: str) -> None:
    at = [LARGE, "--infoset", AT, "--blueprint", "uniform", "--iterations", "5", "--certificate", certificate]
    code, said = run(*at, *QUICK)
    assert code == 0, said
    for words in (says, "4 histories of the infoset", " ± ", "10 games played from each leaf"):
        assert words in " ".join(said.split())
    assert "Whole game" not in said


def test_what_was_drawn_is_in_the_json_with_the_standard_errors_of_values() -> None:
    code, said = run(LARGE, "--infoset", AT, "--blueprint", "uniform", "--iterations", "5", *QUICK, "--json")
    assert code == 0, said
    result = json.loads(said[said.index("{") :])
    assert result["sampled"]["histories"] == 4 and not result["sampled"]["complete"]
    assert sum(row["refined"] for row in result["actions"]) == pytest.approx(1)
    assert "opponent_best_response" not in result
    assert all(row["error"] > 0 for row in result["actions"] if row["q"] is not None)
    assert result["value_error"] > 0 and result["blueprint_value_error"] > 0


def test_a_policy_file_is_refined_at_drawn_histories(tmp_path: Path) -> None:
    file = str(tmp_path / "kuhn.npz")
    ran("blueprint", "kuhn_poker", "--iterations", "50", "-o", file)
    words = ["kuhn_poker", "--infoset", "P1 holds Q | bet", "--source", "sampled", "--blueprint", file]
    code, said = run(*words)
    assert code == 0, said
    assert "all there are" in said


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a policy of Kuhn poker as a file of either kind, and blueprints that are no files."""
    folder = tmp_path_factory.mktemp("policies")
    for suffix in ("npz", "json"):
        words = ["blueprint", KUHN, "--iterations", "20", "-o", str(folder / f"kuhn.{suffix}")]
        ran(*words)
    named = {suffix: str(folder / f"kuhn.{suffix}") for suffix in ("npz", "json")}
    return {"default": "cfr:100", "uniform": "uniform", **named}


@pytest.mark.parametrize("kind", ["default", "npz", "json", "uniform"])
@pytest.mark.parametrize("method", PRESETS)
@pytest.mark.some(20)
def test_every_method_takes_every_blueprint_of_a_listed_game(
    method: str, kind: str, files: dict[str, str]
) -> None:
    text, there, spec = "P1 holds Q | bet", context(KUHN), files[kind]
    given = [] if kind == "default" else ["--blueprint", spec]
    code, said = run(KUHN, "--infoset", text, "--method", method, *given, "--json")
    assert code == 0, said
    blueprint = policy_from_spec(spec, there.game, there.tree)
    infoset = there.game.parse_infoset(text)
    found = solve_infoset(there, blueprint, infoset, preset(method), np.random.default_rng(0))
    told = json.loads(said[said.index("{") :])
    assert {row["action"]: row["refined"] for row in told["actions"]} == pytest.approx(found.refined)


def test_json_is_refused_with_the_reason_where_no_tree_fits(files: dict[str, str]) -> None:
    told = refused("solve", LARGE, "--infoset", AT, "--blueprint", files["json"], *QUICK)
    assert "blueprint as JSON names infosets in words" in told


def test_actions_that_were_not_searched_are_listed() -> None:
    words = [LEDUC, "--blueprint", "uniform", "--method", "rollout", "--infoset", "P1 holds Ks | raise"]
    code, said = run(*words)
    assert code == 0, said
    rows = [line.split() for line in said.splitlines() if line.startswith(("fold", "call", "raise"))]
    assert [row[:2] for row in rows] == [[name, "0.3333"] for name in ("fold", "call", "raise")]
    assert rows[0][2] == "0.0000" and rows[0][-1] == "–"
    left_out = sum(row[-1] == "–" for row in rows)
    assert f"- actions not searched: {left_out} of 3 (branches = 3, gap = 0.3)" in said
    code, said = run(*words, "--json")
    shown = json.loads(said[said.index("{") :])
    assert shown["actions"][0] == {
        "action": "fold",
        "blueprint": 1 / 3,
        "refined": 0.0,
        "q": None,
        "error": None,
    }


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
    assert rule in refused("solve", LARGE, "--infoset", AT, *words)


@pytest.mark.parametrize("field", ["belief=0.5", "slip=0.1", "explore=0", "branches=1", "samples=3"])
def test_what_is_read_of_draws_alone_is_refused_where_all_histories_are_listed(field: str) -> None:
    for asked in (["kuhn_poker", "--infoset", "P1 holds Q | bet"], ["big2(players=3,ranks=2,suits=2)"]):
        words = [*asked, "--blueprint", "uniform", "--method", f"kluss:{field}"]
        assert f"{field.partition('=')[0]} needs drawn histories" in refused("solve", *words)
    assert "needs drawn histories" in refused("match", "kuhn_poker", f"uniform+kluss:{field}", "uniform")
    code, said = run(*words, "--source", "sampled")
    assert code == 0, said


@pytest.mark.parametrize("option", ["samples", "companions"])
def test_a_number_of_draws_is_refused_where_all_histories_are_listed(option: str) -> None:
    asked = ["kuhn_poker", "--infoset", "P1 holds Q | bet", "--blueprint", "uniform"]
    words = [*asked, f"--{option}", "3"]
    for told in (words, [*asked, "--method", f"gs2-d: {option} =3"]):
        assert f"{option} needs drawn histories" in refused("solve", *told)
    code, said = run(*words, "--source", "sampled", "--method", "gs2-d")
    assert code == 0, said
