"""Policies in words: as JSON that any program can read, and as OpenSpiel's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cfr.best_response import best_response_values, expected_value, exploitability, nash_conv
from cfr.policies.policy import Policy, PolicyError, tabular_policy
from cfr.policies.policy_words import load_policy_json, policy_words, save_policy_json
from cfr.solver import solve
from cfr.tree import FlatTree, grow
from games import Game, GameError, load_game
from games.openspiel.direct import openspiel_game
from games.research.kuhn_poker import KuhnPoker
from tests.cfr.trees import random_policy
from tests.commands.runner import as_json, gs2, ran
from tests.games.openspiel.efg import HIDDEN_MOVE

AGREEMENT = 1e-12


def some_policies(game: Game, tree: FlatTree) -> list[Policy]:
    """Return random policies, sparse ones among them, and what CFR comes to."""
    found = [random_policy(tree, 0), random_policy(tree, 1, zeros=0.4), solve(tree, iterations=20).policy]
    return [tabular_policy(game.name, tree, probs) for probs in found]


OURS = [
    "kuhn_poker",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=true)",
    "liars_dice(sides=3)",
    "liars_dice(sides=4,bidding=reset-quantity)",
    "liars_dice(dice=2,sides=2)",
    "goofspiel(cards=4,turns=2)",
    "goofspiel(cards=4,turns=4,points_order=ascending)",
    "goofspiel(cards=5,turns=3,points_order=descending,returns=win_loss)",
]
ADAPTED = [
    "openspiel:kuhn_poker",
    "openspiel:liars_dice(numdice=2,dice_sides=2)",
    "openspiel:oshi_zumo(coins=3,horizon=4,size=1)",
    "openspiel:blotto(coins=4,fields=3)",
]
LARGE = [
    "openspiel:leduc_poker",
    "liars_dice(sides=6)",
    "goofspiel(cards=5,turns=3,points_order=random)",
    "goofspiel(cards=5,turns=3,points_order=random,returns=win_loss)",
]


@pytest.mark.parametrize("name", [*OURS, *ADAPTED, *(pytest.param(n, marks=pytest.mark.long) for n in LARGE)])
@pytest.mark.some(5)
def test_openspiel_values_our_policy_and_finds_it_as_exploitable_as_we_do(name: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = load_game(name)
    tree = grow(game)
    theirs = openspiel_game(game)
    for policy in some_policies(game, tree):
        handed = policy.to_openspiel()
        assert len(handed.policy_table()) == tree.n_infosets
        probs = policy.on(tree)
        values = pyspiel.expected_returns(theirs.new_initial_state(), handed, -1, True)
        assert expected_value(tree, probs) == pytest.approx(values[0], abs=AGREEMENT)
        assert pyspiel.nash_conv(theirs, handed, True) == pytest.approx(nash_conv(tree, probs), abs=AGREEMENT)
        assert np.array_equal(Policy.from_openspiel(handed, game).on(tree), probs)
        for seat, best in enumerate(best_response_values(tree, probs)):
            response = pyspiel.TabularBestResponse(theirs, seat, handed)
            assert response.value_from_state(theirs.new_initial_state()) == pytest.approx(best, abs=AGREEMENT)


def test_policies_of_openspiels_solvers_come_back_as_ours_and_its_python_algorithms_take_ours() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import exploitability as python_exploitability
    from open_spiel.python.policy import TabularPolicy, pyspiel_policy_to_python_policy

    for name in ("kuhn_poker", "openspiel:leduc_poker", "openspiel:python_kuhn_poker"):
        game = load_game(name)
        theirs = openspiel_game(game)
        solver = pyspiel.CFRPlusSolver(theirs)
        for _ in range(3):
            solver.evaluate_and_update_policy()
        found = solver.tabular_average_policy()
        policy = Policy.from_openspiel(found, game)
        ours = exploitability(grow(game), policy.on(grow(game)))
        assert pyspiel.nash_conv(theirs, found, True) == pytest.approx(2 * ours, abs=AGREEMENT)
        uniform = Policy.from_openspiel(TabularPolicy(theirs), game)
        assert np.array_equal(uniform.probs, tabular_policy(game.name, grow(game)).probs)
        if name == "kuhn_poker":
            handed = pyspiel_policy_to_python_policy(theirs, policy.to_openspiel())
            measured = python_exploitability.exploitability(theirs, handed)
            assert measured == pytest.approx(ours, abs=AGREEMENT)
    with pytest.raises(PolicyError, match='must have every infoset of the game; "0" is missing'):
        Policy.from_openspiel(pyspiel.TabularPolicy({"2": [(0, 1.0)]}), load_game("kuhn_poker"))
    with pytest.raises(PolicyError, match="it takes a TabularPolicy"):
        Policy.from_openspiel("kuhn_poker", load_game("kuhn_poker"))


def test_games_that_openspiel_has_not_are_refused() -> None:
    pytest.importorskip("pyspiel")
    for name in (
        "leduc_poker(ranks=2)",
        "kuhn_poker(cards=4)",
        "liars_dice(sides=3,wild=false)",
        "goofspiel(cards=4,turns=3)",
    ):
        game = load_game(name)
        with pytest.raises(GameError, match="OpenSpiel must have the same game"):
            tabular_policy(name, grow(game)).to_openspiel()


@pytest.mark.parametrize("name", [*OURS, "openspiel:kuhn_poker"])
@pytest.mark.some(4)
def test_json_brings_every_probability_back_to_the_bit(name: str, tmp_path: Path) -> None:
    if name.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    game = load_game(name)
    tree = grow(game)
    for policy in some_policies(game, tree):
        path = tmp_path / "policy.json"
        save_policy_json(path, policy, tree, policy_words(game, tree))
        again = load_policy_json(path, game)
        assert np.array_equal(again.on(tree), policy.on(tree))
        whole = json.loads(path.read_text())
        assert set(whole["policy"]) == set(policy_words(game, tree).infosets)
        assert all(abs(sum(row.values()) - 1) < 1e-9 for row in whole["policy"].values())


class LetterKuhn(KuhnPoker):
    """Kuhn poker whose names differ in case alone: of two actions, and of player 0's first and last card."""

    def action_text(self, state: np.ndarray, action: np.ndarray) -> str:
        return "aA"[int(action)] if state["node"] >= 2 else super().action_text(state, action)

    def infoset_text(self, state: np.ndarray, player: int) -> str:
        return super().infoset_text(state, player).replace("P0 holds K", "P0 holds j")


