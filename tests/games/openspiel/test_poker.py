"""OpenSpiel's poker in factored form: the same games, the same numbers, and clear refusals."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

from cfr.policies.policy import tabular_policy
from cfr.public.policies.public_policy import PublicPolicy
from cfr.public.public_solver import PublicSolver
from cfr.public.tree import grow_public
from cfr.sequence_form import sequence_form
from cfr.solver import Solver
from cfr.tree import grow
from games import CHANCE, TERMINAL, load_game
from games.infosets.factored import FactoredGame, check_factored
from gs2.policies.tabulate import policy_of
from tests.games.random_games import check_quickly
from tests.games.trees import levels
from tests.patience import amount

pyspiel = pytest.importorskip("pyspiel")

from games.infosets.naming import ACTS, infoset_line, random_line  # noqa: E402
from games.openspiel import poker_form as forms  # noqa: E402
from games.openspiel.direct import openspiel_actions, openspiel_game  # noqa: E402
from games.openspiel.expansion import OpenSpielGame  # noqa: E402
from games.openspiel.poker_form import NotPoker, check_form  # noqa: E402
from games.openspiel.poker_game import OpenSpielPoker  # noqa: E402

AGREEMENT = 1e-9


def generated(seed: int) -> str:
    """Return a small game of universal_poker, its parameters drawn at random."""
    rng = np.random.default_rng([seed, 22])
    hole, board = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)][seed % 5]
    most = {(1, 0): 8, (1, 1): 8, (1, 2): 6, (2, 0): 6, (2, 1): 6}[hole, board]
    ranks, suits = next(
        (r, s)
        for r, s in (rng.integers((2, 1), (7, 4)).tolist() for _ in range(1000))
        if 2 * hole + board < r * s <= most
    )
    blinds = " ".join(str(chips) for chips in rng.integers(1, 4, 2).tolist())
    first = " ".join(str(seat) for seat in rng.integers(1, 3, 2).tolist())
    if rng.integers(2):
        sizes = " ".join(str(chips) for chips in rng.integers(2, 6, 2).tolist())
        caps = " ".join(str(cap) for cap in rng.integers(0, 3, 2).tolist())
        betting = f"betting=limit,raiseSize={sizes},maxRaises={caps}"
    else:
        abstraction = ("fcpa", "fc", "fchpa")[rng.integers(3)]
        stacks = " ".join(str(chips) for chips in rng.integers(4, 12, 2).tolist())
        betting = f"betting=nolimit,bettingAbstraction={abstraction},stack={stacks}"
    return (
        f"universal_poker({betting},numRounds=2,numBoardCards=0 {board},numHoleCards={hole},numRanks={ranks},"
        f"numSuits={suits},blind={blinds},firstPlayer={first})"
    )


GENERATED = [generated(seed) for seed in range(10)]
SMALL = ["kuhn_poker", "leduc_poker(suit_isomorphism=True)", *GENERATED[:5]]


@cache
def poker(text: str) -> OpenSpielPoker:
    game = load_game(f"openspiel:{text}")
    assert isinstance(game, OpenSpielPoker) and isinstance(game, FactoredGame)
    return game


def raw(game: OpenSpielPoker, actions: list[int]) -> Any:
    """Return OpenSpiel's own state after a history's actions."""
    state = openspiel_game(game).new_initial_state()
    for action in openspiel_actions(game, actions):
        state.apply_action(action)
    return state


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.some(2)
def test_poker_games_keep_both_contracts(text: str) -> None:
    game, rng = poker(text), np.random.default_rng(0)
    check_quickly(game, rng, max_width=amount(100, 40))
    assert check_factored(game, rng, width=amount(40, 20)) > 3
    sent = pickle.loads(pickle.dumps(game))
    assert sent.name == game.name and load_game(game.name).name == game.name
    assert sent.state_text(sent.public_state(sent.root())[0]) == "the start"


@pytest.mark.parametrize("text", ["kuhn_poker", *GENERATED])
@pytest.mark.some(3)
def test_histories_are_openspiels(text: str) -> None:
    game, rng = poker(text), np.random.default_rng(1)
    named: tuple[dict[str, bytes], dict[str, bytes]] = ({}, {})
    for _ in range(amount(100, 20)):
        line: list[int] = []
        for states, who, actions, taken in random_line(game, rng):
            if who == CHANCE:
                assert abs(game.chance_probs(states, actions).sum() - 1) < 1e-12
                line.append(taken)
                continue
            theirs = raw(game, line)
            if who == TERMINAL:
                assert theirs.is_terminal()
                np.testing.assert_allclose(game.returns(states)[0], theirs.returns(), rtol=0, atol=AGREEMENT)
                continue
            assert theirs.current_player() == who
            assert theirs.legal_actions() == actions.values.tolist()
            key = game.infoset_key(states, who)[0]
            told = theirs.information_state_string(who)
            assert named[who].setdefault(told, key.tobytes()) == key.tobytes()
            assert game.infoset_text(states[0], who) == infoset_line(ACTS, told, who)
            line.append(taken)


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.some(3)
def test_the_public_form_agrees_with_the_listed_one_and_with_openspiel(text: str) -> None:
    game = poker(text)
    listed, solver = grow(game), PublicSolver(grow_public(game), "dcfr+", threads=1)
    solver.run(30)
    tree_solver = Solver(sequence_form(listed), "dcfr+")
    tree_solver.run(30)
    slots = policy_of(PublicPolicy.of(solver), game, listed)
    np.testing.assert_allclose(slots, tree_solver.average_policy(), rtol=0, atol=AGREEMENT)
    scale = max(game.payoff_range)
    found = solver.exploitability()
    assert abs(found - tree_solver.exploitability()) < AGREEMENT * scale
    policy = tabular_policy(game.name, listed, slots).to_openspiel()
    theirs = pyspiel.nash_conv(openspiel_game(game), policy, True) / 2
    assert abs(found - theirs) < AGREEMENT * scale


@pytest.mark.parametrize("text", ["leduc_poker", GENERATED[2]])
def test_features_tell_infosets_apart(text: str) -> None:
    game = poker(text)
    for level in levels(game):
        for player in (0, 1):
            keys = game.infoset_key(level.states, player)
            seen = np.concatenate([keys, game.features(level.states, player)], axis=1)
            known = np.unique(keys[:, 0])
            assert len(np.unique(seen, axis=0)) == len(np.unique(seen[:, 1:], axis=0)) == len(known)


REFUSED = {
    "liars_dice(dice_sides=3)": "the payoffs depend on more",
    "tic_tac_toe": "must begin with chance dealing hands",
    "leduc_poker(action_mapping=True)": "must show its players the bets",
    "universal_poker(numRounds=3,numBoardCards=0 1 1,numSuits=2,numRanks=3,betting=limit,"
    "raiseSize=1 1 1,maxRaises=1 1 1,blind=1 1,firstPlayer=1 1 1)": "must show cards once",
}


@pytest.mark.parametrize("text", REFUSED)
def test_games_that_are_no_such_product_are_refused_with_the_reason(text: str) -> None:
    with pytest.raises(NotPoker, match=REFUSED[text]):
        OpenSpielPoker(text)


def test_games_beyond_the_walk_are_expanded_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("games.openspiel.poker_form.MOST_DEALS", 100)
    assert isinstance(load_game("openspiel:kuhn_poker"), OpenSpielPoker)
    whole = load_game("openspiel:leduc_poker")
    assert isinstance(whole, OpenSpielGame) and not isinstance(whole, FactoredGame)
    assert "must have at most 100 deals with their boards; it has 120" in whole.not_factored
    monkeypatch.setattr("games.openspiel.poker_form.MOST_PAIRS", 5)
    with pytest.raises(NotPoker, match="at most 5 pairs of hands"):
        OpenSpielPoker("kuhn_poker")
    monkeypatch.setattr("games.openspiel.poker_form.MOST_PAIRS", 6)
    monkeypatch.setattr("games.openspiel.poker_form.MOST_NODES", 8)
    with pytest.raises(NotPoker, match="at most 8 ways to bet"):
        OpenSpielPoker("kuhn_poker")
    whole = load_game("openspiel:matrix_rps")
    assert isinstance(whole, OpenSpielGame)
    assert "only kuhn_poker, leduc_poker, universal_poker are offered" in whole.not_factored


WRONG = {
    "hands": lambda form: form.hands.prior.__imul__(0),
    "who acts": lambda form: form.betting.player.__imul__(0),
    "the payoffs": lambda form: form.outcomes[1].__imul__(-1),
    "the probability of a board": lambda form: form.board_probs.__imul__(0.9),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_check_finds_tables_that_are_wrong(what: str) -> None:
    game = pyspiel.load_game("leduc_poker")
    form = forms.poker_form(game, "leduc")
    check_form(game, form, "leduc", np.random.default_rng(0))
    WRONG[what](form)
    with pytest.raises(NotPoker, match=what):
        check_form(game, form, "leduc", np.random.default_rng(0))
