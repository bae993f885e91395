"""Histories of an infoset are drawn without listing it, as likely as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cfr.values import Reach, reach
from games import CHANCE, Game, GameError, Infoset, Ragged, check_game, load_game
from games.infosets import infoset_at
from games.infosets.following import thinned
from games.infosets.histories import HistorySample, follow_lines
from games.infosets.sampling import follow_trails, sample_infoset
from games.infosets.trail import Trail, find_trail, trails_along
from games.research.leduc_poker import LeducPoker
from gs2.policies.tabulate import policy_of
from gs2.search.context import SearchContext
from tests.games.random_games import Node, NodeGame, RandomGame, RandomPlay
from tests.games.trees import line_to, watched
from tests.patience import amount

EXACT = 1e-12
RARE = 1e-6


def rng(*seed: int) -> np.random.Generator:
    """Return a generator of a seed."""
    return np.random.default_rng(seed)


GAMES: dict[str, Game] = {
    name: load_game(name)
    for name in ("kuhn_poker", "leduc_poker", "liars_dice(dice=2,sides=2)", "goofspiel(cards=4,turns=3)")
} | {game.name: game for seed in range(4) for game in (RandomGame(seed, public=bool(seed % 2)),)}
PLAY = RandomPlay(3, zeros=0.15)


@cache
def grown(name: str) -> tuple[SearchContext, Reach, NDArray[np.int64]]:
    """Return a game's tree, what random play reaches of it, and its decisions."""
    context = SearchContext(GAMES[name])
    tree = context.tree
    known = reach(tree, policy_of(PLAY, GAMES[name], tree))
    return context, known, np.flatnonzero(tree.player >= 0)


def test_an_infoset_that_chance_all_but_never_deals_is_drawn_as_likely_as_its_histories_are() -> None:
    """Seat 0 sees 8 dice of 10^40 sides show 1, and acts after a deal that it does not see."""
    nodes, seen = [Node(-1, 0, ((), ()), CHANCE, 2)], ()
    for _ in range(8):
        at, seen = len(nodes) - 1, (*seen, 1)
        nodes += [
            Node(at, 0, ((*seen, "over"), ()), prob=1 - 1e-40),
            Node(at, 1, (seen, ()), CHANCE, 2, 1e-40),
        ]
    last = len(nodes) - 1
    nodes[last].count, asked = 3, (*seen, "asked")
    nodes += [
        Node(last, 0, (asked, ("waits",)), 0, 2, 0.75),
        Node(last, 1, (asked, ("waits",)), 0, 2, 0.25 - 1e-10),
        Node(last, 2, (seen, ("acts",)), 1, 1, 1e-10),
    ]
    for up in (last + 1, last + 2):
        nodes += [Node(up, k, ((*asked, k), ("waits",)), payoff=k) for k in range(2)]
    nodes.append(Node(last + 3, 0, ((*seen, "over"), ("acts", 0))))
    game = NodeGame("dice", nodes)
    check_game(game, rng(0))
    sample = sample_infoset(game, infoset_at(game, np.array([last + 1]), 0), 10, rng(0))
    assert sample.complete and not sample.scaled and sample.states.tolist() == [last + 1, last + 2]
    np.testing.assert_allclose(sample.weights(), np.array([0.75, 0.25 - 1e-10]) / (1 - 1e-10), rtol=EXACT)


@pytest.mark.parametrize(
    "name",
    ["kuhn_poker", "leduc_poker", "liars_dice(dice=2,sides=2)", "goofspiel(cards=3)", "doudizhu(ranks=1)"],
)
def test_a_seat_that_waits_while_chance_deals_is_given_histories_as_often_as_chance_deals_them(
    name: str,
) -> None:
    game: Any = load_game(name)
    states, chance, draws = game.root(), np.ones(1), 1000
    while (game.player(states) == CHANCE).all():
        for player in range(game.num_players):
            keys = game.infoset_key(states, player)
            for key in np.unique(keys, axis=0):
                alike = (keys == key).all(axis=1)
                infoset = infoset_at(game, states[alike][:1], player)
                drawn, _, _ = follow_lines(game, game.sample_histories(infoset, draws, rng(0)))
                often = Counter(state.tobytes() for state in drawn)
                found = [often.pop(state.tobytes(), 0) / draws for state in states[alike]]
                np.testing.assert_allclose(found, chance[alike] / chance[alike].sum(), atol=0.08)
                assert not often
        actions = game.actions(states)
        chance = chance[actions.rows] * game.chance_probs(states, actions)
        states = game.step(states, actions.rows, actions.values)