def test_names_that_differ_in_case_alone_are_read_to_the_letter(tmp_path: Path) -> None:
    game, path = LetterKuhn(), tmp_path / "a.json"
    tree = grow(game)
    words = policy_words(game, tree)
    assert {"P0 holds J", "P0 holds j"} < set(words.infosets) and set(words.actions) == {("a", "A")}
    for policy in some_policies(game, tree):
        save_policy_json(path, policy, tree, words)
        assert np.array_equal(load_policy_json(path, game, tree).probs, policy.probs)

    def said(old: str, new: str) -> str:
        save_policy_json(path, tabular_policy(game.name, tree), tree, words)
        path.write_text(path.read_text().replace(old, new, 1))
        with pytest.raises(PolicyError) as error:
            load_policy_json(path, game, tree)
        return str(error.value)

    assert 'has no action " a"; it has a, A' in said('"a"', '" a"')
    assert '"P0 holds j" is missing' in said('"P0 holds j"', '"P0  holds j"')
    assert '"P0 holds Q" comes twice' in said('"P0 holds Q"', '"p0 holds q": {"a": 1}, "P0 holds Q"')


def test_infosets_of_one_name_are_no_policy_in_words() -> None:
    class Nameless(KuhnPoker):
        def infoset_text(self, state: np.ndarray, player: int) -> str:
            return super().infoset_text(state, player).replace("P0", "you").replace("P1", "you")

    class Alike(Nameless):
        def infoset_text(self, state: np.ndarray, player: int) -> str:
            return super().infoset_text(state, player).split(" | ")[0]

    policy_words(Nameless(), grow(Nameless()))
    with pytest.raises(PolicyError, match='"you holds J" is that of 4; write a policy that is not JSON'):
        policy_words(Alike(), grow(Alike()))


def edited(tmp_path: Path, change) -> Path:
    """Return a file of Kuhn poker's uniform policy after a change to its document."""
    game = load_game("kuhn_poker")
    tree = grow(game)
    path = tmp_path / "kuhn.json"
    save_policy_json(path, tabular_policy(game.name, tree), tree, policy_words(game, tree))
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))
    return path


