"""The environment over any game: PettingZoo's own tests, the game's payoffs, and that nothing leaks."""

from __future__ import annotations

import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test

from blueprint.climbing.big2_inputs import Big2Inputs
from games import load_game
from games.climbing.big2.big2 import Big2
from games.climbing.big2.card_masks import RANK_NAMES
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.move_table import NUM_MOVES, move_letters
from games.game import CHANCE, TERMINAL, Game, GameError
from games.guandan.cards import CARD_NAMES, DECK, parse_cards, unpack
from games.guandan.rounds.belief import determinise
from games.guandan.rounds.playout import legal
from games.guandan.rounds.round import deal, from_hands
from games.guandan.views.features import (
    CANONICAL_MOVES,
    FULL_MOVES,
    MOVE_WIDTH,
    OBSERVATION_WIDTH,
    move_features,
    state_features,
)
from games.infosets import infoset_at
from games.infosets.sampling import sample_infoset
from games.support.array_types import Array
from gs2.environments.game_env import GameEnv
from gs2.environments.spaces import move_space
from tests.blueprint.climbing.test_own_inputs import Shedding
from tests.games.climbing.big2.test_big2 import dealt
from tests.games.random_games import Node, NodeGame, RandomGame

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(sides=3)",
    "goofspiel(cards=4,returns=total_points)",
    "doudizhu",
    "doudizhu(landlord=bid,spring=true,returns=win_loss)",
    "big2",
    "big2(players=2,ranks=5,suits=2,cards=3,settling=pairs)",
    "guandan",
    "guandan(moves=canonical)",
    "guandan_match(rules=njupt,moves=canonical)",
    "openspiel:goofspiel(num_cards=3,imp_info=True)",
)


def env_of(game: Game | str, **options: object) -> GameEnv:
    if isinstance(game, str) and game.startswith("openspiel:") and find_spec("pyspiel") is None:
        pytest.skip("needs gs2[openspiel]")
    return GameEnv(game, **options)  # type: ignore[arg-type]


def play(env: GameEnv, rng: np.random.Generator, **reset: object) -> tuple[dict[str, float], list[Array]]:
    """Play an episode at random; return what each agent was paid, and the states at which it chose."""
    env.reset(**reset)  # type: ignore[arg-type]
    paid, states = dict.fromkeys(env.possible_agents, 0.0), []
    for agent in env.agent_iter():
        observation, reward, terminated, _, _ = env.last()
        paid[agent] += reward
        if terminated:
            env.step(None)
            continue
        assert env.observation_space(agent).contains(observation)
        states.append(env.state_rows)
        allowed = np.flatnonzero(observation["action_mask"])
        assert np.array_equal(allowed, np.sort(env.move_numbers()))
        env.step(int(rng.choice(allowed)))
    return paid, states


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.some(2)
def test_it_passes_pettingzoos_own_tests(game: str) -> None:
    with warnings.catch_warnings():
        # dictionaries with a mask are what PettingZoo documents for card games; its test still frowns
        warnings.simplefilter("ignore", UserWarning)
        env_of(game)
        api_test(GameEnv(game, render_mode="ansi"), num_cycles=40, verbose_progress=False)
        seed_test(lambda: GameEnv(game), num_cycles=20)


@pytest.mark.parametrize("game", GAMES)
def test_a_round_is_one_of_the_game_and_pays_what_the_game_pays(game: str) -> None:
    env, rng = env_of(game), np.random.default_rng(1)
    for seed in range(1 if game.startswith("guandan_match") else 4):
        paid, states = play(env, rng, seed=seed)
        end = env.state_rows
        assert env.game.player(end)[0] == TERMINAL and env.agents == []
        assert list(paid.values()) == env.game.returns(end)[0].tolist()
        if getattr(env.game, "zero_sum", True):
            teams = env.game.teams
            first = [teams.index(team) for team in range(max(teams) + 1)]
            assert sum(paid[f"seat_{seat}"] for seat in first) == pytest.approx(0)
        assert states