@pytest.mark.parametrize("name", GAMES)
def test_following_what_a_player_saw_finds_the_whole_infoset_with_its_reach(name: str) -> None:
    game, (context, known, decisions) = GAMES[name], grown(name)
    tree = context.tree
    for node in rng(1).choice(decisions, min(amount(6, 3), len(decisions)), replace=False).tolist():
        for seat in (0, 1):
            trail = trails_along(game, line_to(context.tree, node), seat)[0]
            found = follow_trails(game, [trail], 10_000, rng(2), policy=PLAY.policy)[0]
            keys = game.infoset_key(tree.states[decisions], seat)
            same = np.all(keys == trail.keys[-1], axis=1) & (tree.player[decisions] == tree.player[node])
            members = {tree.states[n].tobytes(): n for n in decisions[same].tolist()}
            assert {state.tobytes() for state in found.states} == members.keys()
            assert found.complete and np.all(found.stands == 1)
            at = np.array([members[state.tobytes()] for state in found.states])
            np.testing.assert_allclose(found.chance, known.chance[at], atol=EXACT)
            np.testing.assert_allclose(found.players, known.players[at], atol=EXACT)


def test_without_exploration_what_the_policy_never_plays_is_missing_and_said_to_be() -> None:
    parts = wholes = nothing = 0
    for name, game in GAMES.items():
        context, known, decisions = grown(name)
        tree = context.tree
        for node in rng(1).choice(decisions, min(amount(12, 8), len(decisions)), replace=False).tolist():
            seat = int(tree.player[node])
            trail = trails_along(game, line_to(context.tree, node), seat)[0]
            members = np.flatnonzero(tree.infoset == tree.infoset[node])
            played = members[known.without(seat)[members] > 0]
            try:
                found = follow_trails(game, [trail], 10_000, rng(2), policy=PLAY.policy, explore=0.0)[0]
            except GameError as error:
                assert "explore = 0" in str(error) and len(played) == 0, name
                nothing += 1
                continue
            names = {state.tobytes() for state in found.states}
            assert {tree.states[n].tobytes() for n in played} <= names
            assert names <= {tree.states[n].tobytes() for n in members}
            assert not found.complete or len(found) == len(members)
            parts += len(found) < len(members)
            wholes += found.complete
    assert parts and wholes and nothing


@pytest.mark.parametrize("seed", range(2))
def test_thinning_keeps_sums_and_no_more_than_asked(seed: int) -> None:
    weights = rng(seed).exponential(size=30) ** 3
    weights[rng(seed, 1).random(30) < 0.2] = 0.0
    totals = []
    for draw in range(400):
        kept, each = thinned(weights, 7, rng(seed, draw))
        assert len(kept) <= 7 and len(np.unique(kept)) == len(kept) and np.all(each >= 1)
        totals.append(float(np.sum(each * weights[kept])))
    # Drawn in proportion to the weights, the sum of weights is not only right on average.
    np.testing.assert_allclose(totals, weights.sum(), rtol=0.35)
    assert abs(np.mean(totals) - weights.sum()) < 0.01 * weights.sum()
    everything, ones = thinned(weights, 30, rng(seed))
    np.testing.assert_array_equal(everything, np.flatnonzero(weights))
    assert np.all(ones == 1)


def test_samples_weigh_each_history_as_its_reach_does() -> None:
    game, play = load_game("leduc_poker"), RandomPlay(5, zeros=0.1)
    trail = find_trail(game, game.parse_infoset("P0 holds Qh | check raise call | board Jh"), rng(0))
    runs = amount(300, 150)

    def weights(n: int, seed: int) -> Counter[bytes]:
        found = follow_trails(game, [trail], n, rng(seed), policy=play.policy)[0]
        assert len(found) <= n and found.complete == (n > 3)
        parts = (found.stands * found.chance * found.players.prod(axis=1)).tolist()
        return Counter(dict(zip((state.tobytes() for state in found.states), parts, strict=True)))

    whole, mean = weights(100, 0), Counter[bytes]()
    for run in range(runs):
        mean.update(weights(3, run))
    assert mean.keys() <= whole.keys()
    for name, part in whole.items():
        assert mean[name] / runs == pytest.approx(part, abs=0.05 * sum(whole.values()))


LARGE = ("liars_dice(dice=5,sides=6)", "goofspiel(cards=13,turns=13)", "leduc_poker(ranks=13,suits=4)")


def after(game: Game, moves: int, seed: int) -> tuple[Trail, Any]:
    """Return what the player to act saw after some moves of random play, and the state."""
    made = count()
    # low actions keep Liar's Dice and poker going
    return watched(game, rng(seed), lambda state, who: next(made) == moves, first=3)


