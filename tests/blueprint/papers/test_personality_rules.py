"""Personalities in climbing games: their rules, their share in self-play, the head that tells them apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.climbing.climbing_blueprint import MovePlay, load_climbing_blueprint, move_agent
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import move_inputs
from blueprint.climbing.move_trainer import MoveLearner, MoveTrainer, move_network
from blueprint.game_lockstep import PlayRecord
from blueprint.layers.fast_moves import fast_moves
from blueprint.papers.fields import PERSONALITIES
from blueprint.papers.listening import load_persona_agent
from blueprint.papers.players import RULED, TYPES, climbing_personas, move_types, personality_choice
from blueprint.papers.pruning import hand_rests
from blueprint.protocol import Decisions, MoveInputs, agent_of, probabilities
from games import load_game
from games.climbing.doudizhu.move_table import NUM_MOVES, move_number
from games.climbing.doudizhu.round_state import NO_SEAT
from games.ragged import Ragged
from games.support.array_types import Ints
from games.support.configuration import ConfigError
from gs2.play.game_pairs import play_agents
from gs2.play.shedding import SHEDDING
from tests.blueprint.climbing.random_rounds import GAMES, asked, played, rows_of, swapped
from tests.patience import amount

SMALL = ClimbingConfig(
    state=32,
    action=16,
    critic=0,
    rounds=amount(24, 12),
    batch=128,
    personality=8,
    personas=0.5,
    recipe="pdhqn",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the file of a network with a personality head, hardly trained, for each game."""
    found = {}
    for name in ("doudizhu", "big2"):
        trainer = MoveTrainer(load_game(name), SMALL)
        trainer.run_generation()
        found[name] = tmp_path_factory.mktemp(name) / "x.safetensors"
        trainer.save(found[name])
    return found


def test_types_and_ranks_are_those_of_the_moves() -> None:
    inputs, other = (move_inputs(load_game(name)) for name in ("doudizhu", "big2"))
    read = load_game("big2").read_play  # type: ignore[attr-defined]
    for cards, kind, rank in (
        ("pass", "pass", 0),
        ("2", "single", 12),
        ("BR", "bomb", 13),
        ("777", "trips", 4),
        ("7773", "full house", 4),
        ("77733", "full house", 4),
        ("34567", "straight", 0),
        ("334455", "three pairs", 0),
        ("JJJQQQ", "plate", 8),
        ("4444", "bomb", 1),
        ("S2", "single", 12),
        ("D4 C4", "pair", 1),
        ("D5 C5 H5 D3 C3", "full house", 2),
        ("D3 C4 H5 S6 D7", "straight", 0),
        ("D3 D5 D7 D9 DJ", "straight", 0),
        ("D6 C6 H6 S6 D4", "bomb", 3),
        ("D5 D6 D7 D8 D9", "straight flush", 2),
    ):
        if cards[0] in "DS":  # a suit: of Big2
            types, ranks = move_types(other, np.array([read(cards)], np.uint64).view(np.int64))
        else:
            types, ranks = move_types(inputs, np.array([move_number(cards)]))
        assert (TYPES[types[0]], ranks[0]) == (kind, rank), cards
    types, _ = move_types(inputs, np.arange(NUM_MOVES, NUM_MOVES + 4))
    assert set(types) == {0}  # calls


@pytest.mark.parametrize("name", GAMES)
def test_rules_choose_legal_moves_by_what_their_seat_sees(name: str) -> None:
    game = load_game(name, general_sum=True)
    inputs = move_inputs(game)
    differ = 0
    for d in asked(inputs, 4):
        turns = hand_rests(game).turns(d)
        types, _ = move_types(inputs, inputs.words(d.actions))
        answers = [personality_choice(inputs, who)(d) for who in RULED]
        differ += int((answers[0] != answers[1]).sum())
        hidden, same = swapped(d.states, d.seats, game.num_players)
        for who, answer in zip(RULED, answers, strict=True):
            assert np.all((answer >= 0) & (answer < np.diff(d.offsets)))
            again = personality_choice(inputs, who)(dataclasses.replace(d, states=hidden))
            assert np.array_equal(again[same], answer[same])
            taken = d.offsets[:-1] + answer
            for j in range(len(d)):
                own = slice(d.offsets[j], d.offsets[j + 1])
                if types[own].any() and turns[own].min() == 0:
                    assert turns[taken[j]] == 0  # whoever can goes out
    assert differ > 0


