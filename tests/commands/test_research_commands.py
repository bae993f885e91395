"""The commands of research games and of Gambit files, as a person types them; the tables of `gs2 solve`."""

from __future__ import annotations

import csv
import json
import re
import signal
from pathlib import Path

import pytest

from tests.commands.runner import as_json, gs2, one_line, ran, started
from tests.patience import PATIENCE


def test_research_games_are_listed_with_their_sizes_and_one_is_counted_by_growing_it() -> None:
    presets = as_json("games")["presets"]
    assert presets["liars_dice_7"]["histories"] == 1_605_591
    assert "goofspiel_12_ascending_3" in gs2("games").stdout
    row = as_json("games", "leduc_poker")
    assert (row["histories"], row["terminals"], row["infosets"]) == (9457, 5520, [468, 468])


def test_infosets_are_read_back_as_they_are_written() -> None:
    from games.registry import load_game

    words = ("--player", "1", "--grep", "holds K", "--limit", "7")
    texts = gs2("infosets", "leduc_poker", *words).stdout.splitlines()
    assert len(texts) == 7
    game = load_game("leduc_poker")
    for text in texts:
        assert game.parse_infoset(text).text == text


def test_solve_without_options_explains_itself_on_leduc() -> None:
    result = ran("solve")
    for words in ("leduc_poker", "blueprint", "refined", "Histories", "Subgame", "Whole game"):
        assert words in result.stdout
    assert "value of the infoset if both go on by the blueprint" in result.stdout


@pytest.mark.long
def test_many_histories_are_counted_whole_and_shown_where_asked_for() -> None:
    shown = gs2("solve", "leduc_poker(ranks=9)", "--iterations", "5")
    assert "Histories: 306 considered, 306 generated, 306 kept" in shown.stdout
    assert "… and 300 more; --all-rows shows them" in shown.stdout
    words = ("solve", "leduc_poker(ranks=9)", "--iterations", "5", "--all-rows")
    result = as_json(*words)
    assert (result["histories_considered"], result["histories_kept"]) == (306, 306)
    assert len({row["history"] for row in result["histories"]}) == 306
    assert result["opponents_kept"] == len(result["opponents"]) == 18
    every = gs2(*words).stdout
    assert all(row["history"] in every for row in result["histories"]) and "more;" not in every
    few = as_json(*words[:-1])
    assert (len(few["histories"]), few["histories_considered"]) == (200, 306)


def test_a_blueprint_goes_on_where_its_file_stopped(tmp_path: Path) -> None:
    whole, parts = str(tmp_path / "whole.npz"), str(tmp_path / "parts.npz")
    one = as_json("blueprint", "leduc_poker", "--iterations", "200", "-o", whole)
    gs2("blueprint", "leduc_poker", "--iterations", "70", "-o", parts)
    two = as_json("blueprint", "leduc_poker", "--iterations", "200", "-o", parts)
    assert two["iterations"] == 200
    assert two["exploitability"] == one["exploitability"]
    measured = as_json("exploitability", "leduc_poker", parts)
    assert measured["exploitability"] == pytest.approx(one["exploitability"], abs=1e-12)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.some(1)
def test_an_interrupted_blueprint_leaves_a_file_that_resumes(number: int, tmp_path: Path) -> None:
    file = tmp_path / "dice.npz"
    words = ("blueprint", "leduc_poker", "--seconds", "3000", "-o", file, "--json")
    child = started(*words, code="import gs2.commands.progress\ngs2.commands.progress.EVERY = 0.05")
    assert child.stderr is not None
    line = child.stderr.readline()
    while "exploitability" not in line:  # it says so once it is under way, however slow the machine
        assert line, child.communicate()
        line = child.stderr.readline()
    child.send_signal(number)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + number and "Traceback" not in err
    first = json.loads(out)
    assert first["stopped"] == "interruption" and first["iterations"] > 0
    done = gs2("blueprint", "leduc_poker", "--target", "10", "-o", str(file), "--json")
    assert f"at iteration {first['iterations']:,}" in done.stderr
    result = json.loads(done.stdout)
    assert result["stopped"] == "target"
    assert result["iterations"] == first["iterations"]


