"""A game seen from two of its seats: a game itself, worth the same, and drawn with nature's part."""

from __future__ import annotations

import numpy as np
import pytest

from cfr.tree import FlatTree, grow
from cfr.values import reach, root_values
from games import TERMINAL, Game, GameError, load_game
from games.infosets.sampling import follow_trails
from games.infosets.trail import Trail
from games.infosets.two_seats import TwoSeatView, other_side
from gs2.policies.tabulate import policy_of
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.histories.seats import SeatBlueprint, seat_view
from tests.games.random_games import RandomGame, RandomPlay, SelfDrawnGame, check_quickly
from tests.games.trees import levels
from tests.patience import amount

SAME = 1e-9
TEAMS = [(0, 1, 1), (0, 1, 0), (0, 1, 2), (0, 1, 0, 1), (0, 1, 2, 3)]


def rng(*seed: int) -> np.random.Generator:
    """Return a generator of a seed."""
    return np.random.default_rng(seed)


def views(game: Game, play: RandomPlay) -> list[SeatBlueprint]:
    """Return the game from every searching seat, against every opponent and against nobody."""
    found = []
    for seat in range(game.num_players):
        views = [TwoSeatView(game, play.policy, (seat, rival)) for rival in other_side(game, seat)]
        found += [SeatBlueprint(view, play) for view in views]
        found.append(seat_view(game, play, seat, preset("rollout", slip=0.0, opponent="none")))
    return found


def at_random(game: Game, tree: FlatTree, count: int, seed: int) -> list[Trail]:
    """Return the ways of a tree's players to some of their infosets."""
    context = SearchContext(game, tree)
    numbers = rng(seed).permutation(tree.n_infosets)[:count].tolist()
    return [context.trail_to(number) for number in numbers]


@pytest.mark.parametrize(
    "teams", [TEAMS[2], *(pytest.param(t, marks=pytest.mark.long) for t in TEAMS if t != TEAMS[2])]
)
def test_the_random_games_keep_the_contract(teams: tuple[int, ...]) -> None:
    assert check_quickly(RandomGame(len(teams), teams=teams), rng(0)).complete


@pytest.mark.parametrize("teams", TEAMS[1:3])
@pytest.mark.long
def test_a_view_from_two_seats_keeps_the_contract_of_a_game(teams: tuple[int, ...]) -> None:
    game = RandomGame(7, teams=teams)
    for at, seen in enumerate(views(game, RandomPlay(1, zeros=0.3))[::3]):
        # The range of payoffs is the game's, which one seat, or nature, may not exhaust.
        paid = [seen.view.returns(level.states[level.player == TERMINAL]) for level in levels(seen.view)]
        ends = np.concatenate(paid)
        seen.view.payoff_range = float(ends.min()), float(ends.max())
        check_quickly(seen.view, rng(at), max_width=1_000)


@pytest.mark.parametrize("name", ["doudizhu(ranks=1)", "big2(players=3,ranks=3,suits=2)"])
def test_views_of_climbing_games_keep_the_contract(name: str) -> None:
    game = load_game(name)
    for seat in (0, 1):
        seen = seat_view(game, RandomPlay(seat), seat, preset("rollout", slip=0.0))
        assert not check_quickly(seen.view, rng(1), max_width=15).complete


@pytest.mark.parametrize("teams", TEAMS)
@pytest.mark.some(3)
def test_a_profile_is_worth_in_the_view_what_it_is_worth_in_the_game(teams: tuple[int, ...]) -> None:
    for seed in range(amount(2, 1)):
        game, play = RandomGame(seed, teams=teams), RandomPlay(seed, zeros=0.4)
        tree = grow(game)
        worth = root_values(tree, policy_of(play, game, tree))
        for seen in views(game, play):
            small = grow(seen.view)
            found = root_values(small, policy_of(seen, seen.view, small))
            assert found[0] == pytest.approx(worth[seen.view.seats[0]], abs=SAME)
            assert found[1] == pytest.approx(-found[0], abs=SAME)


@pytest.mark.parametrize("kind", [RandomGame, SelfDrawnGame])
@pytest.mark.some(1)
def test_drawn_histories_weigh_as_much_as_nature_and_chance_let_them(kind: type[RandomGame]) -> None:
    for seed in range(2):
        game, play = kind(seed, teams=(0, 1, 1)), RandomPlay(seed, zeros=0.3)
        for seen in views(game, play)[seed : seed + 2]:
            tree = grow(seen.view)
            known = reach(tree, policy_of(seen, seen.view, tree))
            for trail in at_random(seen.view, tree, 2, seed):
                nodes = np.flatnonzero(
                    (tree.player == trail.player)
                    & np.all(seen.view.infoset_key(tree.states, trail.player) == trail.keys[-1], axis=1)
                )
                sums: dict[bytes, list[float]] = {}
                runs = 1 if kind is RandomGame else 40
                for run in range(runs):
                    sample = follow_trails(seen.view, [trail], 100, rng(seed, run))[0]
                    weights = sample.stands * sample.chance
                    for state, weight in zip(sample.states, weights / weights.sum(), strict=True):
                        sums.setdefault(state.tobytes(), []).append(float(weight))
                share = known.chance[nodes] / known.chance[nodes].sum()
                wanted = {
                    tree.states[node].tobytes(): float(part) for node, part in zip(nodes, share, strict=True)
                }
                assert sums.keys() <= wanted.keys()
                for name, part in wanted.items():
                    mean = sum(sums.get(name, [])) / runs
                    assert mean == pytest.approx(part, abs=SAME if kind is RandomGame else 0.12)


def test_where_nature_rules_out_everything_histories_count_by_chance_alone() -> None:
    game = RandomGame(1, teams=(0, 1, 1))
    never = TwoSeatView(
        game,
        RandomPlay(0).policy,
        (0, 1),
        past=lambda game, states, seat, actions: np.zeros(len(actions.values)),
    )
    tree = grow(never)
    for trail in at_random(never, tree, 6, 0):
        sample = follow_trails(never, [trail], 1000, rng(0))[0]
        assert len(sample) > 0
        assert np.all(sample.chance > 0)


def test_who_plays_against_a_seat_begins_with_the_next_of_another_team() -> None:
    game = RandomGame(0, teams=(0, 1, 0, 1))
    assert other_side(game, 0) == (1, 3)
    assert other_side(game, 3) == (0, 2)
    assert other_side(load_game("doudizhu(landlord=bid)"), 1) == (2, 0)


def test_two_seats_of_one_team_and_infosets_of_nature_are_refused() -> None:
    game = RandomGame(0, teams=(0, 1, 1))
    with pytest.raises(GameError, match="different teams"):
        TwoSeatView(game, RandomPlay(0).policy, (1, 2))
    view = TwoSeatView(game, RandomPlay(0).policy, (0, 1))
    tree = grow(game)
    node = int(np.flatnonzero(tree.player == 2)[0])
    with pytest.raises(GameError, match="seat that decides"):
        view.parse_infoset(game.infoset_text(tree.states[node], 2))