@pytest.mark.parametrize("seed", range(3))
def test_generated_games_are_played_as_they_are(seed: int) -> None:
    game = RandomGame(seed, public=seed % 2 == 0)
    env, rng = GameEnv(game), np.random.default_rng(seed)
    for _ in range(6):
        env.reset(seed=int(rng.integers(1 << 30)))
        while env.agents and not env.terminations[env.agent_selection]:
            legal = game.actions(env.state_rows)
            assert np.array_equal(env.moves(), legal.values)
            words = env.move_words()
            assert [words[int(n)] for n in env.move_numbers()] == [
                game.action_text(env.state_rows[0], action) for action in legal.values
            ]
            before = env.state_rows
            place = int(rng.integers(len(legal.values)))
            env.step(int(env.move_numbers()[place]))
            after = game.step(before, np.zeros(1, np.int64), legal.values[place : place + 1])
            assert game.player(after)[0] == CHANCE or np.array_equal(after, env.state_rows)
        paid = [env.rewards[agent] for agent in env.possible_agents]
        assert paid == game.returns(env.state_rows)[0].tolist()


def test_a_round_that_chance_ends_before_anyone_acts_pays_everyone() -> None:
    start, asked = ((), ()), (("asked",), ())
    nodes = [Node(-1, 0, start, CHANCE, 2), Node(0, 0, start, prob=0.5, payoff=3.0)]
    nodes += [Node(0, 1, asked, 0, 2, 0.5), Node(2, 0, start, payoff=1.0), Node(2, 1, start, payoff=-1.0)]
    env, early = GameEnv(NodeGame("early", nodes)), 0
    for seed in range(8):
        paid, states = play(env, np.random.default_rng(seed), seed=seed)
        early += not states
        assert states or paid == {"seat_0": 3.0, "seat_1": -3.0}
        assert len(env.moves()) == 0 and env.move_words() == {}
    assert 0 < early < 8


@pytest.mark.parametrize(
    "game", [game for game in GAMES if not game.startswith(("openspiel", "guandan_match", "guandan(moves"))]
)
@pytest.mark.parametrize("kind", ["auto", "key", "words"])
@pytest.mark.some(7)
def test_an_observation_tells_a_seat_nothing_that_its_infoset_does_not(game: str, kind: str) -> None:
    """What is hidden from a seat is dealt anew, and every seat, acting or waiting, sees the same."""
    env, rng = env_of(game, observation=kind), np.random.default_rng(3)
    hidden = 0
    for state in play(env, rng, seed=5)[1][::5]:
        for seat in range(env.game.num_players):
            mine = seen_at(env, state, seat)
            if game == "guandan":  # it draws histories of its records alone
                dealt = determinise(np.repeat(state, 3), seat, rng)
            else:
                dealt = sample_infoset(env.game, infoset_at(env.game, state, seat), 3, rng).states
            for other in dealt:
                theirs = seen_at(env, other[None], seat)
                assert mine.keys() == theirs.keys()
                assert all(np.array_equal(mine[part], theirs[part]) for part in mine)
                hidden += not np.array_equal(other, state[0])
    assert hidden > 0


def seen_at(env: GameEnv, state: Array, seat: int) -> dict[str, Array]:
    env.reset(options={"state": state})
    seen: dict[str, Array] = env.observe(f"seat_{seat}")
    return seen


def test_an_exact_observation_tells_every_two_infosets_apart() -> None:
    game = load_game("leduc_poker")
    env, rng = GameEnv(game, observation="key"), np.random.default_rng(0)
    seen: dict[tuple[int, bytes], bytes] = {}
    for _ in range(35):
        for state in play(env, rng)[1]:
            seat = int(game.player(state)[0])
            key = (seat, game.infoset_key(state, seat)[0].tobytes())
            told = seen_at(env, state, seat)["observation"].tobytes()
            assert seen.setdefault(key, told) == told
    assert len(set(seen.values())) == len(seen) > 50


def test_a_number_of_doudizhus_table_is_one_move_everywhere() -> None:
    env, rng = GameEnv("doudizhu"), np.random.default_rng(2)
    assert env.action_space("seat_0").n == NUM_MOVES
    for _ in range(3):
        env.reset(seed=int(rng.integers(1 << 30)))
        while not env.terminations[env.agent_selection]:
            assert env.move_words() == {int(n): move_letters(int(n)) for n in env.move_numbers()}
            env.step(int(rng.choice(env.move_numbers())))
    bids = GameEnv("doudizhu(landlord=bid)")
    bids.reset(seed=1)
    assert list(bids.move_words().values()) == ["call pass", "call 1", "call 2", "call 3"]
    assert min(bids.move_numbers()) == NUM_MOVES and bids.action_space("seat_0").n == NUM_MOVES + 4