@pytest.mark.parametrize(
    ("game", "form"),
    [("kuhn_poker", "listed"), ("kuhn_poker", "public"), ("dark_hex(size=2)", "private")],
)
def test_a_run_that_has_reached_its_target_is_not_taken_further(game: str, form: str, tmp_path: Path) -> None:
    words = ("blueprint", game, "--form", form, "-o", tmp_path / "x.npz")
    first = as_json(*words, "--iterations", "3")
    again = as_json(*words, "--target", first["exploitability"] + 1e-9)
    assert (again["stopped"], again["iterations"]) == ("target", 3)
    assert again["exploitability"] == first["exploitability"]


def test_a_method_takes_fields_as_in_an_experiment_and_an_option_counts_instead() -> None:
    words = ("solve", "kuhn_poker", "--blueprint", "cfr:5", "--json")
    spelt = json.loads(gs2(*words, "--method", "gs2-r:k=1,iterations=7,gadget=resolve").stdout)["config"]
    option = ("-k", "1", "--iterations", "7", "--gadget", "resolve")
    assert spelt == json.loads(gs2(*words, "--method", "gs2-r", *option).stdout)["config"]
    both = json.loads(gs2(*words, "--method", "gs2-r:k=2,iterations=7", "-k", "1").stdout)["config"]
    assert (both["k"], both["iterations"]) == (1, 7)


def test_a_grid_is_narrowed_by_options(tmp_path: Path) -> None:
    words = ["--game", "kuhn_poker", "--method", "maxmargin", "--method", "gs2-r:k=1", "--seeds", "2"]
    words += ["--mode", "independent", "--iterations", "20", "--blueprint", "cfr:10", "--workers", "1"]
    told = as_json("experiment", "refine", *words, "-o", str(tmp_path))["rows"]
    rows = list(csv.DictReader((tmp_path / "rows.csv").open()))
    assert [(row["method"], row["seed"]) for row in rows] == [
        ("maxmargin", "0"),
        ("gs2-r:k=1", "0"),
        ("gs2-r:k=1", "1"),
    ]
    assert [row["exploitability"] for row in told] == [float(row["exploitability"]) for row in rows]
    assert {(row["blueprint"], row["mode"], row["cap"], row["limit"]) for row in rows} == {
        ("cfr:10", "independent", "20", "")
    }


def test_a_policy_of_another_game_is_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "kuhn.npz")
    gs2("blueprint", "kuhn_poker", "--iterations", "10", "-o", file)
    says = one_line("exploitability", "leduc_poker", file)
    assert "kuhn_poker" in says and "leduc_poker" in says
    assert "kuhn_poker" in one_line("solve", "--blueprint", file)


def test_an_imperfect_recall_game_is_refused() -> None:
    pytest.importorskip("pyspiel")
    says = one_line("solve", "openspiel:dark_hex_ir(num_rows=2,num_cols=2)")
    assert "recall" in says


def test_an_unknown_command_is_answered_with_near_ones() -> None:
    result = gs2("sovle")
    assert result.exit_code == 2
    assert "solve" in result.stderr


EXAMPLES = Path(__file__).parents[2] / "examples"
POKER, SEXES = f"gambit:{EXAMPLES / 'poker.efg'}", f"gambit:{EXAMPLES / 'sexes.nfg'}"


def test_a_game_whose_tree_does_not_fit_is_estimated() -> None:
    assert "its private moves do: gs2 blueprint" in ran("games", "dark_hex").stdout
    told = as_json("games", "goofspiel(cards=13,turns=13)")
    assert told["histories"]["mean"] > 1e25 and not told["fits"]["tree_memory"]


def test_a_file_is_counted_sized_solved_and_measured(tmp_path: Path) -> None:
    row = as_json("games", POKER)
    assert (row["title"], row["player_labels"]) == ("One-card poker", ["Alice", "Bob"])
    assert (row["histories"], row["infosets"]) == (11, [2, 1])
    assert as_json("games", POKER, "--size")["histories"]["mean"] == 11
    assert gs2("infosets", POKER).stdout.splitlines() == ["P0 king", "P0 queen", "P1 raised"]
    policy = str(tmp_path / "poker.npz")
    solved = as_json("blueprint", POKER, "--iterations", "2000", "-o", policy)
    assert solved["value"] == pytest.approx(1 / 3, abs=1e-3)
    measured = as_json("exploitability", POKER, policy)
    assert measured["exploitability"] == pytest.approx(solved["exploitability"], abs=1e-12)


