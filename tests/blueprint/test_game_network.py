"""Networks of games of any size: what they see, how they are trained, kept and gone on with."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.check import check_blueprint
from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.learning.run import RunLimits, RunManner, RunPlace, train
from blueprint.networks import load_network
from blueprint.protocol import Blueprint, agent_of
from blueprint.research.game_network import GameNetwork, GameNetworkConfig, NetworkLayout, load_game_network
from blueprint.research.game_selfplay import play_generation
from blueprint.research.game_training import GameTrainer, train_game_network
from blueprint.research.infoset_features import ActionColumns, InfosetFeatures, feature_kind
from cfr.best_response import best_response_values, exploitability
from cfr.policies.policy import uniform_policy
from cfr.sequence_form import sequence_form
from cfr.tree import grow
from games import CHANCE, TERMINAL, Ragged, SimpleGame, load_game
from games.game import Game, GameError
from games.support.array_types import Array
from gs2.play.game_pairs import play_agents
from gs2.policies.policy_spec import exact_exploitability, measured
from gs2.policies.tabulate import policy_of
from gs2.search.refine.policy_only import PolicyOnly, UniformPlay
from tests.games.random_games import RandomGame
from tests.patience import amount

SMALL = GameNetworkConfig(width=32, blocks=1, episodes=256, batch=256, learning_rate=3e-3)
FEATURED = (
    "leduc_poker",
    "leduc_poker(ranks=4,suits=3,raise_sizes=1/3,raise_caps=4/1)",
    "leduc_poker(suit_isomorphism=true)",
    "liars_dice(sides=4)",
    "liars_dice(dice=2,sides=3,wild=false,bidding=reset-quantity)",
    "goofspiel",
    "goofspiel(cards=4,turns=4,points_order=descending)",
    "phantom_ttt",
    "dark_hex(size=2)",
    "dark_hex(abrupt=true)",
)
LARGE = {
    "liars_dice(dice=5)": amount(20_000, 10_000),
    "goofspiel(cards=13,turns=13)": 180_000,
    "leduc_poker(ranks=13,suits=4)": amount(40_000, 20_000),
}
"""Games too large for a tree, and decisions after which a network beats uniform play."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def decisions(game: Game, n: int, seed: int = 0) -> list[Array]:
    """Return the histories of random plays at which somebody decides, step by step."""
    draw = rng(seed)
    states = np.repeat(game.root(), n, axis=0)
    found = []
    while True:
        players = game.player(states)
        states, players = states[players != TERMINAL], players[players != TERMINAL]
        if len(states) == 0:
            return found
        found.append(states[players >= 0])
        actions = game.actions(states)
        pick = actions.offsets[:-1] + (draw.random(len(states)) * actions.counts).astype(np.int64)
        states = game.step(states, np.arange(len(states)), actions.values[pick])


@pytest.mark.parametrize("name", [*FEATURED, *LARGE])
def test_features_are_the_same_where_infosets_are(name: str) -> None:
    game = load_game(name)
    features = InfosetFeatures(game, "game")
    for seat in (0, 1):
        assert features.of(game.root()[:0], seat, np.zeros(0, bool)).shape == (0, features.width)
        rows = rows_of(features, game, seat, 120)
        assert all(len(found) == 1 for found in rows.values())
        assert len({next(iter(found)) for found in rows.values()}) == len(rows)
    if name in LARGE:  # every action is come across
        columns = NetworkLayout.of(game, SMALL).columns
        known = len(columns.known)
        assert known == {"liars_dice": 61, "goofspiel": 13, "leduc_poker": 3}[name.partition("(")[0]]
        for states in decisions(game, 100, seed=5):
            assert not len(states) or columns.of(game.actions(states)).max() < known


def rows_of(features: InfosetFeatures, game: Game, seat: int, plays: int) -> dict[bytes, set[bytes]]:
    """Return the rows that describe each infoset that a seat comes to, at its turns and at the other's."""
    rows: dict[bytes, set[bytes]] = {}
    for states in decisions(game, plays):
        if len(states):
            found = features.of(states, seat, game.player(states) == seat)
            assert found.shape == (len(states), features.width)
            for key, row in zip(game.infoset_key(states, seat), found, strict=True):
                rows.setdefault(key.tobytes(), set()).add(row.tobytes())
    return rows


@pytest.mark.parametrize("kind", ["words", "key"])
@pytest.mark.parametrize("seed", range(2))
def test_infosets_of_games_without_features_differ_in_words_and_in_bits(kind: str, seed: int) -> None:
    game = RandomGame(seed, public=bool(seed % 2))
    assert feature_kind(game) == "words"
    with pytest.raises(GameError, match="needs a method features"):
        InfosetFeatures(game, "game")
    for seat in (0, 1):
        rows = rows_of(InfosetFeatures(game, kind), game, seat, 200)
        assert all(len(found) == 1 for found in rows.values())
        assert len({found.pop() for found in rows.values()}) == len(rows)