@pytest.mark.parametrize("name", LARGE)
def test_infosets_of_games_too_large_to_list_are_sampled(name: str) -> None:
    game = load_game(name)
    trail, state = after(game, 3, 6)
    found = sample_infoset(game, trail, 50, rng(1))
    assert 1 <= len(found) <= 50
    assert np.all(game.infoset_key(found.states, trail.player) == trail.keys[-1])
    assert len(np.unique(found.states)) == len(found)
    assert found.weights().sum() == pytest.approx(1) and 1 <= found.effective() <= len(found) + 1e-9
    by_name = sample_infoset(game, infoset_at(game, state, trail.player), 50, rng(1))
    assert len(by_name) == len(found)
    assert np.all(game.infoset_key(by_name.states, trail.player) == trail.keys[-1])


def test_what_a_player_notes_is_the_trail_of_its_history() -> None:
    game = load_game("goofspiel(cards=6,turns=4)")
    for moves in range(5):
        trail, state = after(game, moves, 7)
        found = find_trail(game, infoset_at(game, state, trail.player), rng(0))
        np.testing.assert_array_equal(found.keys, trail.keys)
        np.testing.assert_array_equal(found.acted, trail.acted)
        np.testing.assert_array_equal(found.action[found.acted], trail.action[trail.acted])
        assert (found.player, found.acting) == (trail.player, trail.acting)


class Unaided:
    """A game as it is, without a sampler of its own."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def __getattr__(self, name: str) -> Any:
        if name == "sample_histories":
            raise AttributeError(name)
        return getattr(self._game, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("leduc_poker(ranks=13,suits=4)", "P1 holds Ks | raise call | board 4h | check"),
        ("liars_dice(dice=2,sides=6)", "P0 holds 3 5 | 1x3 2x2"),
        ("goofspiel(cards=13,turns=5)", "P0 | prize 4: bid 6 won | prize 11: bid 12 lost | prize 2"),
    ],
)
def test_one_history_of_an_infoset_is_searched_by_its_words(name: str, text: str) -> None:
    game: Any = Unaided(load_game(name))
    infoset = game.parse_infoset(text)
    trail = find_trail(game, infoset, rng(3))
    assert tuple(int(word) for word in trail.keys[-1]) == infoset.key
    assert trail.acting == trail.player == infoset.player


def test_infosets_trails_and_lines_that_lead_nowhere_are_refused_with_what_to_do() -> None:
    nowhere = Infoset(0, (12345678,), "P0 holds an ace up its sleeve")
    with pytest.raises(GameError, match="give the game sample_histories"):
        find_trail(Unaided(load_game("leduc_poker")), nowhere, rng(0))  # type: ignore[arg-type]
    game = load_game("kuhn_poker")
    trail = find_trail(game, game.parse_infoset("P1 holds K | bet"), rng(0))
    wrong = Trail(1, 1, trail.keys + np.uint64(7), trail.acted, trail.action)
    with pytest.raises(GameError, match="; 16,384 particles all died"):
        follow_trails(Unaided(game), [wrong], 5, rng(0))  # type: ignore[list-item, arg-type]
    with pytest.raises(GameError, match="every action of a history must be legal"):
        follow_lines(game, Ragged.from_counts(np.array([2]), np.array([1, 1])))


def skewed(lines: Ragged) -> Ragged:
    """Return lines of which half are the first."""
    return lines.take(np.where(np.arange(len(lines)) % 2, np.arange(len(lines)), 0))


def elsewhere(lines: Ragged) -> Ragged:
    """Return lines in which the two cards have changed hands."""
    values, first = lines.values.copy(), lines.offsets[:-1]
    values[first], values[first + 1] = lines.values[first + 1], lines.values[first]
    return Ragged(lines.offsets, values)


@pytest.mark.parametrize(("change", "words"), [(skewed, "must draw each history"), (elsewhere, "")])
def test_check_game_refuses_samplers_that_are_wrong(change: Callable[[Ragged], Ragged], words: str) -> None:
    class Wrong(LeducPoker):
        def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
            return change(super().sample_histories(infoset, n, rng))

    with pytest.raises(GameError, match=f"sample_histories {words}"):
        check_game(Wrong(), rng(0))


@pytest.mark.long
def test_check_game_refuses_a_private_order_of_turns_that_is_not_said() -> None:
    game = RandomGame(2, public=False)
    check_game(game, rng(0))
    game.remembers = True
    with pytest.raises(GameError, match="or the game say `remembers = False`"):
        for seed in range(20):
            check_game(game, rng(seed))


def test_weights_leave_out_the_part_of_the_player_asked_for() -> None:
    lines = Ragged.from_counts(np.zeros(2, np.int64), np.zeros(0, np.int64))
    parts = np.array([[0.5, 0.25], [1.0, 0.75]])
    sample = HistorySample(lines, np.arange(2), np.array([0.5, 0.5]), parts, np.array([1.0, 1.0]), True)
    np.testing.assert_allclose(sample.weights(0), [0.25, 0.75])
    np.testing.assert_allclose(sample.weights(1), [1 / 3, 2 / 3])
    np.testing.assert_allclose(sample.weights(), [1 / 7, 6 / 7])
