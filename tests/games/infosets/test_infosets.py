"""Infosets are listed, named, and read back from their names."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games import CHANCE, GameError, TwoPlayerGame, decision_infosets, load_game
from games.infosets import find_infoset, infoset_at, naming, normal_text
from games.registry import game_specs
from games.research.kuhn_poker import KuhnPoker
from tests.games.random_games import Node, NodeGame

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "efg.json").read_text())["games"]


def test_every_infoset_is_listed_once_and_by_seat() -> None:
    game = load_game("leduc_poker")
    listed = list(decision_infosets(game))
    assert len({(i.player, i.key) for i in listed}) == len({i.text for i in listed}) == len(listed)
    for player, count in enumerate(RECORDED["leduc_poker"]["infosets"]):
        of_one = list(decision_infosets(game, player=player))
        assert [i for i in listed if i.player == player] == of_one and len(of_one) == count
        assert all(i.text.startswith(f"P{player}") for i in of_one)


def test_the_first_infosets_of_a_huge_game_come_at_once() -> None:
    game = load_game("goofspiel(cards=13,turns=13)")
    first = list(itertools.islice(decision_infosets(game), 26))
    assert first[0].text == "P0 | prize 1"
    assert {i.player for i in first} == {0, 1}


def test_listing_a_huge_game_ends_with_an_error() -> None:
    with pytest.raises(GameError, match="up to 5,000 histories"):
        list(decision_infosets(load_game("liars_dice(dice=5)"), max_states=5000))


@pytest.mark.parametrize("name", [spec.name for spec in game_specs()])
def test_listing_any_game_ends_before_its_states_take_too_much(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, made = load_game(name), []
    step = game.step

    def counted(states: Any, rows: Any, actions: Any) -> Any:
        after = step(states, rows, actions)
        made.append(after.nbytes)
        return after

    monkeypatch.setattr(game, "step", counted)
    monkeypatch.setattr(naming, "MAX_BYTES", 1 << 20)
    with suppress(GameError):
        for _ in itertools.islice(decision_infosets(game), 2_000):
            pass
    assert made and sum(made) <= 1 << 20


def test_listing_a_game_that_makes_one_state_at_a_time_gives_up_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = load_game("goofspiel(cards=13,turns=13)")
    monkeypatch.setattr(game, "one_by_one", True, raising=False)
    with pytest.raises(GameError, match=f"up to {naming.MAX_SLOW:,} histories"):
        list(decision_infosets(game))


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("kuhn_poker", "p1 HOLDS q|Pass", "P1 holds Q | pass"),
        (
            "leduc_poker",
            "P0 holds ks |raise  call| board QH | Check RAISE",
            "P0 holds Ks | raise call | board Qh | check raise",
        ),
        ("liars_dice(dice=2)", "P0 holds 5 2 | 1X2 3x6", "P0 holds 2 5 | 1x2 3x6"),
        ("goofspiel", "p1|prize 3 :bid 2 lost|prize 2", "P1 | prize 3: bid 2 lost | prize 2"),
    ],
)
def test_case_and_spacing_do_not_matter(name: str, text: str, read: str) -> None:
    assert load_game(name).parse_infoset(text).text == read


@pytest.mark.parametrize(
    ("name", "text", "near"),
    [
        ("kuhn_poker", "P2 holds J", "P0 holds J"),
        ("leduc_poker", "P0 holds Ks | raise call | board Ks", "P0 holds Ks | raise call | board Kh"),
        ("leduc_poker", "P0 holds Ks | raise fold call", "P0 holds Ks | raise raise"),
        ("liars_dice(sides=4)", "P0 holds 3 | 1x2 1x1", "P0 holds 3 | 1x2 2x1"),
        ("liars_dice(sides=4)", "P0 holds 1 2", "P0 holds 1"),
        ("goofspiel(cards=4)", "P0 | prize 1: bid 3 won | prize 1", "P0 | prize 4: bid 3 won | prize 1"),
        ("goofspiel(points_order=ascending)", "P0 | prize 2", "P0 | prize 1"),
        ("goofspiel(cards=3)", "P1 | prize 1: bid 3 won | prize 2: bid 3 won", "P1 | prize 1: bid 3 won"),
        ("goofspiel(cards=13,turns=13)", "P0 | prize 14", "P0 | prize 1"),  # too large to list
        ("goofspiel(cards=4)", "", "P0 | prize 1"),
    ],
)
def test_unknown_texts_come_with_near_matches(name: str, text: str, near: str) -> None:
    with pytest.raises(GameError, match="no infoset is called") as caught:
        load_game(name).parse_infoset(text)
    assert near in str(caught.value)


def test_a_game_in_which_nobody_decides_has_no_near_matches() -> None:
    nobody = NodeGame("dealt", [Node(-1, 0, ((), ()), CHANCE, 1), Node(0, 0, ((), ()))])
    with pytest.raises(GameError, match=r'no infoset is called "P0"; nobody decides in this game$'):
        nobody.parse_infoset("P0")


def test_a_game_without_a_reader_of_its_own_is_searched() -> None:
    class Unread(KuhnPoker):
        history_in = TwoPlayerGame.history_in

    for infoset in decision_infosets(KuhnPoker()):
        assert Unread().parse_infoset(infoset.text.upper()) == infoset
        assert find_infoset(Unread(), infoset.text) == infoset
    with pytest.raises(GameError, match='did you mean "P0 holds'):
        Unread().parse_infoset("P0 holds")
    game = KuhnPoker()
    wanted = game.parse_infoset("P1 holds J | bet")
    for other in (1, 2):  # named from any of its histories
        assert infoset_at(game, game.forced(game.root(), other, 0, 1), 1) == wanted


def test_normal_text_is_idempotent() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        text = "".join(rng.choice(list("Pa1 |:,  "), 20))
        assert normal_text(normal_text(text)) == normal_text(text)
