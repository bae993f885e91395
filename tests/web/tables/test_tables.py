"""Tables of people and agents over the wire that the page uses: whole rounds, refusals, undo, and seats."""

from __future__ import annotations

import json
import random
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from games.guandan.matches.match_game import match_events
from games.guandan.rules import as_rules
from games.record import parse_rounds, replayed_rounds
from gs2.web.tables.table_log import read_table
from tests.web.serving import Server

GAMES: tuple[Any, ...] = (
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
LANDLORD: dict[str, Any] = {"seats": ["person", "rules", "rules"], "game": "doudizhu"}


def test_a_whole_match_is_played_and_its_record_keeps_the_rules(server: Server) -> None:
    table, key = server.table(["greedy", "person", "greedy", "random"], seed=5, rules="njupt")
    seat, rng = server.seat(table, key), random.Random(1)
    assert seat.state["table"]["you"] == 1
    early = server.http.get(f"/api/tables/{table}/record")
    assert early.status_code == 400 and "every hand" in early.json()["error"]
    while not seat.my_turn()["waiting"]:
        before = seat.state["version"]
        seat.play_on(rng, 1)
    assert seat.ask("error", type="next", version=before)["code"] == "stale", "the result was not seen yet"
    state = seat.play_on(rng)
    assert state["match"]["over"] and state["games_over"][0]["winner"] in (0, 1)
    ((_, record),) = parse_rounds(server.http.get(f"/api/tables/{table}/record").text, "record")
    *_, (match, _) = match_events(record)
    assert match.rules == as_rules("njupt")
    assert match.over and match.round == len(state["results"]) and record.agents[1]
    assert match.winner == state["games_over"][0]["winner"]


@pytest.mark.parametrize(("game", "players", "options"), GAMES, ids=lambda value: str(value)[:24])
def test_random_clicks_play_whole_rounds_and_the_score_is_kept(
    server: Server, tmp_path: Path, game: str, players: list[str], options: dict[str, Any]
) -> None:
    table, key = server.table(players, game=game, options=options, seed=7, name="Ann")
    seat = server.seat(table, key)
    rng = random.Random(3)
    total = [0.0] * len(players)
    for number in (1, 2):
        state = seat.play_on(rng)
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


@pytest.mark.parametrize("game", ["guandan", "big2"])
def test_nobody_is_sent_the_hands_of_others_while_people_play(server: Server, game: str) -> None:
    table, key = server.table(["person", "random", "random", "random"], game=game, seed=3)
    assert key is not None
    seat = server.seat(table, key)
    states: list[str] = []
    rng = random.Random(3)
    while len(states) < {"guandan": 12, "big2": 99}[game] and not seat.my_turn()["round"]["over"]:
        assert [hand is None for hand in seat.state["round"]["hands"]] == [False, True, True, True]
        states.append(json.dumps(seat.state))
        seat.play_on(rng, 1)
    for wrong in ("", "x", key[:-1], key + "x", None):  # only the browser with the key has the seat
        watcher = server.seat(table, wrong)
        assert watcher.state["table"]["you"] is None
        assert watcher.state["round"]["over"] or watcher.state["round"]["hands"] == [None] * 4
        assert watcher.ask("error", type="open", open=True)["code"] == "closed"
        for word in ("play", "suggest", "undo", "hint", "next", "step", "select"):
            answer = watcher.ask("fits", type=word, index=0, version=watcher.state["version"], cards=["S2"])
            assert answer["type"] == "error" and answer["code"] == "not_you", word
        watcher.close()
    if game == "big2":  # in two decks each card is there twice
        held = set(chain(*seat.play_on(rng)["round"]["hands"][1:]))
        assert held
        for state in states:
            assert not [card for card in held if f'"{card}"' in state or f"{card} " in state]
            assert "seed" not in state, "it tells all"
    seat.close()


@pytest.mark.parametrize(
    ("game", "seats"),
    [("guandan", ["random", "random", "person", "greedy"]), ("doudizhu", ["rules", "person", "rules"])],
)
def test_undo_goes_back_to_just_before_each_own_choice(server: Server, game: str, seats: list[str]) -> None:
    seat, rng = server.seat(*server.table(seats, game=game, seed=0)), random.Random(0)
    assert seat.ask("error", type="undo", version=seat.state["version"])["code"] == "nothing"
    seen: list[dict[str, Any]] = []
    after = 0
    while game == "doudizhu" or len(seen) < 12:
        state = seat.my_turn_alone()
        if state["round"]["over"]:
            break  # choices are taken back also over the end of a game's round
        if state["waiting"]:
            seat.next()
            seen = []
            continue
        seen.append(state)
        after = seat.play(rng.randrange(state["turn"]["you"]["count"]))["version"]
    seat.my_turn()  # what agents do meanwhile does not make an undo stale
    assert seat.ask("error", type="undo", version=seen[-1]["version"])["code"] == "stale"
    for before in reversed(seen):
        assert seat.state["table"]["undo"]
        seat.go(type="undo", version=after)
        now = seat.my_turn()
        for part in ("match", "round", "turn", "rounds"):
            assert now.get(part) == before.get(part), part
        assert not now["waiting"] and [one.get("score") for one in now["table"]["seats"]] == [
            one.get("score") for one in before["table"]["seats"]
        ]
        after = now["version"]
    if game != "guandan":
        assert seat.play_on(rng)["rounds"] == 1
    seat.close()


def test_a_choice_is_good_until_its_own_choices_change(server: Server) -> None:
    """Two seats pay tribute at once: what one chooses does not make the other's click stale."""
    table, key = server.table(["person", "random", "person", "random"], seed=0)
    other = server.post(f"/api/tables/{table}/seat", {"name": "Bob", "seat": 2})
    seats = {0: server.seat(table, key), 2: server.seat(table, other["key"])}
    while True:
        state = seats[0].until(
            lambda s: {0, 2} & set(s["turn"]["seats"]) or s["waiting"] or s["match"]["over"]
        )
        assert not state["match"]["over"], "the seed deals no hands of which two pay"
        version = state["version"]
        seats[2].until(lambda s, version=version: s["version"] >= version)
        if state["waiting"]:
            seats[0].next()
        elif state["turn"]["seats"] == [0, 2] and state["round"]["phase"] == "tribute":
            break
        else:
            seats[state["turn"]["seats"][0]].say(type="play", index=0, version=version)  # they pass, and lose
        for one in seats.values():
            one.until(lambda s, version=version: s["version"] > version)
    for one in seats.values():
        one.say(type="play", index=0, version=version)
    for one in seats.values():
        one.until(lambda s: s["round"]["phase"] != "tribute")
    stale = seats[0].ask("error", type="play", index=0, version=version)
    assert stale["code"] in ("stale", "not_your_turn")


def test_what_is_asked_for_twice_on_one_version_is_done_once(server: Server) -> None:
    table, key = server.table(**LANDLORD, seed=9)
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


def test_a_choice_out_of_turn_out_of_range_or_out_of_date_is_refused(server: Server) -> None:
    table, key = server.table(**LANDLORD, seed=4)
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


def test_people_play_a_game_together_and_none_of_them_sees_another_hand(server: Server) -> None:
    table, key = server.table(["person", "rules", "person"], game="doudizhu", seed=4, name="Ann")
    ann = server.seat(table, key)
    assert [seat["kind"] for seat in ann.state["table"]["seats"]] == ["person", "agent", "open"]
    assert server.http.get(f"/api/tables/{table}/record").text == "", "no round is over"
    assert server.http.get("/api/tables/none/record").status_code == 404
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
    for one in (ann, bob):
        assert one.until(lambda s: not s["round"]["over"])["round"]["number"] == 2
        one.close()


def test_a_new_round_can_change_seats_and_everybody_moves_on_where_that_was_asked(server: Server) -> None:
    table, key = server.table(["person", "rules", "random"], game="doudizhu", seed=1, rotate=True)
    seat = server.seat(table, key)
    seat.go(type="next", seat=2)
    assert seat.state["table"]["you"] == 2 and seat.state["table"]["seats"][0]["name"] == "random"
    assert seat.state["rounds"] == 0, "a round that was given up does not count"
    seat.play_on(random.Random(0))
    seat.go(type="next")
    assert seat.state["table"]["you"] == 0 and seat.state["table"]["seats"][1]["name"] == "random"
    for wrong in (3, -1, True, "0", 1.5, [0]):
        assert seat.ask(type="next", seat=wrong, version=seat.state["version"])["code"] == "wrong"
    seat.close()


@pytest.mark.parametrize(("game", "agents"), [("guandan", "greedy"), ("big2", "rules")])
def test_watchers_see_open_hands_and_steer_tables_of_agents(server: Server, game: str, agents: str) -> None:
    table, key = server.table(["random", agents] * 2, game=game, seed=9, pace=10)
    assert key is None
    watcher = server.seat(table)
    cards = {"guandan": 27, "big2": 13}[game]
    assert all(len(hand) == cards for hand in watcher.state["round"]["hands"])
    watcher.say(type="open", open=False)
    assert watcher.until(lambda s: not s["table"]["open"])["round"]["hands"] == [None] * 4
    watcher.say(type="pace", paused=True)
    watcher.until(lambda s: s["table"]["paused"])
    for made in range(1, 4):
        watcher.say(type="step")
        watcher.until(lambda s, made=made: len(s["round"]["plays"]) == made)
    watcher.say(type="pace", pace=0, paused=False)
    watcher.until(lambda s: len(s["round"]["plays"]) > 4)
    if game == "big2":  # the next round is dealt on demand
        assert watcher.until(lambda s: s["round"]["over"])["rounds"] == 1
        watcher.say(type="next")
        assert watcher.until(lambda s: s["round"]["number"] == 2)


def test_picked_cards_name_their_moves_or_say_why_not(server: Server) -> None:
    table, key = server.table(["person", "greedy", "greedy", "greedy"], seed=11)
    seat, rng = server.seat(table, key), random.Random(0)
    codes = set()
    for _ in range(60):
        state = seat.my_turn()
        if state["waiting"] or state["match"]["over"]:
            seat.play_on(rng, 1)
            continue
        hand = state["round"]["hands"][0]
        picked = rng.sample(hand, rng.randrange(0, min(6, len(hand)) + 1))
        answer = seat.ask("fits", type="select", cards=picked, id=4)
        assert answer["id"] == 4 and bool(answer["moves"]) != bool(answer["why"])
        codes.add((answer["why"] or {}).get("code"))
        for move in answer["moves"]:
            assert sorted(move["move"][2]) == sorted(picked)
        offered = seat.ask("suggestions", type="suggest")["moves"]
        chosen = answer["moves"] or offered
        if chosen:
            assert seat.play(rng.choice(chosen)["index"])
        else:
            version = seat.state["version"]
            seat.say(type="play", index=state["turn"]["you"]["pass"], version=version)
            seat.until(lambda s, version=version: s["version"] > version)
    assert {None, "none_selected"} < codes and len(codes) > 3
    state = seat.my_turn()
    unknown = seat.ask("fits", type="select", cards=["XX", "<b>"])
    assert not unknown["moves"] and unknown["why"]["code"] in ("not_held", "not_your_turn")


def test_a_hint_compares_moves_that_can_be_played(server: Server) -> None:
    table, key = server.table(["person", "blueprint", "blueprint", "blueprint"], seed=21)
    seat = server.seat(table, key)
    for _ in range(2):
        state = seat.my_turn()
        thinking = seat.ask("hint", type="hint")
        assert thinking["status"] == "thinking"
        while (answer := seat.hear())["type"] != "hint":
            pass
        assert answer["status"] == "done" and answer["since"] == state["since"], answer
        count = state["turn"]["you"]["count"]
        assert 0 <= answer["index"] < count
        if answer["explanation"] is not None:
            for move in answer["explanation"]["moves"]:
                cards = [] if move["notation"][0] == "PASS" else move["notation"][2]
                assert 0 <= move["index"] < count
                assert set(cards) <= set(state["round"]["hands"][0])
        seat.play(answer["index"])


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


def test_a_long_seed_is_kept_to_its_last_digit(server: Server) -> None:
    for seed in (2**53 + 1, 2**63 - 1):
        table, _ = server.table(**LANDLORD, seed=str(seed))  # as the page sends it
        assert read_table(server.folder / f"{table}.jsonl")[0].seed == seed


@pytest.mark.parametrize(
    "wrong",
    [
        {"seats": ["person", "rules"]},
        {"seats": "person"},
        *(
            {"seats": ["person", "rules", who]}
            for who in (
                "uniform",
                "gs2.play.shedding:SHEDDING",
                "os:system",
                "/etc/passwd",
                "last.safetensors",
            )
        ),
        *({"game": "guandan", "seats": ["greedy"] * 4, "rules": rules} for rules in ("house", 3, {}, None)),
        *({"game": name} for name in ("guandan", "os:system", "doudizhu(ranks=4)", "/etc/passwd", None)),
        {"options": {"start": []}},
        {"options": {"ranks": "4"}},
        {"options": {"ranks": 4.0}},
        {"options": {"ranks": 10**30}},
        {"options": {"landlord": "x" * 10_000}},
        {"options": []},
        *({"seed": seed} for seed in (-1, "-1", "1e3", "seven", "9" * 30)),
        {"seed": True},
        {"pace": "fast"},
        {"pace": 1e9},
        {"rotate": 1},
        {"name": "x" * 100},
    ],
    ids=str,
)
def test_tables_that_cannot_be_are_refused_in_words(server: Server, wrong: dict[str, Any]) -> None:
    data = {**LANDLORD, "options": {}, **wrong}
    answer = server.http.post("/api/tables", json=data)
    assert answer.status_code == 400 and answer.json()["error"], answer.text
    assert len(answer.text) < 2000
