"""What a seat is shown follows from what it knows, and what its cards are called holds together."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.game import Game, GameError, Infoset
from games.registry import load_game
from gs2.web.games.agent_worker import Seated, agent_answer, agent_view
from gs2.web.games.card_face import Face, card_face, round_view, seat_points
from gs2.web.games.game_round import GameRound
from gs2.web.games.game_tables import GameTables
from gs2.web.games.offers import game_offers, own_games
from tests.web.games.playing import progress, round_along

CLIMBING = (
    "doudizhu",
    "doudizhu(landlord=bid,spring=true)",
    "doudizhu(landlord=bid,ranks=4)",
    "big2",
    "big2(players=3)",
    "big2(players=2,cards=13,bombs=both,must_play=true)",
)
EXAMPLE = Path(__file__).parents[3] / "examples" / "own_card_game.py"
JOKER_LETTERS = {"SB": "B", "HR": "R"}
SPOKEN = ("kuhn_poker", "leduc_poker", "liars_dice(sides=3)", "goofspiel(cards=3,turns=3)")


def played_cards(play: dict[str, Any]) -> list[str]:
    """Return the cards of a play, none of a pass."""
    return [] if play["move"][0] == "PASS" else play["move"][2]


def kind_of(face: Face, played: GameRound, cards: list[str]) -> str | None:
    """Return the kind of play that cards make."""
    action = face.action_of(played, cards)
    return None if action is None else face.kinds(np.array([action]))[0]


def another(played: GameRound, seat: int, rng: np.random.Generator) -> GameRound:
    """Return a round that a seat cannot tell from this one: hidden cards are dealt anew."""
    game = played.game
    key = tuple(int(word) for word in game.infoset_key(played.state, seat)[0])
    line = game.sample_histories(Infoset(seat, key, ""), 1, rng)[0]  # type: ignore[attr-defined]
    other = round_along(game, line)
    other.seed, other.number, other.marked = played.seed, played.number, played.marked
    return other


def random_positions(game: Game, rng: np.random.Generator, every: int) -> list[GameRound]:
    """Return a round at some of its positions: copies of it on the way."""
    played = GameRound(game, int(rng.integers(1 << 40)), 1)
    found = []
    while not played.over:
        if len(played.taken) % every == 0:
            copy = round_along(game, played.history())
            copy.seed, copy.number, copy.marked = played.seed, played.number, dict(played.marked)
            found.append(copy)
        played.take(int(rng.integers(len(played.legal))))
    return found


@pytest.mark.parametrize("name", CLIMBING)
@pytest.mark.some(3)
def test_a_seat_is_shown_the_same_whatever_hidden_cards_the_others_hold(name: str) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(4)
    differ = 0
    for _ in range(2):
        for played in random_positions(game, rng, every=5):
            for seat in range(game.num_players):
                other = another(played, seat, rng)
                differ += not np.array_equal(played.state["hand"], other.state["hand"])
                assert json.dumps(round_view(game, played, seat)) == json.dumps(round_view(game, other, seat))
    assert differ > 5, "hands must have been exchanged"


@pytest.mark.parametrize("name", CLIMBING[::2])
def test_a_watcher_sees_what_everybody_does_and_of_agents_all_hands(name: str) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(3)
    for played in random_positions(game, rng, every=7):
        other = another(played, 0, rng)
        views = [json.dumps(round_view(game, one, None)) for one in (played, other)]
        assert views[0] == views[1], "nothing but what everybody sees"
        seen = round_view(game, played, None)["round"]
        assert seen["hands"] == [None] * game.num_players
        every = round_view(game, played, None, hands=True)["round"]
        assert [len(hand) for hand in every["hands"]] == every["rest"] == seen["rest"]
        shown = [card for hand in every["hands"] for card in hand]
        assert len(shown) == len(set(shown))


@pytest.mark.parametrize("name", CLIMBING)
def test_suggestions_are_moves_and_what_they_are_made_of_makes_them(name: str) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(9)
    face = card_face(game)
    assert face is not None
    for played in random_positions(game, rng, every=6):
        if face.spoken(played.legal):
            continue
        for one in face.suggested(played)[:20]:
            moves, why = face.fits(played, one["move"][2])
            assert why is None and moves[0]["move"][0] == one["move"][0], one
            assert set(one["move"][2]) <= set(face.seen(played, played.player)["hands"][played.player])


@pytest.mark.parametrize("name", SPOKEN)
def test_a_seat_is_told_the_same_at_every_history_of_its_infoset(name: str) -> None:
    game = load_game(name)
    told: dict[tuple[int, ...], str] = {}
    shared = 0
    for seed in range(80):
        played = GameRound(game, seed, 0)
        rng = np.random.default_rng(seed)
        while not played.over:
            seat = played.player
            key = (seat, *(int(word) for word in game.infoset_key(played.state, seat)[0]))
            view = json.dumps(round_view(game, played, seat))
            shared += key in told
            assert told.setdefault(key, view) == view
            played.take(int(rng.integers(len(played.legal))))
    assert shared > 20


@pytest.mark.parametrize("name", CLIMBING[::2])
def test_a_hint_is_the_same_whatever_the_others_hold(name: str) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(8)
    rules = "gs2.play.shedding:SHEDDING" if "doudizhu" in name else "gs2.play.big2_shedding:BIG2_SHEDDING"
    for played in random_positions(game, rng, every=9):
        seat = played.player
        other = another(played, seat, rng)
        first, second = (
            agent_view(Seated(game.name, rules), one.history(), progress=progress) for one in (played, other)
        )
        assert first == second and 0 <= first["best"] < first["of"] == len(played.legal)


@pytest.mark.parametrize("name", CLIMBING)
def test_every_card_of_a_round_is_shown_once_and_keeps_its_name(name: str) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(6)
    face = card_face(game)
    assert face is not None
    for number in range(2):
        played = GameRound(game, 11, number)
        seen_plays: list[dict[str, object]] = []
        while not played.over:
            data = face.seen(played, 0)
            assert data["plays"][: len(seen_plays)] == seen_plays, "what was played keeps its cards"
            seen_plays = data["plays"]
            hand = data["hands"][0]
            assert len(hand) == len(set(hand)) == data["rest"][0]
            assert data["hands"][1:] == [None] * (game.num_players - 1)
            played.take(int(rng.integers(len(played.legal))))
        data = face.seen(played, 0)
        shown = [card for hand in data["hands"] for card in hand]
        shown += [card for play in data["plays"] for card in played_cards(play)]
        assert max(Counter(shown).values()) == 1
        assert [len(hand) for hand in data["hands"]] == data["rest"]
        assert sum(seat_points(played)) == 0


def test_a_spring_is_told_where_one_side_had_no_part_in_the_round() -> None:
    game = load_game("doudizhu(spring=true)", general_sum=True)
    face, rng = card_face(game), np.random.default_rng(2)
    assert face is not None
    kinds = set()
    for number in range(12):
        played, still = GameRound(game, 5, number), number % 3
        while not played.over:
            # a seat or a side passes wherever it may; whoever leads plays as much as it can
            passes = (played.player == 0) == (still == 0) and still < 2
            index = len(played.legal) - 1 if not passes else 0
            assert not face.seen(played, 0)["spring"]
            played.take(int(rng.integers(len(played.legal))) if still == 2 else index)
        data = face.seen(played, 0)
        made = Counter(play["seat"] for play in data["plays"] if played_cards(play))
        won = seat_points(played)[0] > 0
        spring = made.keys() == {0} if won else made[0] == 1
        assert data["spring"] == spring
        kinds.add((won, spring))
    assert {(True, True), (False, True)} <= kinds and len(kinds) > 2


@pytest.mark.parametrize("name", CLIMBING)
@pytest.mark.some(3)
def test_cards_are_a_combination_just_where_they_could_be_led(name: str) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(8)
    face = card_face(game)
    assert face is not None
    asked = made = 0
    for played in [one for _ in range(4) for one in random_positions(game, rng, every=1)]:
        seen, kinds = face.seen(played, played.player), face.kinds(played.legal)
        if seen["greater"] is not None or seen.get("opens") or "call" in kinds:
            continue
        suits = bool(seen["suits"])
        texts = [game.action_text(played.state[0], action) for action in played.legal]
        parts = [tuple(sorted(text.split() if suits else text)) for text in texts]
        leads = dict(zip(parts, kinds, strict=True))
        for size in rng.integers(1, 6, 12):
            cards = [str(card) for card in rng.permutation(seen["hands"][played.player])[:size]]
            names = cards if suits else [JOKER_LETTERS.get(card, card[-1]) for card in cards]
            kind = kind_of(face, played, cards)
            assert kind == leads.get(tuple(sorted(names))), cards
            asked, made = asked + 1, made + (kind is not None)
    assert asked > made > 5
    assert [kind_of(face, played, cards) for cards in (["Z9", "??"], [], [""])] == [None] * 3


def test_equal_cards_are_played_as_they_were_chosen() -> None:
    game = DouDizhu()
    face = card_face(game)
    assert face is not None
    chosen = 0
    for number in range(12):
        played = GameRound(game, 3, number)
        texts = [game.action_text(played.state[0], action) for action in played.legal]
        hand = face.seen(played, 0)["hands"][0]
        for index, text in enumerate(texts):
            equal = [card for card in hand if card[-1:] == text[0]]
            if len(text) == 1 and len(equal) > 1:
                last = equal[-1]
                marks = face.marks(played, index, [last])
                assert marks == [last]
                with pytest.raises(GameError, match="must make"):
                    face.marks(played, index, [next(card for card in hand if card[-1:] != text[0])])
                with pytest.raises(GameError, match="must make"):
                    face.marks(played, index, equal)
                played.take(index, marks)
                data = face.seen(played, 0)
                assert last not in data["hands"][0] and played_cards(data["plays"][-1]) == [last]
                # the others see a card of that rank
                assert played_cards(face.seen(played, 1)["plays"][-1])[0][-1:] == text[0]
                chosen += 1
                break
    assert chosen > 6


def test_a_strangers_card_game_is_played_by_its_cards_once_it_has_a_face() -> None:
    (label, (_, game, _)), *_ = own_games([f"{EXAMPLE}:Sevens"]).items()
    assert label == game.name == "own_card_game.py:Sevens"
    face, rng = card_face(game), np.random.default_rng(1)
    assert face is not None
    played = GameRound(game, 2, 1)
    while not played.over:
        seat = played.player
        view = round_view(game, played, seat)
        hand, turn = view["round"]["hands"][seat], view["turn"]["you"]
        assert len(hand) == view["round"]["rest"][seat] and turn["moves"] is None
        offered = face.suggested(played)
        if turn["pass"] is not None:
            assert not offered and face.fits(played, hand[:1])[1] == {"code": "no_combination"}
        for one in offered:
            assert set(one["move"][2]) <= set(hand)
            assert face.fits(played, one["move"][2])[0][0]["index"] == one["index"]
        picked = offered[int(rng.integers(len(offered)))]["index"] if offered else turn["pass"]
        played.take(picked)
    assert sum(seat_points(played)) == 0


def test_a_strangers_game_is_offered_with_agents_of_any_game_and_ones_own() -> None:
    house = GameTables([f"{EXAMPLE}:Keeper"], [f"{EXAMPLE}:Sevens"])
    (offer,) = (one for one in game_offers(house.agents, house.own) if ".py" in one["name"])
    assert offer["seats"] == 3 and offer["options"] == []
    assert [agent["label"] for agent in offer["agents"]] == ["own_card_game.py:Keeper", "random"]
    house.close()
    with pytest.raises(GameError):
        own_games(["leduc_poker"])


def test_a_network_of_a_strangers_game_is_seated_there(tmp_path: Path) -> None:
    where, path = f"{EXAMPLE}:Sevens", tmp_path / "mine.safetensors"
    trainer = MoveTrainer(load_game(where), ClimbingConfig(state=16, blocks=1, action=8, critic=0, rounds=8))
    trainer.save(path)
    with pytest.raises(GameError, match="your own game as --game"):
        GameTables([str(path)])
    house = GameTables([str(path), f"{path}+rollout"], [where])
    label, game = "own_card_game.py:Sevens", house.own["own_card_game.py:Sevens"][1]
    (offer,) = (one for one in game_offers(house.agents, house.own) if one["name"] == label)
    assert [agent["label"] for agent in offer["agents"]] == ["mine", "mine+rollout", "random"]
    house.close()
    played = GameRound(game, 2, 1)
    seated = Seated(where, house.offer(game, "mine").name)
    assert 0 <= agent_answer(seated, played.history(), 0.5, progress=lambda *_: None) < len(played.legal)