def test_a_general_sum_file_is_solved_without_a_promise_and_refused_for_search() -> None:
    assert "do not sum to zero" in gs2("games", SEXES).stdout
    solved = gs2("blueprint", SEXES, "--iterations", "300", "--json")
    assert "no guarantee: with payoffs that do not sum to zero" in solved.stderr
    found = json.loads(solved.stdout)
    assert found["exploitability"] < 1e-3 and len(found["values"]) == 2
    refused = gs2("solve", SEXES)
    assert refused.exit_code == 2 and refused.exception is not None
    assert "must sum to zero to be searched" in str(refused.exception) + refused.stderr


def test_values_of_a_shifted_game_say_how_to_read_them(tmp_path: Path) -> None:
    path = tmp_path / "constant.nfg"
    path.write_text('NFG 1 R "" { "A" "B" } { 2 1 }\n1 9 6 4\n')
    for words in (("games",), ("blueprint",), ("exploitability", "uniform")):
        shown = gs2(words[0], f"gambit:{path}", *words[1:])
        assert "constant sum, shifted to sum to zero: add 5" in " ".join(shown.stdout.split()), shown.output
    assert as_json("exploitability", f"gambit:{path}", "uniform")["shift"] == 5


def test_three_players_of_openspiel_are_measured() -> None:
    pytest.importorskip("pyspiel")
    found = as_json("exploitability", "openspiel:kuhn_poker(players=3)", "uniform")
    assert len(found["values"]) == 3 and sum(found["values"]) == pytest.approx(0, abs=1e-9)
    assert found["nash_conv"] == pytest.approx(sum(found["gains"]))


SOURCE = """
from games.research.goofspiel import Goofspiel

class Scaled(Goofspiel):
    def __init__(self):
        super().__init__(cards=3)
        low, high = self.payoff_range
        self.payoff_range = {size} * low, {size} * high

    def returns(self, states):
        return {size} * super().returns(states)
"""
BIDS = {1: 0.5, 2: 0.0, 3: -0.5}
"""What the bids on the first prize, 1, are worth of the payoffs if everything else is chosen uniformly."""


@pytest.mark.parametrize("size", [1e-6, 3e-5, 1.0, 1e5])
def test_values_are_told_whatever_their_size(size: float, tmp_path: Path) -> None:
    file = tmp_path / "scaled.py"
    file.write_text(SOURCE.format(size=size))
    words = ("solve", f"{file}:Scaled", "--infoset", "P0 | prize 1", "--blueprint", "uniform")
    result = ran(*words)
    for bid, worth in BIDS.items():
        told = re.search(rf"^bid {bid} .* ([+-][0-9.,e+-]+)\s*$", result.stdout, re.M)
        assert told is not None, result.stdout
        assert float(told[1].replace(",", "")) == pytest.approx(size * worth), result.stdout
    assert not re.search(r"[+-]\d\.\de-(?:0[9]|[1-9]\d)", result.stdout), "no errors of rounding"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("mirror-descent", "no answer of the opponent"),
        ("gs2-s", "gains against three answers of the opponent"),
        ("gs2-s:robust=false", "against the opponent's own step"),
        ("gs2-s:source=sampled", "values by rollout after 1 action"),
    ],
)
def test_a_step_is_told_as_one_and_not_as_a_subgame(method: str, words: str) -> None:
    result = ran("solve", "kuhn_poker", "--method", method)
    assert words in result.stdout and "Subgame" not in result.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [("iterations=9", "pcfr+, 9"), ("solver=anchored,iterations=9", "anchored, 9"), ("solver=lp", "lp, 0")],
)
def test_a_subgame_is_told_with_the_solver_that_solved_it(options: str, words: str) -> None:
    result = ran("solve", "kuhn_poker", "--blueprint", "uniform", "--method", f"kluss:{options}")
    assert f"kluss by maxmargin gadget, {words}" in result.stdout
