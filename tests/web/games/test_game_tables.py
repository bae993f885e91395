"""Tables of games over the wire that the page uses: whole rounds, refusals, undo, and seats."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from games.record import replayed_rounds
from tests.web.games.playing import play_round
from tests.web.serving import Server

TABLES: tuple[Any, ...] = (
    ("doudizhu", ["rules", "person", "random"], {"landlord": "bid", "spring": True}),
    pytest.param(
        "big2",
        ["person", "rules"],
        {"seats": 2, "bombs": "both", "must_play": True},
        marks=pytest.mark.long,
    ),
    ("leduc_poker", ["person", "cfr"], {}),
    ("goofspiel", ["random", "person"], {}),
)


@pytest.mark.parametrize(("game", "players", "options"), TABLES, ids=lambda value: str(value)[:24])
def test_random_clicks_play_whole_rounds_and_the_score_is_kept(
    server: Server, tmp_path: Path, game: str, players: list[str], options: dict[str, Any]
) -> None:
    table, key = server.table(players, game=game, options=options, seed=7, name="Ann")
    seat = server.seat(table, key)
    rng = random.Random(3)
    total = [0.0] * len(players)
    for number in (1, 2):
        state = play_round(seat, rng)
        assert state["round"]["number"] == number and state["round"]["over"] and state["rounds"] == number
        assert sum(state["round"]["points"]) == pytest.approx(0)
        for at, one in enumerate(state["table"]["seats"]):
            total[one["player"]] += state["round"]["points"][at]
        assert [one["score"] for one in state["table"]["seats"]] == pytest.approx(total)
        seat.go(type="next")
    file = tmp_path / "rounds.jsonl"
    file.write_text(server.http.get(f"/api/tables/{table}/record").text)
    replayed = list(replayed_rounds(file))
    assert [round_.record.pair for round_ in replayed] == [1, 2]
    assert all(round_.record.game.startswith(game) and "Ann" in round_.record.agents for round_ in replayed)
    assert {round_.record.seed for round_ in replayed} == {0}, "a seed would tell the rounds to come"
    assert table in {row["id"] for row in server.get("/api/tables")["tables"]}
    seat.close()


def test_nothing_that_is_sent_during_a_round_tells_a_hidden_card(server: Server) -> None:
    table, key = server.table(["person", "random", "rules", "random"], game="big2", seed=3)
    seat = server.seat(table, key)
    states = [json.dumps(seat.my_turn())]
    rng = random.Random(1)
    while not seat.my_turn()["round"]["over"]:
        seat.play(rng.randrange(seat.state["turn"]["you"]["count"]))
        if not seat.state["round"]["over"]:
            states.append(json.dumps(seat.state))
    hidden = [hand for at, hand in enumerate(seat.state["round"]["hands"]) if at != 0]
    held = {card for hand in hidden for card in hand}
    assert held
    for state in states:
        assert not [card for card in held if f'"{card}"' in state or f"{card} " in state]
        # nor the seed, which tells all
        assert "seed" not in state
    seat.close()


def test_undo_goes_back_to_the_last_choice_also_over_the_end_of_a_round(server: Server) -> None:
    table, key = server.table(["rules", "person", "rules"], game="doudizhu", seed=9)
    seat = server.seat(table, key)
    assert seat.ask(type="undo", version=seat.state["version"])["code"] == "nothing"
    rng = random.Random(4)
    first = seat.my_turn()["round"]
    seat.play(0)
    seat.my_turn()  # else the others' moves may be taken for the answer
    seat.go(type="undo")
    assert seat.my_turn()["round"] == first
    play_round(seat, rng)
    assert seat.state["rounds"] == 1
    seat.go(type="undo")
    assert seat.state["rounds"] == 0 and not seat.state["round"]["over"]
    assert {one["score"] for one in seat.state["table"]["seats"]} == {0.0}
    assert play_round(seat, rng)["rounds"] == 1
    seat.close()


def test_a_new_round_can_change_seats_and_everybody_moves_on_where_that_was_asked(server: Server) -> None:
    table, key = server.table(["person", "rules", "random"], game="doudizhu", seed=1, rotate=True)
    seat = server.seat(table, key)
    seat.go(type="next", seat=2)
    assert seat.state["table"]["you"] == 2 and seat.state["table"]["seats"][0]["name"] == "random"
    assert seat.state["rounds"] == 0, "a round that was given up does not count"
    play_round(seat, random.Random(0))
    seat.go(type="next")
    assert seat.state["table"]["you"] == 0 and seat.state["table"]["seats"][1]["name"] == "random"
    for wrong in (3, -1, True, "0", 1.5, [0]):
        assert seat.ask(type="next", seat=wrong, version=seat.state["version"])["code"] == "wrong"
    seat.close()


def test_what_is_asked_for_twice_on_one_version_is_done_once(server: Server) -> None:
    table, key = server.table(["person", "rules", "rules"], game="doudizhu", seed=9)
    seat = server.seat(table, key)
    seen = []
    while len(seen) < 4:
        seen.append(seat.my_turn()["round"])
        assert not seen[-1]["over"], "the seed's first round is a long one"
        seat.play(0)
    for again, wanted in (("undo", seen[-1]), ("next", None)):
        version = seat.my_turn()["version"]
        for wrong in (None, "5", True, version + 1, version - 40):
            assert seat.ask(type=again, version=wrong)["code"] == "stale", wrong
        number = seat.state["round"]["number"]
        for _ in range(3):
            seat.say(type=again, version=version)
        refused = 0
        while refused < 2:
            answer = seat.hear()
            refused += answer["type"] == "error" and answer["code"] == "stale"
        if wanted is None:
            assert seat.my_turn()["round"]["number"] == number + 1
        else:
            assert seat.my_turn()["round"] == wanted
    seat.close()


def test_a_hint_names_a_legal_move_and_its_values(server: Server) -> None:
    seat = server.seat(*server.table(["person", "random"], game="leduc_poker", seed=2))
    state = seat.my_turn()
    hint: dict[str, Any] = {"status": "thinking"}
    seat.say(type="hint", agent="cfr")
    while hint["status"] == "thinking":
        hint = seat.hear()
    assert hint["status"] == "done", hint
    assert 0 <= hint["best"] < state["turn"]["you"]["count"] == hint["of"]
    assert hint["moves"][0]["index"] == hint["best"]
    assert all(move["value"] is not None for move in hint["moves"])
    seat.play(hint["best"])
    for wrong in ("nobody", "/etc/passwd", "uniform", None, 3, ["cfr"]):
        seat.my_turn()
        assert seat.ask(type="hint", agent=wrong)["type"] == "error"
    seat.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"seats": ["person", "rules"]},
        {"seats": ["person", "rules", "uniform"]},
        {"seats": ["person", "rules", "gs2.play.shedding:SHEDDING"]},
        {"seats": ["person", "rules", "os:system"]},
        {"seats": ["person", "rules", "/etc/passwd"]},
        {"seats": ["person", "rules", "last.safetensors"]},
        {"seats": "person"},
        {"game": "guandan"},
        {"game": "os:system"},
        {"game": "doudizhu(ranks=4)"},
        {"game": "/etc/passwd"},
        {"game": None},
        {"options": {"start": []}},
        {"options": {"ranks": "4"}},
        {"options": {"ranks": 4.0}},
        {"options": {"ranks": 10**30}},
        {"options": {"landlord": "x" * 10_000}},
        {"options": []},
        {"seed": -1},
        {"seed": True},
        {"pace": "fast"},
        {"pace": 1e9},
        {"rotate": 1},
        {"name": "x" * 100},
    ],
    ids=str,
)
def test_tables_that_cannot_be_are_refused_in_words(server: Server, wrong: dict[str, Any]) -> None:
    data = {"game": "doudizhu", "seats": ["person", "rules", "rules"], "options": {}, **wrong}
    answer = server.http.post("/api/tables", json=data)
    assert answer.status_code == 400 and answer.json()["error"], answer.text
    assert len(answer.text) < 2000


def test_a_choice_out_of_turn_out_of_range_or_out_of_date_is_refused(server: Server) -> None:
    table, key = server.table(["person", "rules", "rules"], game="doudizhu", seed=4)
    seat = server.seat(table, key)
    version = seat.my_turn()["version"]
    legal = seat.state["turn"]["you"]["count"]
    for index in (-1, legal, 10**9, True, None, "0", 0.0):
        assert seat.ask(type="play", index=index, version=version)["type"] == "error", index
    stale = seat.ask(type="play", index=0, version=version - 1)
    assert stale["code"] == "stale"
    assert seat.ask(type="play", index=0, version=version, cards=["S2", "S2"])["type"] == "error"
    for cards in ("S2", [2], ["S2"] * 99, None):
        assert seat.ask("fits", type="select", cards=cards)["code"] == "wrong"
    seat.play(0)
    while 0 in seat.state["turn"]["seats"]:
        seat.hear()
    assert seat.ask(type="play", index=0, version=seat.state["version"])["type"] == "error"
    seat.close()


def test_only_the_browser_with_the_key_has_the_seat(server: Server) -> None:
    table, key = server.table(["person", "rules", "rules"], game="doudizhu", seed=4)
    for wrong in ("", "x", key[:-1], key + "x"):
        watcher = server.seat(table, wrong)
        assert watcher.state["table"]["you"] is None and watcher.state["round"]["hands"] == [None] * 3
        assert watcher.ask(type="play", index=0, version=watcher.state["version"])["code"] == "not_you"
        watcher.close()
    assert server.http.get(f"/api/tables/{table}/record").text == "", "no round is over"
    assert server.http.get("/api/tables/none/record").status_code == 404


def test_people_play_a_game_together_and_none_of_them_sees_another_hand(server: Server) -> None:
    table, key = server.table(["person", "rules", "person"], game="doudizhu", seed=4, name="Ann")
    ann = server.seat(table, key)
    assert [seat["kind"] for seat in ann.state["table"]["seats"]] == ["person", "agent", "open"]
    bob = server.seat(table, server.post(f"/api/tables/{table}/seat", {"name": "Bob", "seat": 2})["key"])
    assert [hand is None for hand in bob.state["round"]["hands"]] == [True, True, False]
    assert [seat["name"] for seat in bob.state["table"]["seats"]] == ["Ann", "rules", "Bob"]
    again = server.http.post(f"/api/tables/{table}/seat", json={"name": "Eve"})
    assert again.status_code == 400 and again.json()["code"] == "taken"
    rng = random.Random(2)
    while not ann.until(lambda s: s["round"]["over"] or {0, 2} & set(s["turn"]["seats"]))["round"]["over"]:
        who = ann if ann.state["turn"]["seats"] == [0] else bob
        who.my_turn()
        assert who.ask(type="undo", version=who.state["version"])["code"] == "not_alone"
        version = who.play(rng.randrange(who.state["turn"]["you"]["count"]))["version"]
        ann.until(lambda s, version=version: s["version"] >= version)
    bob.my_turn()
    for one in (ann, bob):  # both press at once: it is dealt once
        one.say(type="next", version=one.state["version"])
    assert ann.until(lambda s: not s["round"]["over"])["round"]["number"] == 2
    assert bob.until(lambda s: not s["round"]["over"])["round"]["number"] == 2
    ann.close()
    bob.close()


def test_a_name_that_is_no_agent_is_a_usage_error() -> None:
    from click.testing import CliRunner

    from gs2.cli import main

    for name in ("nobody", "missing.safetensors", "/etc/passwd.safetensors+rollout"):
        answer = CliRunner().invoke(main, ["web", "--no-open", "--game-agent", name])
        assert answer.exit_code == 2 and name.partition("+")[0] in answer.output, answer.output