def test_actions_have_columns_of_their_own_and_unknown_ones_share() -> None:
    columns = ActionColumns(np.array([7, 3, 3, 90]))
    found = columns.of(Ragged.from_counts(np.array([4]), np.array([90, 3, 7, 4])))
    assert found[:3].tolist() == [2, 0, 1] and 3 <= found[3] < columns.count
    pairs = np.array([[1, 2], [3, 4], [1, 2]], np.int16)
    wide = ActionColumns(pairs)
    found = wide.of(Ragged.from_counts(np.array([3]), pairs))
    assert found[0] == found[2] != found[1] and found.max() < 2
    assert ActionColumns(pairs[:0]).count == wide.count - 2  # as where chance alone acts


class Lottery(SimpleGame):
    """Chance says how much is at stake, ten in one of ten games, and seat 0 wins it or loses it."""

    payoff_range = (-10.0, 10.0)

    def start(self) -> tuple[str, ...]:
        return ()

    def turn(self, state: tuple[str, ...]) -> int:
        return (CHANCE, 0, TERMINAL)[len(state)]

    def choices(self, state: tuple[str, ...]) -> tuple[str, ...]:
        return ("win", "lose") if state else ("ten", "one")

    def chances(self, state: tuple[str, ...]) -> tuple[float, ...]:
        return (0.1, 0.9)

    def after(self, state: tuple[str, ...], choice: str) -> tuple[str, ...]:
        return (*state, choice)

    def payoff(self, state: tuple[str, ...]) -> float:
        return (10.0 if state[0] == "ten" else 1.0) * (1 if state[1] == "win" else -1)

    def sees(self, state: tuple[str, ...], player: int) -> str:
        return " ".join(state)


def test_what_is_at_stake_counts_what_chance_does_as_often_as_it_does() -> None:
    stake = ActionColumns.sampled(Lottery(), np.random.default_rng(0))[1]
    assert stake == pytest.approx(np.sqrt(0.1 * 100 + 0.9), rel=0.1)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if "goofspiel" in name else ()) for name in LARGE]
)
def test_a_network_of_a_large_game_is_a_blueprint_and_beats_uniform_play(name: str, tmp_path: Path) -> None:
    game = load_game(name)
    path = tmp_path / "large.safetensors"
    network = train_game_network(game, rng(), RunLimits(decisions=LARGE[name]), config=SMALL, output=path)
    assert isinstance(network, Blueprint)
    check_blueprint(network, game, rng(1), plays=30)
    played = play_agents(game, (network, PolicyOnly(UniformPlay())), rng(2), 300)
    assert played.interval()[0] > 0
    read = load_network(path, game)
    for states in decisions(game, 20, seed=3)[:4]:
        for seat in (0, 1):
            rows = states[game.player(states) == seat]
            actions = game.actions(rows)
            np.testing.assert_allclose(
                read.policy(game, rows, seat, actions), network.policy(game, rows, seat, actions), atol=1e-6
            )
    assert path.stat().st_size < 1 << 20


def test_training_brings_a_small_game_nearer_to_equilibrium() -> None:
    game = load_game("leduc_poker")
    tree = grow(game)
    form = sequence_form(tree)
    network = train_game_network(game, rng(), RunLimits(decisions=amount(120_000, 60_000)), config=SMALL)
    before = sum(best_response_values(form, uniform_policy(tree))) / 2
    after = sum(best_response_values(form, policy_of(network, game, tree))) / 2
    assert after < before / 2


def test_the_same_seed_trains_the_same_network() -> None:
    game = load_game("kuhn_poker")
    nets = [train_game_network(game, rng(4), RunLimits(decisions=1_000), config=SMALL) for _ in range(2)]
    states = decisions(game, 10)[0]
    one, two = (net.q(game, states, 0, game.actions(states)) for net in nets)
    assert np.array_equal(one, two)


def test_against_a_rival_only_the_networks_own_decisions_teach() -> None:
    game = load_game("liars_dice(dice=2,sides=2)")
    trainer = GameTrainer(game, SMALL)
    network = trainer.network()
    alone = play_generation(network, 64, rng(), epsilon=0.1)
    asked = 0

    class Counts(GameNetwork):
        def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> NDArray[np.float64]:
            nonlocal asked
            asked += len(states)
            return super().policy(game, states, player, actions)

    rival = agent_of(Counts(network.layout, network.weights, network.config))
    against = play_generation(network, 64, rng(), epsilon=0.1, rival=rival)
    assert len(alone.own) == len(alone.seen) and asked > 0
    assert len(against.own) + len(against.seen) == len(against.own) + asked
    assert set(np.unique(against.gain)) <= set(np.unique(alone.gain))


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GameNetwork]:
    """Return the file of a network that was measured as it was trained, and the network."""
    game, path = load_game("kuhn_poker"), tmp_path_factory.mktemp("kuhn") / "kuhn.safetensors"
    how = {"rng": rng(), "measure": exact_exploitability(game), "times": 3}
    begin = partial(GameTrainer.begun, game=game, config=SMALL, **how)
    return path, train(RunPlace.with_state(path), begin, RunLimits(decisions=3_000)).network()