def test_what_is_left_out_has_probability_zero_and_spacing_does_not_matter(tmp_path: Path) -> None:
    def change(whole: dict) -> None:
        first, row = next(iter(whole["policy"].items()))
        action = next(iter(row))
        del whole["policy"][first]
        whole["policy"][f"  {first.upper()} "] = {action.upper(): 1}

    game = load_game("kuhn_poker")
    policy = load_policy_json(edited(tmp_path, change), game)
    assert sorted(policy.probs)[:1] == [0.0] and sorted(policy.probs)[-1] == 1.0


def first_row(whole: dict) -> dict:
    return next(iter(whole["policy"].values()))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda w: w.update(format="2"), 'must have "format"'),
        (lambda w: w.update(policy=[1]), 'must have "format"'),
        (lambda w: w.update(game="leduc_poker"), "must belong to kuhn_poker; it is for leduc_poker"),
        (lambda w: w["policy"].pop(next(iter(w["policy"]))), "is missing; it has 11 of 12"),
        (lambda w: w["policy"].update({"P0 holds Z": {"pass": 1}}), 'no infoset is called "P0 holds Z"'),
        (lambda w: first_row(w).update(fly=0.5), 'has no action "fly"'),
        (lambda w: first_row(w).update({next(iter(first_row(w))): 0.7}), "must sum to 1"),
        (lambda w: first_row(w).update({next(iter(first_row(w))): -0.5}), r"must be in \[0, 1\]"),
        (lambda w: first_row(w).update({next(iter(first_row(w))): "1"}), r"must be in \[0, 1\]"),
        (lambda w: first_row(w).update({next(iter(first_row(w))): float("nan")}), r"must be in \[0, 1\]"),
        (lambda w: first_row(w).update({next(iter(first_row(w))): True}), r"must be in \[0, 1\]"),
        (lambda w: w["policy"].update({next(iter(w["policy"])): 3}), "must have an object of actions; got 3"),
    ],
)
def test_json_that_does_not_fit_is_refused(change, says: str, tmp_path: Path) -> None:
    path = edited(tmp_path, change)
    with pytest.raises(PolicyError, match=says):
        load_policy_json(path, load_game("kuhn_poker"))
    result = gs2("exploitability", "kuhn_poker", str(path))
    assert result.exit_code == 2 and result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for text in ("", "{", "[1, 2", "[" * 100_000, '{"a": 1, "a": 2}', "\x00"):
        path.write_text(text)
        with pytest.raises(PolicyError):
            load_policy_json(path, load_game("kuhn_poker"))


def test_the_commands_write_and_read_words(tmp_path: Path) -> None:
    blueprint, refined = (str(tmp_path / name) for name in ("b.json", "r.json"))
    made = ran("blueprint", "leduc_poker", "--iterations", "50", "-o", blueprint, "--json")
    measured = as_json("exploitability", "leduc_poker", blueprint)
    assert measured["exploitability"] == pytest.approx(json.loads(made.stdout)["exploitability"], abs=1e-12)
    after = as_json("solve", "--blueprint", blueprint, "-o", refined)["opponent_best_response"][1]
    best = as_json("exploitability", "leduc_poker", refined)["best_response"]
    assert best[0] == pytest.approx(after, abs=1e-9)
    whole = json.loads(Path(refined).read_text())
    assert "gs2+" in whole["note"] and "P1 holds Ks | raise" in whole["policy"]
    once_more = gs2("blueprint", "leduc_poker", "--iterations", "60", "-o", blueprint)
    assert once_more.exit_code == 2 and "--fresh" in once_more.stderr
    assert gs2("solve", "-o", str(tmp_path / "no" / "x.json")).exit_code == 2
    assert not list(tmp_path.glob("*.part"))


def test_a_searched_hidden_move_can_be_handed_back(tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    path = tmp_path / "hidden_move.efg"
    path.write_text(HIDDEN_MOVE)
    game = load_game(f"openspiel:efg_game(filename={path})")
    tree = grow(game)
    assert {len(row) for row in tabular_policy(game.name, tree).to_openspiel().policy_table().values()} == {2}


def test_the_page_on_policies_shows_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspiel")
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "policies.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(code, "policies.md", "exec"), {})
    locked, ours, theirs = capsys.readouterr().out.split()
    assert ours == theirs and float(locked) < 1e-3
    assert f"```text\n{ours[:8]}" in page
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    shown = json.loads(example)
    tree = grow(load_game(shown["game"]))
    words = policy_words(load_game(shown["game"]), tree)
    known = dict(zip(words.infosets, words.actions, strict=True))
    assert shown["format"] == "gs2 policy 1"
    for text, row in shown["policy"].items():
        assert set(row) <= set(known[text])