def test_personalities_lead_what_the_paper_gives_them() -> None:
    game = load_game("doudizhu")
    inputs = move_inputs(game)
    leads = {who: np.zeros(len(TYPES)) for who in RULED}
    for d in asked(inputs, 30):
        types, _ = move_types(inputs, inputs.words(d.actions))
        for who in RULED:
            answer = personality_choice(inputs, who)(d)
            free = types[d.offsets[:-1]] != 0
            leads[who] += np.bincount(types[d.offsets[:-1] + answer][free], minlength=len(TYPES))
    share = {who: count / count.sum() for who, count in leads.items()}
    low, bomb = TYPES.index("single"), TYPES.index("bomb")
    assert share["conservative"][low] > share["aggressive"][low] + 0.1
    assert share["aggressive"][bomb] >= share["balanced"][bomb] > share["conservative"][bomb]


@pytest.mark.parametrize("name", ["doudizhu", "big2"])
def test_seats_play_their_round_by_their_type(name: str) -> None:
    game = load_game(name)
    inputs = move_inputs(game)
    rng = np.random.default_rng(8)
    types = rng.integers(0, 4, (9, game.num_players))
    last: list[np.ndarray] = []

    def own(d: Decisions) -> Ints:
        assert np.all(types[d.rows, d.seats] == 3)
        last.append(d.rows)
        return np.diff(d.offsets) - 1

    record = played(inputs, inputs.deal(9, rng), climbing_personas(own, inputs, types))
    assert np.concatenate(last).size == (types[record.rounds, record.seats] == 3).sum()
    legal = inputs.legal(record.states)
    for k, who in enumerate(RULED):
        rows = np.flatnonzero(types[record.rounds, record.seats] == k)
        some = legal.take(rows)
        moves = Ragged(some.offsets, some.values.view(inputs.action_type))
        d = Decisions.of(record.states[rows], moves, record.seats[rows])
        found = personality_choice(inputs, who)(d)
        assert np.array_equal(some.values[some.offsets[:-1] + found], record.actions[rows])


@pytest.mark.parametrize("name", ["doudizhu", "big2"])
@pytest.mark.some(1)
def test_a_head_learns_whose_move_it_was(name: str) -> None:
    trainer = MoveTrainer(load_game(name), SMALL.replace(rounds=48, learning_rate=5e-3))
    rows = [trainer.run_generation() for _ in range(5)]
    assert rows[-1]["personality"] < 0.9 * rows[0]["personality"]
    assert any(key.startswith("network.personality.") for key in trainer.learner.tensors())


@pytest.mark.parametrize("name", ["doudizhu", "big2"])
def test_a_network_plays_in_a_manner_and_at_full_weight_of_values_its_best_move(
    name: str, files: dict[str, Path]
) -> None:
    game, path = load_game(name), files[name]
    inputs = move_inputs(game)
    best = load_persona_agent(path, game, "aggressive", alpha=1.0)
    plain = load_climbing_blueprint(path, game)
    for player in range(game.num_players):
        states = np.concatenate([d.states[d.seats == player] for d in asked(inputs, 4)])
        legal = game.actions(states)
        a = plain.network.answer(
            np.ascontiguousarray(states),
            np.arange(len(states)),
            np.full(len(states), player),
            legal.offsets,
            inputs.words(legal.values),
        )[1]
        starts = legal.offsets[:-1]
        chosen = starts + best(Decisions.of(states, legal, player, game=game))
        assert np.allclose(a[chosen], np.maximum.reduceat(a, starts), atol=1e-4)
    manner = load_persona_agent(path, game, "conservative", alpha=0.0)
    assert manner.name == "x:conservative"
    if name == "doudizhu":
        games = play_agents(game, (manner, SHEDDING), np.random.default_rng(0), 3)
        assert np.abs(games.payoffs).min() >= 1
    with pytest.raises(ConfigError, match="it plays"):
        manner(Decisions.of(states, legal, 0, game=load_game("kuhn_poker")))


