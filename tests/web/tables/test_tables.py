"""Tables of people and agents, over the wire that the page uses."""

from __future__ import annotations

import random

import pytest

from games.guandan.matches.match_game import match_events, parse_matches
from tests.web.serving import Seat, Server


def play_on(seat: Seat, rng: random.Random, moves: int | None = None) -> int:
    """Play at random, going on after each round, for so many choices or to the end; return how many."""
    made = 0
    while moves is None or made < moves:
        state = seat.my_turn()
        if state["match"]["over"]:
            break
        if state["waiting"]:
            seat.next()
            continue
        seat.play(rng.randrange(state["turn"]["you"]["count"]))
        made += 1
    return made


def test_a_whole_match_is_played_and_its_record_keeps_the_rules(server: Server) -> None:
    table, key = server.table(["greedy", "person", "greedy", "random"], seed=5)
    seat, rng = server.seat(table, key), random.Random(1)
    assert seat.state["table"]["you"] == 1
    early = server.http.get(f"/api/tables/{table}/record")
    assert early.status_code == 400 and "every hand" in early.json()["error"]
    while not seat.my_turn()["waiting"]:
        before = seat.state["version"]
        play_on(seat, rng, 1)
    assert seat.ask("error", type="next", version=before)["code"] == "stale", "the result was not seen yet"
    play_on(seat, rng)
    state = seat.state
    assert state["match"]["over"] and state["games_over"][0]["winner"] in (0, 1)
    (record,) = parse_matches(server.http.get(f"/api/tables/{table}/record").text, "record")
    *_, (match, _) = match_events(record)
    assert match.over and match.round == len(state["results"]) and record.agents[1]
    assert match.winner == state["games_over"][0]["winner"]


def test_nobody_sees_the_hands_of_others_while_people_play(server: Server) -> None:
    table, key = server.table(["person", "random", "random", "random"], seed=3)
    seat, watcher = server.seat(table, key), server.seat(table)
    play_on(seat, random.Random(3), 12)
    seat.my_turn()
    assert [hand is None for hand in seat.state["round"]["hands"]] == [False, True, True, True]
    assert watcher.until(lambda s: s["version"] == seat.state["version"])["round"]["hands"] == [None] * 4
    assert watcher.ask("error", type="open", open=True)["code"] == "closed"
    for word in ("play", "suggest", "undo", "hint", "next", "step", "select"):
        answer = watcher.ask("fits", type=word, index=0, version=watcher.state["version"], cards=["S2"])
        assert answer["type"] == "error" and answer["code"] == "not_you", word


def test_undo_goes_back_to_just_before_the_last_own_choice(server: Server) -> None:
    rng = random.Random(0)
    seat = server.seat(*server.table(["random", "random", "person", "greedy"], seed=0))
    seen = []
    while len(seen) < 12:
        state = seat.my_turn_alone()
        if state["waiting"]:
            seat.next()
            seen = []
            continue
        seen.append(state)
        seat.play(rng.randrange(state["turn"]["you"]["count"]))
    for before in reversed(seen):
        now = seat.my_turn()
        assert now["table"]["undo"]
        seat.say(type="undo", version=now["version"])
        now = seat.until(lambda s, version=now["version"]: s["version"] > version)
        for part in ("match", "round", "turn"):
            assert now[part] == before[part], part
        assert not now["waiting"]


def test_what_agents_do_meanwhile_does_not_make_an_undo_stale(server: Server) -> None:
    seat = server.seat(*server.table(["person", "random", "greedy", "random"], seed=4))
    before = seat.my_turn()
    after = seat.play()["version"]
    seat.my_turn()
    assert seat.ask("error", type="undo", version=before["version"])["code"] == "stale"
    seat.say(type="undo", version=after)
    assert seat.until(lambda s: s["round"] == before["round"])


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


def test_picked_cards_name_their_moves_or_say_why_not(server: Server) -> None:
    table, key = server.table(["person", "greedy", "greedy", "greedy"], seed=11)
    seat, rng = server.seat(table, key), random.Random(0)
    codes = set()
    for _ in range(60):
        state = seat.my_turn()
        if state["waiting"] or state["match"]["over"]:
            play_on(seat, rng, 1)
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
