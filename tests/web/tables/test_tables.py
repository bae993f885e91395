"""Tables of people and agents, over the wire that the page uses."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from games.guandan.matches.match_game import match_events, parse_matches
from tests.patience import amount
from tests.web.serving import Seat, Server

FOUR_KINDS = (
    ["person", "greedy", "blueprint", "random"],
    ["random", "person", "greedy", "strong"],
)


def play_on(seat: Seat, rng: random.Random, moves: int | None = None) -> int:
    """Play at random, going on after each round, for so many choices or to the end; return how many."""
    made = 0
    while moves is None or made < moves:
        state = seat.my_turn()
        if state["match"]["over"]:
            break
        if state["waiting"]:
            version = state["version"]
            seat.say(type="next", version=version)
            seat.until(lambda s, version=version: s["version"] > version)
            continue
        seat.play(rng.randrange(state["turn"]["you"]["count"]))
        made += 1
    return made


@pytest.mark.parametrize("seats", FOUR_KINDS, ids="-".join)
@pytest.mark.some(1)
def test_a_whole_match_is_played_and_its_record_keeps_the_rules(server: Server, seats: list[str]) -> None:
    table, key = server.table(seats, seed=5)
    seat = server.seat(table, key)
    assert seat.state["table"]["you"] == seats.index("person")
    early = server.http.get(f"/api/tables/{table}/record")
    assert early.status_code == 400 and "every hand" in early.json()["error"]
    play_on(seat, random.Random(1))
    state = seat.state
    assert state["match"]["over"] and state["games_over"][0]["winner"] in (0, 1)
    (record,) = parse_matches(server.http.get(f"/api/tables/{table}/record").text, "record")
    *_, (match, _) = match_events(record)
    assert match.over and match.round == len(state["results"]) and record.agents[seats.index("person")]
    assert match.winner == state["games_over"][0]["winner"]


def test_nobody_sees_the_hands_of_others_while_people_play(server: Server) -> None:
    table, key = server.table(["person", "random", "random", "random"], seed=3)
    seat, watcher = server.seat(table, key), server.seat(table)
    play_on(seat, random.Random(3), 12)
    seat.my_turn()
    assert [hand is None for hand in seat.state["round"]["hands"]] == [False, True, True, True]
    assert watcher.until(lambda s: s["version"] == seat.state["version"])["round"]["hands"] == [None] * 4
    assert watcher.ask("error", type="open", open=True)["code"] == "closed"
    for word in ("play", "pass", "undo", "hint", "next", "step", "select"):
        answer = watcher.ask("fits", type=word, index=0, version=watcher.state["version"], cards=["S2"])
        assert answer["type"] == "error" and answer["code"] == "not_you", word


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.some(1)
def test_a_cut_connection_and_a_killed_server_lose_nothing(
    own_server: Callable[..., Server], seed: int
) -> None:
    server, rng = own_server(), random.Random(seed)
    table, key = server.table(["person", "random", "greedy", "random"], seed=seed, games=2)
    seat = server.seat(table, key)
    for step in range(amount(4, 2)):
        play_on(seat, rng, rng.randrange(1, 60))
        before = seat.my_turn_alone()
        if step % 2 == 0:
            seat.line.socket.close()
        else:
            server.kill()
            server.start()
        seat = server.seat(table, key)
        after = seat.my_turn_alone()
        for part in ("match", "round", "turn", "results", "games_over", "waiting"):
            assert after[part] == before[part], part
        assert after["table"]["you"] == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.some(1)
def test_undo_goes_back_to_just_before_the_last_own_choice(server: Server, seed: int) -> None:
    rng = random.Random(seed)
    table, key = server.table(["random", "random", "person", "greedy"], seed=seed)
    seat = server.seat(table, key)
    seen = []
    for _ in range(rng.randrange(5, 60)):
        state = seat.my_turn_alone()
        if state["waiting"]:
            play_on(seat, rng, 1)
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


def test_undo_survives_a_kill_and_is_refused_with_company(own_server: Callable[..., Server]) -> None:
    server = own_server()
    table, key = server.table(["person", "random", "person", "random"], seed=1)
    seat = server.seat(table, key)
    other = server.post(f"/api/tables/{table}/seat", {"name": "Bob", "seat": 2})
    partner = server.seat(table, other["key"])
    assert {s["name"] for s in partner.state["table"]["seats"] if s["kind"] == "person"} == {"You", "Bob"}
    again = server.http.post(f"/api/tables/{table}/seat", json={"name": "Eve"})
    assert again.status_code == 400 and again.json()["code"] == "taken"
    for _ in range(6):
        turn = seat.until(lambda s: {0, 2} & set(s["turn"]["seats"]))["turn"]["seats"]
        who = seat if 0 in turn else partner
        who.my_turn()
        version = who.play(0)["version"]
        seat.until(lambda s, version=version: s["version"] >= version)
    assert seat.ask("error", type="undo", version=seat.state["version"])["code"] == "not_alone"
    alone, key = server.table(["person", "random", "random", "random"], seed=2)
    mine = server.seat(alone, key)
    first = mine.my_turn()
    mine.play(0)
    mine.say(type="undo", version=mine.my_turn()["version"])
    mine.until(lambda s: s["round"] == first["round"])
    server.kill()
    server.start()
    assert server.seat(alone, key).my_turn()["round"] == first["round"]


def test_what_is_asked_for_twice_on_one_version_is_done_once(server: Server) -> None:
    table, key = server.table(["person", "random", "greedy", "random"], seed=4)
    seat = server.seat(table, key)
    seen = []
    while len(seen) < 4:
        seen.append(seat.my_turn())
        seat.play(0)
    version = seat.my_turn()["version"]
    for wrong in (None, "5", True, version + 1, version - 40, seen[-1]["version"]):
        assert seat.ask("error", type="undo", version=wrong)["code"] == "stale", wrong
    assert seat.state["version"] == version, "nothing was taken back"
    for _ in range(3):
        seat.say(type="undo", version=version)
    refused: list[str] = []
    while len(refused) < 2:
        answer = seat.hear()
        refused += [answer["code"]] if answer["type"] == "error" else []
    assert refused == ["stale", "stale"]
    assert seat.my_turn()["round"] == seen[-1]["round"]
    # what agents do meanwhile does not make it stale
    after = seat.play()["version"]
    seat.my_turn()
    seat.say(type="undo", version=after)
    assert seat.until(lambda s: s["round"] == seen[-1]["round"])


def test_a_result_is_left_by_those_who_have_seen_it(server: Server) -> None:
    table, key = server.table(["person", "random", "greedy", "random"], seed=4)
    seat = server.seat(table, key)
    while not (state := seat.my_turn())["waiting"]:
        before = state["version"]
        seat.play(0)
    assert seat.ask("error", type="next", version=before)["code"] == "stale"
    seat.say(type="next", version=state["version"])
    seat.until(lambda s: not s["waiting"])


def test_a_choice_is_good_until_its_own_choices_change(server: Server) -> None:
    """Two seats pay tribute at once: what one chooses does not make the other's click stale."""
    found = False
    for seed in range(40):
        table, key = server.table(["person", "random", "person", "random"], seed=seed)
        other = server.post(f"/api/tables/{table}/seat", {"name": "Bob", "seat": 2})
        seats = {0: server.seat(table, key), 2: server.seat(table, other["key"])}
        while not found:
            state = seats[0].until(
                lambda s: {0, 2} & set(s["turn"]["seats"]) or s["waiting"] or s["match"]["over"]
            )
            seats[2].until(lambda s, version=state["version"]: s["version"] >= version)
            if state["match"]["over"] or len(state["results"]) > 3:
                break
            version = state["version"]
            if state["waiting"]:
                seats[0].say(type="next", version=version)
            elif state["turn"]["seats"] == [0, 2] and state["round"]["phase"] == "tribute":
                found = True
                seats[0].say(type="play", index=0, version=version)
                seats[2].say(type="play", index=0, version=version)
                for one in seats.values():
                    one.until(lambda s: s["round"]["phase"] != "tribute")
                stale = seats[0].ask("error", type="play", index=0, version=version)
                assert stale["code"] in ("stale", "not_your_turn")
            else:
                seats[state["turn"]["seats"][0]].say(type="play", index=0, version=version)
            for one in seats.values():
                one.until(lambda s, version=version: s["version"] > version)
        if found:
            return
    raise AssertionError("no deal of these has two payers among the people")


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
            seat.say(type="pass", version=version)
            seat.until(lambda s, version=version: s["version"] > version)
    assert {None, "none_selected"} < codes and len(codes) > 3
    state = seat.my_turn()
    unknown = seat.ask("fits", type="select", cards=["XX", "<b>"])
    assert not unknown["moves"] and unknown["why"]["code"] in ("not_held", "not_your_turn")