@pytest.mark.parametrize("name", ["doudizhu", "big2"])
def test_a_persona_alone_plays_in_its_style(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    game = load_game(name)
    tensors, about = read_checkpoint(files[name])
    # a head of decided opinions, which a network that hardly trained has not
    told = {key: value * 100 if "personality." in key else value for key, value in tensors.items()}
    path = tmp_path / "decided.safetensors"
    write_checkpoint(path, told, about)
    states = np.concatenate([d.states[d.seats == 1] for d in asked(move_inputs(game), 15)])
    legal = game.actions(states)
    asked_of = Decisions.of(states, legal, 1, game=game)
    own = probabilities(agent_of(move_agent(path, game, MovePlay())), asked_of)
    differ = 0
    for persona in PERSONALITIES:
        styled = probabilities(agent_of(move_agent(path, game, MovePlay(persona=persona))), asked_of)
        differ += (styled != own).any()
        halved = move_agent(path, game, MovePlay(persona=persona, alpha=0.5))
        assert np.array_equal(styled, probabilities(agent_of(halved), asked_of))
    assert differ > 1


def test_a_rule_calls_for_a_persona_whose_network_learned_without_an_auction(files: dict[str, Path]) -> None:
    game = load_game("doudizhu(landlord=bid)", general_sum=True)
    styled = [load_persona_agent(files["doudizhu"], game, "aggressive", alpha=alpha) for alpha in (0.0, 1.0)]
    calls = 0
    for d in asked(move_inputs(game), 12):
        bids = d.states["landlord"][d.rows] == NO_SEAT
        calls += bids.sum()
        ruled = SHEDDING(dataclasses.replace(d, played=game))
        for agent in styled:
            found = agent(dataclasses.replace(d, played=game))
            assert np.array_equal(found[bids], ruled[bids])
            assert np.all((found >= 0) & (found < np.diff(d.offsets)))
    assert calls > 20


def test_a_persona_that_cannot_be_played_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    game, path = load_game("doudizhu"), files["doudizhu"]
    for persona, alpha in (("bold", 0.5), ("balanced", 1.5)):
        with pytest.raises(ConfigError, match="persona must be one of"):
            load_persona_agent(path, game, persona, alpha=alpha)
    with pytest.raises(ConfigError, match=r"persona must be one of aggressive, .*got 'bold'"):
        MovePlay(persona="bold")
    with pytest.raises(ConfigError, match=r"alpha must be in \[0, 1\)"):
        MovePlay(persona="balanced", alpha=1.0)  # no style at all
    with pytest.raises(ConfigError, match="name a persona too"):
        MovePlay(alpha=0.5)
    tensors, about = read_checkpoint(path)
    lost = {key: value for key, value in tensors.items() if "personality.label" not in key}
    write_checkpoint(tmp_path / "y.safetensors", lost, about)
    with pytest.raises(CheckpointError, match=r"personality\.label.* got none"):
        load_persona_agent(tmp_path / "y.safetensors", game, "balanced")
    plain = MoveTrainer(game, SMALL.replace(personality=0, personas=0.0))
    plain.save(tmp_path / "z.safetensors")
    with pytest.raises(CheckpointError, match="train one with --recipe pdhqn"):
        load_persona_agent(tmp_path / "z.safetensors", game, "balanced")
    with pytest.raises(ConfigError, match="recognise needs personas"):
        SMALL.replace(personality=0, personas=0.0, recognise=0.1)
    with pytest.raises(ConfigError, match="leave heeds out"):
        MovePlay(persona="balanced", heeds=False)


def test_a_network_without_personalities_is_drawn_as_before() -> None:
    inputs = move_inputs(load_game("big2"))
    torch.manual_seed(4)
    plain = move_network(inputs, SMALL.replace(personality=0, personas=0.0)).state_dict()
    for wider in (SMALL, SMALL.replace(recognise=0.2)):
        torch.manual_seed(4)
        more = move_network(inputs, wider).state_dict()
        assert all(torch.equal(value, more[key]) for key, value in plain.items())


def ruled_rounds(inputs: MoveInputs, rounds: int, seed: int) -> tuple[PlayRecord, Ints]:
    """Return rounds in which each seat plays by a rule of its own, and these, [rounds, seats]."""
    rng = np.random.default_rng(seed)
    types = rng.integers(0, len(RULED), (rounds, inputs.game.num_players))
    nobody = climbing_personas(lambda d: np.zeros(len(d), np.int64), inputs, types)
    return played(inputs, inputs.deal(rounds, rng), nobody), types


@pytest.mark.long
@pytest.mark.parametrize(("name", "least"), [("doudizhu", 0.48), ("big2", 0.35)])
def test_the_others_are_recognised_from_what_they_played(name: str, least: float) -> None:
    game = load_game(name)
    config = SMALL.replace(state=128, recognise=1.0, learning_rate=2e-3, batch=512, passes=4.0)
    inputs = move_inputs(game)
    record, types = ruled_rounds(inputs, 1300, 6)
    learner = MoveLearner(inputs, config)
    samples, _ = learner.samples(
        record, game.returns(record.final), None, np.random.default_rng(), types=types
    )
    assert samples.types is not None
    n = game.num_players
    for j in (0, len(record) // 2, len(record) - 1):
        seat, round_ = int(record.seats[j]), int(record.rounds[j])
        assert samples.types[j].tolist() == [types[round_, (seat + k) % n] for k in range(n)]
    learner.learn([samples], np.random.default_rng(2), 10_000, record.steps)
    network = learner.mean_network
    # rounds not learned from: better than a guess among three; the rules of Big2 differ little
    fresh, kinds = ruled_rounds(inputs, 200, 7)
    x, _ = rows_of(inputs, fresh.states, fresh.seats)
    with torch.inference_mode():
        said = network.types(network.tower(torch.from_numpy(x).float())).numpy()
    assert said.shape == (len(fresh), n - 1, 4)
    others = (fresh.seats[:, None] + np.arange(1, n)) % n
    right = said.argmax(2) == kinds[fresh.rounds[:, None], others]
    assert right[len(fresh) // 2 :].mean() > least


def test_what_is_recognised_is_heard_and_may_be_left_unheard(files: dict[str, Path], tmp_path: Path) -> None:
    game = load_game("doudizhu")
    trainer = MoveTrainer(game, SMALL.replace(recognise=1.0, learning_rate=1e-2, batch=32))
    rows = [trainer.run_generation() for _ in range(2)]
    assert rows[-1]["types"] > 0
    trainer.save(tmp_path / "x.safetensors")
    heard, deaf = (load_climbing_blueprint(tmp_path / "x.safetensors", game, heeds=h) for h in (True, False))
    states = np.concatenate([d.states for d in asked(move_inputs(game), 2)])
    legal = game.actions(states)
    one, other = (b.q(game, states, 0, legal) for b in (heard, deaf))
    assert np.abs(one - other).max() > 1e-4
    # torch's own network, by which a persona plays, hears the same
    persona = load_persona_agent(tmp_path / "x.safetensors", game, "balanced", alpha=1.0)
    mine, words = np.zeros(len(states), np.int64), move_inputs(game).words(legal.values)
    a = persona.network.personalities(Decisions.of(states, legal, 0, game=game))[0]
    rows_ = np.arange(len(states))
    assert np.allclose(a, heard.network.answer(states, rows_, mine, legal.offsets, words)[1], atol=1e-4)
    with pytest.raises(ConfigError, match="heeds=false needs a network with models of the others"):
        load_climbing_blueprint(files["doudizhu"], game, heeds=False)
    tensors, _ = read_checkpoint(tmp_path / "x.safetensors")
    lost = {key: value for key, value in tensors.items() if not key.startswith("network.recogniser")}
    with pytest.raises(CheckpointError, match=r"needs network\.recogniser"):
        fast_moves(move_inputs(game), lost, half=False)