def test_a_training_is_measured_as_often_as_asked_and_keeps_it(kuhn: tuple[Path, GameNetwork]) -> None:
    game, (path, network) = load_game("kuhn_poker"), kuhn
    curve = read_checkpoint(path)[1]["curve"]
    assert len(curve) == 3 and [row[0] for row in curve] == sorted(row[0] for row in curve)
    tree = grow(game)
    assert curve[-1][1] == pytest.approx(exploitability(tree, policy_of(network, game, tree)))
    trainer = GameTrainer.begun(RunPlace.with_state(path).state, game)
    assert trainer.curve == curve


def test_a_training_of_three_teams_is_measured_as_gs2_exploitability_does(tmp_path: Path) -> None:
    game, path = load_game("big2(players=3,ranks=2,suits=2)"), tmp_path / "x.safetensors"
    begin = partial(GameTrainer.begun, game=game, config=SMALL, measure=exact_exploitability(game), times=1)
    curve = train(RunPlace.with_state(path), begin, RunLimits(decisions=300)).curve
    assert curve[-1][1] == pytest.approx(measured(game, str(path))["exploitability"])


def test_a_training_that_goes_on_is_measured_again_and_counts_all_its_time(tmp_path: Path) -> None:
    game, place = load_game("kuhn_poker"), RunPlace.with_state(tmp_path / "x.safetensors")
    begin = partial(GameTrainer.begun, game=game, config=SMALL, measure=lambda network: 0.0, times=3)
    first = train(place, begin, RunLimits(decisions=3_000))
    before, spent = list(first.curve), first.processor_seconds
    begun = begin(place.state)
    assert begun.processor_seconds == spent > 0 and len(before) == 3
    after = train(place, begin, RunLimits(decisions=6_000), RunManner(resume=True)).curve
    assert after[:3] == before and [round(row[0] / 2_000) for row in after[3:]] == [2, 3]


def test_a_training_with_unknown_or_missing_entries_is_refused_by_name(tmp_path: Path) -> None:
    game, place = load_game("kuhn_poker"), RunPlace.with_state(tmp_path / "x.safetensors")
    begin = partial(GameTrainer.begun, game=game, config=SMALL)
    train(place, begin, RunLimits(generations=2))
    tensors, told = read_checkpoint(place.state)

    def but(start: str, entries: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in entries.items() if not name.startswith(start)}

    earlier = {name.replace("learned.network.", "last."): value for name, value in tensors.items()}
    wider = told["config"] | {"width": 16}
    for changed, description, words in (
        (earlier, {}, "last.advantage.bias must not be there; got"),
        (but("learned.", tensors), {}, "learned.*; got none; train"),
        (tensors | {"optimiser.x.step": np.zeros(())}, {}, r"optimiser.x.step must not be there; got \(\)"),
        (but("optimiser.3.exp_avg", tensors), {}, "optimiser.3.exp_avg must have shape .*got none"),
        (but("network.value.bias", tensors), {}, "network.value.bias must have shape .*got none"),
        (tensors, {"config": wider}, r"must have shape .*16.*; got .*32.*; train anew"),
        (tensors, {"config": but("epsilon", told["config"])}, "epsilon is missing; train anew, or use"),
    ):
        write_checkpoint(place.state, changed, told | description)
        with pytest.raises(CheckpointError, match=words):
            train(place, begin, RunLimits(generations=3), RunManner(resume=True))


def test_a_run_killed_between_its_two_files_plays_as_its_state_when_it_goes_on(tmp_path: Path) -> None:
    game, place = load_game("kuhn_poker"), RunPlace.with_state(tmp_path / "x.safetensors")
    begin = partial(GameTrainer.begun, game=game, config=SMALL)
    trainer = train(place, begin, RunLimits(generations=2))
    trainer.run_generation()
    write_checkpoint(place.state, *trainer.checkpoint())
    train(place, begin, RunLimits(generations=3), RunManner(resume=True))
    state = read_checkpoint(place.state, prefix="network.")[0]
    plays, told = read_checkpoint(place.checkpoint)
    assert told["generations"] == 3 and all(np.array_equal(plays[name], state[name]) for name in state)


def test_a_checkpoint_of_another_game_or_a_damaged_one_is_refused(
    kuhn: tuple[Path, GameNetwork], tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match="must be a network for leduc_poker"):
        load_game_network(kuhn[0], load_game("leduc_poker"))
    whole, path = kuhn[0].read_bytes(), tmp_path / "damaged.safetensors"
    draw = rng(1)
    for _ in range(12):
        damaged = bytearray(whole)
        damaged[int(draw.integers(len(whole)))] ^= 1 << int(draw.integers(8))
        path.write_bytes(damaged[: int(draw.integers(1, len(whole)))] if draw.random() < 0.3 else damaged)
        with pytest.raises(CheckpointError):
            load_game_network(path, load_game("kuhn_poker"))
    write_checkpoint(path, {"network.x": np.zeros(1, np.float32)}, {"kind": "research", "game": "kuhn_poker"})
    with pytest.raises(CheckpointError, match=r"must be a network of the kind .*; got 'research'; train one"):
        load_network(path, load_game("kuhn_poker"))