def test_a_hint_compares_moves_that_can_be_played(server: Server) -> None:
    table, key = server.table(["person", "blueprint", "blueprint", "blueprint"], seed=21)
    seat = server.seat(table, key)
    for _ in range(3):
        state = seat.my_turn()
        if state["waiting"]:
            break
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


def test_watchers_see_open_hands_and_steer_tables_of_agents(server: Server) -> None:
    table, key = server.table(["random", "greedy", "random", "greedy"], seed=9, pace=10)
    assert key is None
    watcher = server.seat(table)
    assert all(len(hand) == 27 for hand in watcher.state["round"]["hands"])
    watcher.say(type="open", open=False)
    assert watcher.until(lambda s: not s["table"]["open"])["round"]["hands"] == [None] * 4
    watcher.say(type="pace", paused=True)
    watcher.until(lambda s: s["table"]["paused"])
    for made in range(1, 4):
        watcher.say(type="step")
        watcher.until(lambda s, made=made: len(s["round"]["plays"]) == made)
    watcher.say(type="pace", pace=0, paused=False)
    watcher.until(lambda s: s["match"]["over"])
    assert server.http.get(f"/api/tables/{table}/record").status_code == 200


@pytest.mark.long
def test_a_folder_serves_one_server_and_a_damaged_table_is_left_alone(
    own_server: Callable[..., Server],
) -> None:
    server = own_server()
    table, key = server.table(["person", "random", "random", "random"], seed=1)
    seat = server.seat(table, key)
    play_on(seat, random.Random(0), 5)
    before = seat.my_turn()
    server.kill()
    whole = (server.folder / f"{table}.jsonl").read_bytes()
    (server.folder / f"{table}.jsonl").write_bytes(whole + b'{"choose":[0,')  # a kill in mid-line
    (server.folder / "damaged-one.jsonl").write_bytes(b"".join(whole.splitlines(True)[1:]))
    (server.folder / "another-one.jsonl").write_text('{"gs2":"web table","version":1,"id":"another-one"}\n')
    (server.folder / "foreign-seat.jsonl").write_text(
        '{"gs2":"web table","version":1,"id":"foreign-seat","seats":["person","/etc/x.py:A","x","x"]}\n'
    )
    server.start()
    assert server.seat(table, key).my_turn()["round"] == before["round"]
    said = " ".join(" ".join(server.said).split())
    for name in ("damaged-one", "another-one", "foreign-seat"):
        assert f"{name}.jsonl" in said
        assert (server.folder / f"{name}.jsonl").exists()
    assert len(server.get("/api/tables")["tables"]) == 1


def test_no_worker_outlives_a_killed_server(own_server: Callable[..., Server]) -> None:
    import time
    from pathlib import Path

    server = own_server()
    assert server.process is not None
    server.seat(*server.table(["person", "greedy", "blueprint", "greedy"]))
    tasks = Path(f"/proc/{server.process.pid}/task")
    if not tasks.is_dir():
        pytest.skip("this system does not list a process's children")
    children = [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
    assert children
    server.kill()
    limit = time.monotonic() + 20
    while alive := [pid for pid in children if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < limit, alive
        time.sleep(0.1)


def test_ctrl_c_ends_the_server_in_words(own_server: Callable[..., Server]) -> None:
    import signal

    server = own_server()
    server.seat(*server.table(["person", "random", "random", "random"]))
    assert server.end(signal.SIGINT) == 130