def test_the_rows_of_listed_moves_tell_every_two_of_them_apart() -> None:
    for game, options in (("big2", {}), ("doudizhu", {"moves": "listed"})):
        env, rng = GameEnv(game, **options), np.random.default_rng(2)
        env.reset(seed=3)
        longest = 0
        while not env.terminations[env.agent_selection]:
            observation, count = env.observe(env.agent_selection), len(env.moves())
            assert np.array_equal(np.flatnonzero(observation["action_mask"]), np.arange(count))
            assert len(np.unique(observation["moves"][:count], axis=0)) == count
            assert not observation["moves"][count:].any()
            waiting = next(agent for agent in env.agents if agent != env.agent_selection)
            assert not env.observe(waiting)["moves"].any()
            assert not env.observe(waiting)["action_mask"].any()
            longest = max(longest, count)
            env.step(int(rng.integers(count)))
        assert longest > 5
    assert GameEnv("big2").observation_space("seat_0")["moves"].shape == (1341, Big2Inputs.move_bits)


def test_the_longest_list_of_a_hand_of_big2_fits() -> None:
    """All cards of one suit make any five a flush: no hand of thirteen has more plays."""
    game = load_game("big2(opening=first)")
    assert isinstance(game, Big2)
    state = dealt(game, *(" ".join(suit + rank for rank in RANK_NAMES) for suit in "DCHS"))
    env = GameEnv(game)
    env.reset(options={"state": state})
    assert 1290 < len(env.moves()) <= env.move_space.size
    assert move_space(load_game("big2(players=2)"), "auto").size == Big2.MOST_LISTED


def test_the_longest_list_of_a_hand_of_guandan_fits() -> None:
    """Six ranks of all suits in a row and two wild cards: no hand that was looked for has more moves."""
    hand = " ".join(suit + rank for rank in "6789TJ" for suit in "HSCD") + " SQ HQ HQ"
    others = iter(CARD_NAMES[card] for card in np.flatnonzero(DECK - parse_cards(hand)))
    hands = [parse_cards(hand), *(parse_cards([next(others)]) for _ in range(3))]
    env = GameEnv("guandan")
    env.reset(options={"state": from_hands(np.array(hands), level="Q")})
    assert 17_000 < len(env.moves()) <= env.move_space.size


def test_guandan_lists_its_moves_and_shows_what_its_views_say() -> None:
    for canonical, size in ((False, FULL_MOVES), (True, CANONICAL_MOVES)):
        env = GameEnv(f"guandan(moves={'canonical' if canonical else 'full'})")
        env.reset(options={"state": deal(1, np.random.default_rng(3), level=8)})
        for _ in range(12):
            want = legal(env.state_rows, canonical=canonical)[0]
            observation = env.observe(env.agent_selection)
            assert np.array_equal(env.moves(), want)
            assert observation["moves"].shape == (size, MOVE_WIDTH)
            assert np.array_equal(observation["moves"][: len(want)], move_features(want))
            assert not observation["moves"][len(want) :].any()
            assert np.array_equal(observation["observation"], state_features(env.state_rows)[0])
            for agent in set(env.agents) - {env.agent_selection}:
                seen = env.observe(agent)
                hand = unpack(env.state_rows["hand"][0, int(agent[-1])])
                assert not seen["action_mask"].any() and not seen["moves"].any()
                assert np.array_equal(seen["observation"][:54], hand)
            env.step(len(want) - 1)


def test_a_match_of_guandan_pays_its_winners_and_tribute_is_a_stage_of_it() -> None:
    env = GameEnv("guandan_match(rules=ruling,moves=canonical)", observation="openguandan")
    stages, words = set(), set()
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    while not env.terminations[env.agent_selection]:
        seen = env.observe(env.agent_selection)["observation"]
        stages.add(int(seen[OBSERVATION_WIDTH:].argmax()))
        words |= {word.split()[0] for word in env.move_words().values() if word[0] != "["}
        env.step(int(rng.choice(env.move_numbers())))
    winner = env.state_rows[0].winner
    assert [env.rewards[f"seat_{s}"] for s in range(4)] == [1 if s % 2 == winner else -1 for s in range(4)]
    assert stages == {0, 1, 2} and words == {"tribute", "back"}


