"""Every registered game, with several parameters, keeps the contract; and broken games are caught."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from games import (
    CHANCE,
    TERMINAL,
    Game,
    GameError,
    Ragged,
    TwoPlayerGame,
    check_game,
    game_specs,
    load_game,
)
from games.check import WIDTH_OF_LONG, chi_square_bound
from games.research.kuhn_poker import BETTING, LINES, KuhnPoker
from games.support.array_types import Array
from tests.games.random_games import RandomGame, broken, check_quickly
from tests.patience import amount

SMALL = (
    "kuhn_poker",
    "leduc_poker(suit_isomorphism=true)",
    "leduc_poker(ranks=2,raise_sizes=1/1,raise_caps=1/3)",
    "liars_dice(sides=3,bidding=reset-quantity)",
    "liars_dice(dice=2,sides=2,wild=false,bidding=reset-quantity)",
    "goofspiel(cards=2,turns=2)",
    "goofspiel(cards=4,turns=4,points_order=ascending,returns=total_points)",
    "dark_hex(size=2)",
    "big2(players=2,ranks=3,suits=2,cards=2,opening=holder,must_play=true)",
    "big2(ranks=2,suits=3)",
    "doudizhu(ranks=1)",
)
MORE = (
    "kuhn_poker(cards=2)",
    "kuhn_poker(cards=13)",
    "leduc_poker(suits=1,raise_caps=0/0)",
    "liars_dice(sides=3,wild=false)",
    "goofspiel(cards=2,turns=1)",
    "dark_hex(size=2,abrupt=true)",
    "big2(players=2,ranks=3,suits=2,cards=2,opening=first,must_play=true)",
    "big2(players=3,ranks=6,suits=1,stays_out=true,settling=pairs,triple_from=2)",
    "big2(ranks=4,suits=1)",
    "doudizhu(ranks=1,spring=true)",
)
"""Small games beside others of their kind: here with --long alone."""
LARGE = (
    "leduc_poker(ranks=13,suits=4,suit_isomorphism=true)",
    "liars_dice(sides=31)",
    "liars_dice(dice=5)",
    "goofspiel(cards=8,turns=4,points_order=descending)",
    "goofspiel(cards=12,points_order=ascending,returns=win_loss)",
    "phantom_ttt",
    "dark_hex(abrupt=true)",
    "big2(players=3,ranks=8,suits=3,cards=7,settling=pairs)",
    "doudizhu(ranks=4)",
    "doudizhu(landlord=bid,ranks=4)",
    "guandan(moves=full)",
)
LARGER = (
    "leduc_poker(ranks=13,suits=4,raise_sizes=1/3,raise_caps=4/2)",
    "goofspiel(cards=13,turns=13)",
    "big2(players=3,ranks=7,cards=5,straights=plain,flushes=suit,bombs=both,double_from=4)",
    "big2",
    "doudizhu",
    "doudizhu(landlord=bid,ranks=1,spring=true,returns=win_loss)",
)
"""Large games beside others of their kind: the same."""
NARROW = {"guandan(moves=full)": 1}
"""Histories of a level that are looked at in games whose words are long and whose rounds have 200 levels."""


def check_names(game: Game, given: str) -> None:
    """Check that the name says what is not at its default and is read back, and that the game can be sent."""
    assert game.name == given
    again, sent = load_game(game.name, general_sum=True), pickle.loads(pickle.dumps(game))
    assert again.name == game.name and again.payoff_range == game.payoff_range
    assert sent.actions(sent.root()).values.tolist() == game.actions(game.root()).values.tolist()


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.long) for name in MORE)])
def test_small_games_keep_the_contract_at_every_history(name: str) -> None:
    game = load_game(name, general_sum=True)
    report = check_quickly(game, np.random.default_rng(0), max_width=20_000)
    assert report.complete
    assert min(report.infosets) > 0
    check_names(game, name)


@pytest.mark.parametrize("name", [*LARGE, *(pytest.param(name, marks=pytest.mark.long) for name in LARGER)])
def test_large_games_keep_the_contract_at_random_histories(name: str) -> None:
    game = load_game(name, general_sum=True)
    report = check_quickly(game, np.random.default_rng(1), max_width=NARROW.get(name, amount(120, 4)))
    assert not report.complete
    assert report.terminals > 0
    check_names(game, name)


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
@pytest.mark.some(10)
def test_histories_of_different_depths_share_a_batch(name: str) -> None:
    game = load_game(name, general_sum=True)
    rng = np.random.default_rng(2)
    met = [game.root()]
    while True:
        now = met[-1]
        now = now[game.player(now) != TERMINAL]
        if len(now) == 0:
            break
        actions = game.actions(now)
        width = min(NARROW.get(name, amount(20, 6)), len(actions.values))
        pick = rng.choice(len(actions.values), width, replace=False)
        met.append(game.step(now, actions.rows[pick], actions.values[pick]))
    mixed = rng.permutation(np.concatenate(met))
    mixed = mixed[game.player(mixed) != TERMINAL]
    actions = game.actions(mixed)
    together = game.step(mixed, actions.rows, actions.values)
    at = 0
    for row in range(len(mixed)):
        alone = game.actions(mixed[row : row + 1])
        assert np.array_equal(alone.values, actions[row])
        after = game.step(mixed[row : row + 1], alone.rows, alone.values)
        assert after.tobytes() == together[at : at + len(after)].tobytes()
        at += len(after)


def test_every_registered_game_is_among_them() -> None:
    names = {name.partition("(")[0] for name in (*SMALL, *LARGE)}
    assert {spec.name for spec in game_specs()} <= names


@pytest.mark.parametrize(
    "name",
    [
        "doudizhu(ranks=1)",
        "doudizhu(landlord=bid,ranks=1)",
        "big2(players=2,ranks=3,suits=2,cards=2)",
        "big2(players=3,ranks=4,suits=1)",
    ],
)
def test_deals_at_once_come_as_often_as_chance_deals_them(name: str) -> None:
    game: Any = load_game(name, general_sum=True)
    states, chance, drawn = game.root(), np.ones(1), 20_000
    while np.any(game.player(states) == CHANCE):
        actions = game.actions(states)
        chance = chance[actions.rows] * game.chance_probs(states, actions)
        states = game.step(states, actions.rows, actions.values)
    expected = {state.tobytes(): drawn * share for state, share in zip(states, chance.tolist(), strict=True)}
    assert len(expected) == len(states), "no two lines make the same deal"
    seen = Counter(state.tobytes() for state in game.sample_deals(drawn, np.random.default_rng(0)))
    assert seen.keys() <= expected.keys()
    cells = [(seen[deal] - often) ** 2 / often for deal, often in expected.items()]
    assert sum(cells) <= chi_square_bound(len(cells) - 1)


def forget_passing(key: np.ndarray, states: np.ndarray, player: int) -> np.ndarray:
    """Return keys by which player 0, facing a bet, does not know that it has passed before."""
    facing = states["node"] == BETTING + LINES.index("pb")
    return key - np.uint64(LINES.index("pb") << 4) * facing[:, None].astype(np.uint64)


def hint(text: str, state: np.ndarray, player: int) -> str:
    """Return texts that let player 1, while it waits, see the other card, though the keys do not."""
    return f"{text} or {state['card0']}" if player == 1 and state["node"] == BETTING else text


def one_more_at_the_end(actions: Ragged, states: np.ndarray) -> Ragged:
    over = KuhnPoker().player(states) == TERMINAL
    if not over.any():
        return actions
    last = int(np.flatnonzero(over)[-1])
    counts = actions.counts + (np.arange(len(actions)) == last)
    return Ragged.from_counts(counts, np.insert(actions.values, actions.offsets[last + 1], 0))


def reveal(key: np.ndarray, states: np.ndarray, player: int) -> np.ndarray:
    """Return keys that let players see the other card, though the texts do not."""
    return key << np.uint64(4) | states[f"card{1 - player}"][:, None]


def change_given_states(
    after: np.ndarray, states: np.ndarray, rows: np.ndarray, taken: np.ndarray
) -> np.ndarray:
    states["node"] = 0
    return after


def by_position(actions: Ragged, states: np.ndarray) -> Ragged:
    """Return actions whose order depends on the batch."""
    values = actions.values.copy()
    last = slice(actions.offsets[-2], None)
    values[last] = values[last][::-1]
    return Ragged(actions.offsets, values) if len(states) > 1 else actions


BROKEN = {
    "player must be int8": ("player", lambda p, s: p.astype(np.int64)),
    "player must not be TERMINAL at the root": (
        "player",
        lambda p, s: np.where(s["node"] == 0, TERMINAL, p).astype(np.int8),
    ),
    "player must be a seat": ("player", lambda p, s: np.where(p == CHANCE, 7, p).astype(np.int8)),
    "must be empty where the game is over": ("actions", one_more_at_the_end),
    "actions must be different in each row": ("actions", lambda a, s: Ragged(a.offsets, a.values * 0)),
    "chance_probs must sum to 1": ("chance_probs", lambda p, s, a: np.where(p < 1, p * 0.9, p)),
    "chance_probs must be 1 where": ("chance_probs", lambda p, s, a: np.where(p == 1, 0.5, p)),
    "chance_probs must be positive": ("chance_probs", lambda p, s, a: np.where(p < 1, 0.0, p)),
    "step must leave the given states": ("step", change_given_states),
    "step must not depend on the order": ("step", lambda after, s, rows, a: np.sort(after)[::-1].copy()),
    "must sum to zero": ("returns", lambda r, s: r + 1),
    "payoff_range must hold every payoff": ("returns", lambda r, s: r * 2),
    "payoff_range must be the smallest": ("returns", lambda r, s: r / 2),
    "infoset_key must be uint64": ("infoset_key", lambda k, s, p: k.astype(np.int64)),
    "perfect recall": ("infoset_key", forget_passing),
    "infoset_text of player . must be unique": ("infoset_key", reveal),
    "infoset_text must be one line": ("infoset_text", lambda t, s, p: t + "\nand more"),
    "must be the same all over an infoset": ("infoset_text", hint),
    "action_text must be unique": ("action_text", lambda t, s, a: "act"),
    "parse_infoset must read": ("parse_infoset", lambda i, text: KuhnPoker().parse_infoset("P0 holds J")),
    "actions must not depend": ("actions", by_position),
}


@pytest.mark.parametrize("complaint", BROKEN)
def test_check_game_names_the_broken_rule(complaint: str) -> None:
    with pytest.raises(GameError, match=complaint):
        check_game(broken(*BROKEN[complaint], KuhnPoker), np.random.default_rng(0))


@pytest.mark.parametrize("told", [(1.0, -1.0), (Fraction(-1), Fraction(1)), (0.0,), 1.0, ("-1", "1")])
def test_check_game_wants_a_payoff_range_of_two_numbers(told: object) -> None:
    game = KuhnPoker()
    game.payoff_range = told  # type: ignore[assignment]
    with pytest.raises(GameError, match=r"payoff_range must be \(smallest, largest\) as numbers; got"):
        check_game(game, np.random.default_rng(0))
    game.payoff_range = [-2, 2]  # type: ignore[assignment]
    check_game(game, np.random.default_rng(0))


@pytest.mark.parametrize("chip", [1e151, np.inf, 1e-151])
def test_payoffs_whose_squares_are_no_numbers_are_refused(
    chip: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = KuhnPoker()
    game.payoff_range = (-chip, chip)
    with pytest.raises(GameError, match="the largest payoff must be 0, or of a size from 1e-150 to 1e"):
        check_game(game, np.random.default_rng(0))
    monkeypatch.setattr(KuhnPoker, "payoff_range", game.payoff_range)
    with pytest.raises(GameError, match="count them in another unit"):
        load_game("kuhn_poker")


def test_check_game_follows_few_histories_of_a_game_that_goes_on_and_on() -> None:
    batches: list[int] = []

    class Endless(KuhnPoker):
        def step(self, states, rows, actions):
            batches.append(len(rows))
            return states[rows]

    with pytest.raises(GameError, match="no end within 510 actions"):
        check_game(Endless(), np.random.default_rng(0), max_depth=510, max_width=30)
    # A game is stepped several times a level, to hold batches in other orders against each other.
    steps = len(batches) // 510
    assert max(batches) == 30 and max(batches[-10 * steps :]) == WIDTH_OF_LONG


def test_check_game_names_missing_functions() -> None:
    class Unfinished(TwoPlayerGame):
        name = "unfinished"
        payoff_range = (0.0, 0.0)

        def root(self):
            return np.zeros(1, np.int64)

    for game, lacks in ((object(), "name, num_players"), (Unfinished(), "player, actions, chance_probs")):
        with pytest.raises(GameError, match=f"it lacks {lacks}"):
            check_game(game, np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("chip", [1e-13, 1e15 / 7])
def test_payoffs_sum_to_zero_as_far_as_their_size_allows(chip: float) -> None:
    class Scaled(RandomGame):
        extra = 0.0

        def returns(self, states: Array) -> Array:
            return (super().returns(states) + np.array([self.extra, 0.0])) * chip

    game = Scaled(3, public=True)
    low, high = game.payoff_range
    game.payoff_range = (low * chip, high * chip)
    for extra, right in ((1e-13, True), (1e-4, False)):
        game.extra = extra
        if right:
            check_game(game, np.random.default_rng(0))
        else:
            with pytest.raises(GameError, match="must sum to zero"):
                check_game(game, np.random.default_rng(0))
