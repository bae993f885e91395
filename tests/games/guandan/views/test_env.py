"""The PettingZoo environment: its own API test, and that it plays the game."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, seed_test

from games.game import GameError
from games.guandan.cards import PASS, TYPE_NAMES
from games.guandan.rounds.round import deal, legal
from games.guandan.views.danzero_features import action_features, state_features
from games.guandan.views.env import (
    CANONICAL_MOVES,
    FULL_MOVES,
    MOVE_SLICES,
    MOVE_WIDTH,
    Episode,
    GuanDanEnv,
    move_features,
)
from tests.patience import amount


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "moves": "canonical",
            "observation": "openguandan",
            "render_mode": "ansi",
            "episode": Episode(level="T"),
        },
        {"episode": Episode("match", rules="njupt"), "moves": "canonical"},
    ],
    ids=["round", "canonical", "match"],
)
def test_it_passes_pettingzoos_own_test(options: dict) -> None:
    with warnings.catch_warnings():
        # dictionaries with a mask are what PettingZoo documents for card games; its test still frowns
        warnings.simplefilter("ignore", UserWarning)
        api_test(GuanDanEnv(**options), num_cycles=amount(300, 60), verbose_progress=False)


def test_it_passes_pettingzoos_seed_test() -> None:
    seed_test(lambda: GuanDanEnv(moves="canonical"), num_cycles=amount(100, 30))


def play(env: GuanDanEnv, seed: int) -> tuple[list[float], set[int]]:
    """Play an episode at random and return what each agent was paid, and the stages that were met."""
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    paid, stages = dict.fromkeys(env.possible_agents, 0.0), set()
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        paid[agent] += reward
        done = terminated or truncated
        stages.add(int(observation["stage"]))
        env.step(None if done else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    return [paid[f"seat_{seat}"] for seat in range(4)], stages


def test_a_round_pays_the_winners_what_the_losers_lose() -> None:
    env = GuanDanEnv()
    for seed in range(amount(8, 2)):
        paid, stages = play(env, seed)
        assert paid == [paid[0], -paid[0]] * 2 and abs(paid[0]) in (1, 2, 3)
        assert stages == {2} and env.agents == []


def test_a_match_pays_one_to_the_winners_and_tribute_is_a_stage_of_it() -> None:
    env = GuanDanEnv(episode="match", moves="canonical")
    paid, stages = play(env, 1)
    assert paid == [1 if seat % 2 == env.match.winner else -1 for seat in range(4)]
    assert stages == {0, 1, 2}


def test_actions_are_indices_into_the_legal_moves_and_others_may_do_nothing() -> None:
    for moves, size in (("full", FULL_MOVES), ("canonical", CANONICAL_MOVES)):
        env = GuanDanEnv(moves=moves)
        env.reset(seed=3)
        for _ in range(12):
            want = legal(env.match.state, canonical=moves == "canonical")[0]
            observation = env.observe(env.agent_selection)
            assert np.array_equal(env.moves(), want)
            assert observation["action_mask"].shape == (size,) and observation["stage"] == 2
            assert np.array_equal(np.flatnonzero(observation["action_mask"]), np.arange(len(want)))
            assert np.array_equal(observation["observation"], state_features(env.match.state)[0])
            assert observation["moves"].shape == (size, MOVE_WIDTH)
            assert np.array_equal(observation["moves"][: len(want)], move_features(want))
            assert not observation["moves"][len(want) :].any()
            for agent in set(env.agents) - {env.agent_selection}:
                seen = env.observe(agent)
                assert not seen["action_mask"].any() and not seen["moves"].any()
                assert np.array_equal(seen["observation"][:54], env.match.hands[int(agent[-1])])
            env.step(len(want) - 1)


def test_bad_actions_and_options_are_refused() -> None:
    env = GuanDanEnv(episode=Episode(level="2"), render_mode="ansi")
    env.reset(seed=1)
    before = env.render()
    for action in (None, -1, len(env.moves())):
        with pytest.raises(GameError, match=r"an action is an index 0\.\."):
            env.step(action)
    assert env.render() == before and str(before).startswith("level 2, play\nseat_0: ")
    for options in (
        {"episode": "hand"},
        {"moves": "all"},
        {"observation": "pixels"},
        {"render_mode": "human"},
    ):
        with pytest.raises(GameError, match=f"{next(iter(options))} is one of"):
            GuanDanEnv(**options)
    for fields, message in (({"level": "1"}, "a level is one of"), ({"rules": "house"}, "rules are one of")):
        with pytest.raises(GameError, match=message):
            Episode(**fields)
    small = GuanDanEnv(max_moves=5)
    with pytest.raises(GameError, match="moves are legal but max_moves is 5"):
        small.reset(seed=1)


def test_a_canonical_list_always_fits() -> None:
    """The bound on canonical moves is a sum over effects; no random hand comes near it."""
    longest = max(
        legal(deal(amount(2000, 400), np.random.default_rng(1), level=level), canonical=True).counts.max()
        for level in (0, 8)
    )
    assert 100 < longest < CANONICAL_MOVES


def test_the_features_of_moves_tell_every_two_of_them_apart() -> None:
    """Cards, type and rank are the move: what no feature tells, no agent can learn."""
    env = GuanDanEnv(episode="match")
    rng = np.random.default_rng(5)
    env.reset(seed=5)
    kinds: set[str] = set()
    for _ in range(amount(300, 80)):
        observation, moves = env.observe(env.agent_selection), env.moves()
        rows = observation["moves"][observation["action_mask"] == 1]
        assert len(np.unique(rows, axis=0)) == len(moves) == len(rows)
        assert np.array_equal(rows[:, MOVE_SLICES["cards"]], action_features(moves))
        assert np.array_equal(rows[:, MOVE_SLICES["type"]].argmax(1), moves["type"])
        assert np.array_equal(rows[:, MOVE_SLICES["rank"]].argmax(1), moves["rank"])
        cards = rows[:, MOVE_SLICES["size"]][:, 0]
        assert np.array_equal(cards, rows[:, MOVE_SLICES["cards"]].sum(1))
        assert np.array_equal(cards == 0, moves["type"] == PASS)
        assert env.observation_space(env.agent_selection).contains(observation)
        kinds |= {TYPE_NAMES[kind] for kind in moves["type"]}
        env.step(int(rng.integers(len(moves))))
    assert len(kinds) >= 8


@pytest.mark.long
def test_an_agent_learns_from_observations_alone_to_beat_random_play() -> None:
    path = Path(__file__).parents[4] / "examples" / "guandan_masked_agent.py"
    example = runpy.run_path(str(path))
    won = example["wins_against_random"](example["train"](rounds=50, seed=0), 80)
    assert won >= 54  # an agent no better than chance wins so many of 80 once in a thousand tries