def test_rows_of_a_strangers_game_lie_within_their_space() -> None:
    env, rng = GameEnv(Shedding(1)), np.random.default_rng(0)
    for seed in range(3):
        play(env, rng, seed=seed)


@pytest.mark.long
def test_an_agent_learns_guandan_from_observations_alone_to_beat_random_play() -> None:
    path = Path(__file__).parents[3] / "examples" / "guandan_masked_agent.py"
    example = runpy.run_path(str(path))
    won = example["wins_against_random"](example["train"](rounds=50, seed=0), 80)
    assert won >= 54  # an agent no better than chance wins so many of 80 once in a thousand tries


def test_bad_options_and_moves_are_refused_with_what_to_do() -> None:
    game = load_game("doudizhu")
    assert isinstance(game, DouDizhu)
    env = GameEnv(game, render_mode="ansi")
    env.reset(seed=1)
    before, illegal = env.render(), set(range(100)) - set(env.move_numbers().tolist())
    for action in (None, -1, NUM_MOVES, min(illegal)):
        with pytest.raises(GameError, match="an action must be one that the mask allows"):
            env.step(action)
    assert env.render() == before and str(before).startswith("P0 dealt ")
    env.step(int(env.move_numbers()[0]))
    assert str(env.render()).splitlines()[-1].startswith("seat_0: ")
    assert GameEnv("kuhn_poker").render() is None
    for name, options, message in (
        ("doudizhu", {"moves": "all"}, "moves is one of"),
        ("doudizhu", {"observation": "pixels"}, "observation is one of"),
        ("doudizhu", {"render_mode": "human"}, "render_mode is None or"),
        ("doudizhu", {"max_moves": 5}, "max_moves must be at least 1, and moves listed"),
        ("doudizhu", {"moves": "found"}, "too many moves to find them"),
        ("kuhn_poker", {"moves": "table"}, "it has no table"),
        ("kuhn_poker", {"moves": "listed"}, "moves are listed only where"),
        ("kuhn_poker", {"looks": 0}, "looks must be at least 1"),
        ("kuhn_poker", {"observation": "rows"}, "its moves are no inputs"),
        ("guandan", {"moves": "found"}, "too many moves to find them"),
        ("guandan", {"observation": "rows"}, "words, key, danzero, openguandan; got 'rows'"),
        ("guandan_match(rules=njupt)", {"observation": "words"}, "is one of auto, danzero, openguandan;"),
        ("guandan_match(moves=all)", {}, 'moves must be "full" or "canonical"'),
        ("dou", {}, "no game is called"),
    ):
        with pytest.raises(GameError, match=message):
            GameEnv(name, **options)
    rng = np.random.default_rng(0)
    over = game.play_randomly(game.sample_deals(1, rng), rng)[0]
    for bad, message in (
        ({"state": np.zeros(1)}, "a state must be one row"),
        ({"state": game.sample_deals(2, rng)}, "a state must be one row"),
        ({"state": over}, "a round must begin before its end"),
    ):
        with pytest.raises(GameError, match=message):
            env.reset(options=bad)
    with pytest.raises(GameError, match="moves are legal but max_moves is 1"):
        play(GameEnv("big2", max_moves=1), np.random.default_rng(0), seed=0)
    with pytest.raises(GameError, match="moves are legal but max_moves is 5"):
        GameEnv("guandan", max_moves=5).reset(seed=1)
    found = GameEnv("leduc_poker")
    space = found.move_space
    assert space.size == 3
    space.known, space.size = space.known[:1], 1  # type: ignore[attr-defined]
    with pytest.raises(GameError, match="make the environment with greater looks"):
        play(found, rng, seed=0)


def test_the_core_needs_no_pettingzoo() -> None:
    code = (
        "import sys; import gs2.environments.spaces, gs2.cli, games\n"
        "import gs2.play.arena\n"
        "print(sorted({'pettingzoo', 'gymnasium'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
