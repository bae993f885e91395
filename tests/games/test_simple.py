"""Games written one state at a time are the batched games, and their faults are named."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cfr
from blueprint.research.infoset_features import ActionColumns
from games import CHANCE, TERMINAL, GameError, SimpleGame, check_game, load_game
from games.infosets import decision_infosets
from games.infosets.sampling import sample_infoset
from gs2 import SearchContext, solve_infoset
from gs2.search.config.presets import preset
from tests.commands.runner import gs2
from tests.games.random_games import RandomGame, broken, check_quickly
from tests.patience import amount


class SimpleKuhn(SimpleGame):
    """Kuhn poker; a state is the cards dealt and what was said."""

    payoff_range = (-2.0, 2.0)

    def start(self) -> Any:
        return "", ""

    def turn(self, state: Any) -> int:
        cards, said = state
        if len(cards) < 2:
            return CHANCE
        return TERMINAL if said in ("pp", "pbp", "pbb", "bp", "bb") else len(said) % 2

    def choices(self, state: Any) -> Any:
        return [c for c in "JQK" if c not in state[0]] if len(state[0]) < 2 else ("pass", "bet")

    def after(self, state: Any, choice: Any) -> Any:
        cards, said = state
        return (cards + choice, "") if len(cards) < 2 else (cards, said + choice[0])

    def payoff(self, state: Any) -> float:
        cards, said = state
        if said.endswith("bp"):
            return 1.0 if said == "bp" else -1.0
        return (2.0 if said.endswith("bb") else 1.0) * (
            1 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else -1
        )

    def sees(self, state: Any, player: int) -> str:
        cards, said = state
        return f"holds {cards[player : player + 1]} | {len(cards)} dealt | {said}"


class Listed(SimpleGame):
    """A game of nodes, one node at a time; a state is a list, so that nothing about it can be hashed."""

    def __init__(self, nodes: RandomGame) -> None:
        self.nodes, self.remembers, self.payoff_range = nodes, nodes.remembers, nodes.payoff_range
        self.children: list[list[int]] = [[] for _ in nodes.nodes]
        for at, node in enumerate(nodes.nodes[1:], 1):
            self.children[node.up].append(at)

    def start(self) -> Any:
        return [0]

    def turn(self, state: Any) -> int:
        return self.nodes.nodes[state[0]].who

    def choices(self, state: Any) -> Any:
        return range(self.nodes.nodes[state[0]].count)

    def chances(self, state: Any) -> Any:
        return [self.nodes.nodes[child].prob for child in self.children[state[0]]]

    def after(self, state: Any, choice: Any) -> Any:
        return [self.children[state[0]][choice]]

    def payoff(self, state: Any) -> float:
        return self.nodes.nodes[state[0]].payoff

    def sees(self, state: Any, player: int) -> str:
        return f"knows {int(self.nodes._known[player][state[0]])}"


def test_a_poker_written_simply_is_the_native_one() -> None:
    game = SimpleKuhn()
    report = check_quickly(game, np.random.default_rng(0))
    ours, theirs = cfr.grow(game), cfr.grow(load_game("kuhn_poker"))
    assert ours.n_nodes == theirs.n_nodes and report.infosets[0] > 0
    assert np.array_equal(np.bincount(ours.infoset_player), np.bincount(theirs.infoset_player))
    assert ours.n_slots == theirs.n_slots
    assert cfr.solve_lp(ours).value == pytest.approx(cfr.solve_lp(theirs).value, abs=1e-9)
    uniform = [cfr.exploitability(tree, cfr.uniform_policy(tree)) for tree in (ours, theirs)]
    assert uniform[0] == pytest.approx(uniform[1], abs=1e-12)


def test_generated_games_written_simply_have_the_same_trees() -> None:
    for seed in range(amount(10, 4)):
        nodes = RandomGame(seed, public=bool(seed % 2))
        game = Listed(nodes)
        if seed < amount(10, 2):
            check_quickly(game, np.random.default_rng(seed))
        ours, theirs = cfr.grow(game), cfr.grow(nodes)
        for name in ("parent", "player", "infoset", "chance_prob", "returns", "infoset_offset"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), (seed, name)
        for infoset in decision_infosets(game):
            assert game.parse_infoset(infoset.text.upper()) == infoset


def test_rows_outlive_what_is_remembered_and_the_process_that_made_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SimpleGame, "remembered", 5)
    game = SimpleKuhn()
    tree = cfr.grow(game)
    again, states = pickle.loads(pickle.dumps((game, tree.states)))
    for player in (0, 1):
        assert np.array_equal(again.infoset_key(states, player), game.infoset_key(tree.states, player))
    assert len(game._known) <= 5 and again.state_text(states[-1]) == "K, Q, P0 pass, P1 bet, P0 bet"


def test_a_simple_game_is_searched_and_played() -> None:
    game = SimpleKuhn()
    tree = cfr.grow(game)
    blueprint = cfr.tabular_policy(game.name, tree, cfr.solve(tree, variant="cfr", iterations=5).policy)
    infoset = game.parse_infoset("p0 holds k | 2 dealt |")
    for source in ("enumerated", "sampled"):
        config = preset("gs2+", source=source)
        result = solve_infoset(SearchContext(game), blueprint, infoset, config, np.random.default_rng(0))
        assert set(result.refined) == {"pass", "bet"}
    name = f"{Path(__file__).parents[2] / 'examples' / 'own_game.py'}:HideACoin"
    for words in (["solve", name], ["match", name, "uniform", "cfr:5", "--pairs", "10", "--processes", "1"]):
        done = gs2(*words, "--json")
        assert done.exit_code == 0 and json.loads(done.stdout), done.output


BROKEN: dict[str, tuple[str, Any]] = {
    "turn must be a seat": ("turn", lambda right, s: 7 if s[1] == "pb" else right),
    "choices must be 1 to": ("choices", lambda right, s: [] if s[1] == "pb" else right),
    "choices must be in an order, such as a list": ("choices", lambda right, s: set(right)),
    "chances must be at least 0 and sum to 1": ("chances", lambda right, s: [p * 0.9 for p in right]),
    "chances must be one for each": ("chances", lambda right, s: [0.5]),
    "words must be different": ("words", lambda right, s, c: "act"),
    "words must be one line, not blank": ("words", lambda right, s, c: " " if c == "bet" else right),
    "words must be one line": ("words", lambda right, s, c: f"{right}\nnow"),
    "payoff must be a number": ("payoff", lambda right, s: None if s[1] == "pbb" else right),
    "payoff must be a number, seat 0's, or 2, of at most 1e": ("payoff", lambda right, s: right * 1e151),
    "payoff must answer at every history; it raised KeyError": ("payoff", lambda right, s: {}[s]),
    "sees must be words": ("sees", lambda right, s, p: 3),
    "sees must differ where the choices": (
        "choices",
        lambda right, s: right[::-1] if s == ("KJ", "") else right,
    ),
    "sees must differ by more than case": (
        "sees",
        lambda right, s, p: right.replace("K", "q") if "Q" not in s[0] else right,
    ),
}


@pytest.mark.parametrize("says", BROKEN)
def test_a_wrong_answer_is_refused_with_its_method_rule_and_history(says: str) -> None:
    with pytest.raises(GameError, match=says) as refused:
        check_game(broken(*BROKEN[says], SimpleKuhn), np.random.default_rng(0))
    assert "after " in str(refused.value)


def test_a_payoff_of_nothing_has_no_sign() -> None:
    drawn = cfr.grow(broken("payoff", lambda right, s: 0.0, SimpleKuhn))
    assert not drawn.returns.any() and not np.signbit(drawn.returns).any()


def test_a_state_that_after_changes_and_a_choice_of_luck_are_found() -> None:
    class Spoils(Listed):
        def after(self, state: Any, choice: Any) -> Any:
            state[0] = self.children[state[0]][choice]
            return state

    class Lucky(Listed):
        def after(self, state: Any, choice: Any) -> Any:
            below = self.children[state[0]]
            return [below[int(rng.integers(len(below)))]]

    rng = np.random.default_rng(0)
    with pytest.raises(GameError, match="after must leave the state"):
        check_game(Spoils(RandomGame(3, public=True)), np.random.default_rng(0))
    with pytest.raises(GameError, match="after must return the same whenever it is asked"):
        check_game(Lucky(RandomGame(3, public=True)), np.random.default_rng(0))


def test_a_game_that_lacks_a_method_or_is_too_long_says_so() -> None:
    class Unfinished(SimpleGame):
        payoff_range = (0.0, 0.0)

        def start(self) -> Any:
            return 0

    class Short(SimpleKuhn):
        max_length = 3

    with pytest.raises(GameError, match="after, payoff and sees; it lacks turn"):
        check_game(Unfinished(), np.random.default_rng(0))
    with pytest.raises(GameError, match="Short: a game must end within max_length = 3 choices"):
        check_game(Short(), np.random.default_rng(0))


def test_two_histories_that_conflict_are_named() -> None:
    """Two infosets of a generated game are made one; what check_game names are two histories of both."""
    named, games = 0, amount(40, 16)
    for seed in range(games):
        game = RandomGame(seed, public=bool(seed % 2))
        seat = seed // 2 % 2
        rng = np.random.default_rng(seed)
        acting = [at for at, node in enumerate(game.nodes) if node.who == seat]
        numbers = np.unique(game._known[seat][acting])
        if len(numbers) < 2:
            continue
        one, other = rng.choice(numbers, 2, replace=False)
        words = {
            number: {game.state_text(at) for at in np.flatnonzero(game._known[seat] == number)}
            for number in (one, other)
        }
        game._known[seat][game._known[seat] == other] = one
        try:
            check_game(game, np.random.default_rng(0))
        except GameError as error:
            if found := re.search(r'got one key for both "(.*)" and "(.*)"; see', str(error)):
                named += 1
                first, second = found.groups()
                assert first != second and {first, second} <= words[one] | words[other]
                if "where it did" not in str(error):
                    assert (first in words[one]) != (second in words[one])
    assert named > games * 3 / 8


def test_deals_are_past_chance_and_as_likely_as_their_steps() -> None:
    game = SimpleKuhn()
    deals = game.sample_deals(3000, np.random.default_rng(0))
    assert np.all(game.player(deals) == 0)
    texts, counts = np.unique([game.state_text(deal) for deal in deals], return_counts=True)
    assert len(texts) == 6 and np.all(np.abs(counts - 500) < 5 * np.sqrt(500))


def test_an_action_is_one_number_wherever_its_words_are() -> None:
    game, rng = Listed(RandomGame(3, public=True)), np.random.default_rng(0)
    numbers: dict[str, set[int]] = {}
    states = game.root()
    while len(states):
        actions = game.actions(states)
        for row, number in zip(actions.rows, actions.values.tolist(), strict=True):
            numbers.setdefault(game.action_text(states[row], number), set()).add(number)
        states = game.step(states, actions.rows, actions.values)
        states = rng.permutation(states[game.player(states) != TERMINAL])[:200]
    assert len(numbers) > 1 and all(len(known) == 1 for known in numbers.values())
    assert len(set.union(*numbers.values())) == len(numbers)


def test_what_a_network_is_shown_are_as_many_numbers_everywhere() -> None:
    class Shown(SimpleKuhn):
        def shows(self, state: Any, player: int) -> list[float]:
            return [float(state[0][player : player + 1] == card) for card in "JQK"]

    class Uneven(SimpleKuhn):
        def shows(self, state: Any, player: int) -> list[float]:
            return [0.0] * (1 + len(state[1]))

    deals = Shown().sample_deals(4, np.random.default_rng(0))
    assert Shown().features(deals, 0).sum(1).tolist() == [1.0] * 4  # type: ignore[attr-defined]
    assert not hasattr(SimpleKuhn(), "features")
    game = Uneven()
    first = game.sample_deals(1, np.random.default_rng(0))
    actions = game.actions(first)
    both = np.concatenate([first, game.step(first, actions.rows, actions.values)])
    with pytest.raises(GameError, match=r"shows must be a list of numbers, as long at every history"):
        game.features(both, 0)  # type: ignore[attr-defined]


class Long(SimpleGame):
    """A coin, one guess at it, and nothing more to choose up to the end."""

    payoff_range = (-1.0, 1.0)
    asked = 0

    def start(self) -> tuple[str, ...]:
        return ()

    def turn(self, state: tuple[str, ...]) -> int:
        type(self).asked += 1
        return TERMINAL if len(state) == self.max_length else len(state) % 2 if state else CHANCE

    def choices(self, state: tuple[str, ...]) -> Sequence[str]:
        return ("heads", "tails") if len(state) < 2 else ("on",)

    def after(self, state: tuple[str, ...], choice: str) -> tuple[str, ...]:
        return (*state, choice)

    def payoff(self, state: tuple[str, ...]) -> float:
        return 1.0 if state[0] == state[1] else -1.0

    def sees(self, state: tuple[str, ...], player: int) -> str:
        return f"{len(state)} {' '.join(state[1:2])}"


@pytest.mark.parametrize("length", [0, -3, 2.5, 65_536])
def test_a_length_that_no_row_counts_is_refused(length: float) -> None:
    with pytest.raises(GameError, match="Long: max_length must be a whole number from 1 to 65,535; got"):
        type("Long", (Long,), {"max_length": length})().root()


def test_a_check_takes_as_long_as_histories_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("games.check.TEXTS_PER_LEVEL", 4)
    asked = []
    for length in (40, 80):
        game = type("Long", (Long,), {"max_length": length})()
        assert check_game(game, np.random.default_rng(0)).terminals == 4
        asked.append(type(game).asked)
    assert asked[1] < 2.5 * asked[0]


class Seldom(SimpleGame):
    """Seat 0 seldom lets seat 1 move, and chance may move between, which seat 1 does not notice."""

    payoff_range = (-1.0, 1.0)

    def start(self) -> Any:
        return ()

    def turn(self, state: Any) -> int:
        if state[1:] and state[1] != "on":
            return TERMINAL
        return (CHANCE, 0, *([CHANCE] if "late" in state else []), 1, TERMINAL)[len(state)]

    def choices(self, state: Any) -> Any:
        return [*range(40), "on"] if len(state) == 1 else ("late", "soon") if not state else ("left", "right")

    def after(self, state: Any, choice: Any) -> Any:
        return (*state, choice)

    def payoff(self, state: Any) -> float:
        return 1.0 if state[-1] == "left" else -1.0

    def sees(self, state: Any, player: int) -> str:
        ended = self.turn(state) == TERMINAL
        return " ".join(map(str, state[:2] if player == 0 else [*state[1:2], *state[-1:] * ended]))


def test_what_a_player_remembers_is_checked_where_play_seldom_leads() -> None:
    game = Seldom()
    with pytest.raises(GameError, match="of player 1 must remember at every history"):
        check_game(game, np.random.default_rng(0))
    game.remembers = False  # type: ignore[attr-defined]
    assert check_game(game, np.random.default_rng(0)).complete
    drawn = sample_infoset(game, game.parse_infoset("P1 on"), 100, np.random.default_rng(0))
    assert drawn.complete and len(drawn) == 3


def test_a_game_that_is_over_where_it_begins_is_no_game() -> None:
    over = {"turn": lambda self, state: TERMINAL, "payoff": lambda self, state: 0.0}
    game = type("Over", (Long,), {"payoff_range": (0.0, 0.0), **over})()
    for ask in (check_game, ActionColumns.sampled):
        with pytest.raises(GameError, match=r"must not be (over|TERMINAL)"):
            ask(game, np.random.default_rng(0))
