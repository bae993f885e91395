"""Tables of games over the wire that the page uses: whole rounds, refusals, undo, seats, and kills."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from games.record import replayed_rounds
from tests.patience import SHARED, amount
from tests.web.games.playing import GameSeat, new_table, play_round
from tests.web.serving import Server
from tests.web.test_security import JSON

TABLES: tuple[tuple[str, list[str], dict[str, Any]], ...] = (
    ("doudizhu", ["person", "rules", "random"], {}),
    ("doudizhu", ["rules", "person", "rules+search"], {"landlord": "bid", "spring": True}),
    ("big2", ["rules", "random", "person", "rules+search"], {}),
    ("big2", ["person", "rules"], {"players": 2, "bombs": "both", "must_play": True}),
    ("leduc_poker", ["person", "cfr"], {}),
    ("kuhn_poker", ["random", "person"], {"cards": 5}),
    ("liars_dice", ["person", "cfr"], {"sides": 4}),
    ("goofspiel", ["random", "person"], {}),
)


@pytest.mark.parametrize(("game", "players", "options"), TABLES, ids=lambda value: str(value)[:24])
@pytest.mark.some(5)
def test_random_clicks_play_whole_rounds_and_the_score_is_kept(
    server: Server, tmp_path: Path, game: str, players: list[str], options: dict[str, Any]
) -> None:
    table, key = new_table(server, game, players, options=options, seed=7, name="Ann")
    seat = GameSeat(server, table, key)
    rng = random.Random(3)
    total = [0.0] * len(players)
    rounds = 2 if "rules+search" not in players else amount(2, 1)  # a round of searches takes ten seconds
    for number in range(1, rounds + 1):
        state = play_round(seat, rng)
        assert state["number"] == number and state["round"]["over"] and state["rounds"] == number
        assert sum(state["round"]["points"]) == pytest.approx(0)
        for at, one in enumerate(state["table"]["seats"]):
            total[one["player"]] += state["round"]["points"][at]
        assert [one["score"] for one in state["table"]["seats"]] == pytest.approx(total)
        seat.go(type="round")
    file = tmp_path / "rounds.jsonl"
    file.write_text(server.http.get(f"/api/game-tables/{table}/record").text)
    replayed = list(replayed_rounds(file))
    assert [round_.record.pair for round_ in replayed] == list(range(1, rounds + 1))
    assert all(round_.record.game.startswith(game) and "Ann" in round_.record.agents for round_ in replayed)
    assert table in {row["id"] for row in server.get("/api/game-tables")["tables"]}
    seat.close()


def test_a_line_is_kept_for_longer_than_clients_keep_it_idle(server: Server) -> None:
    line = http.client.HTTPConnection(server.url.split("/")[-1], timeout=10)
    line.connect()
    first = line.sock
    for idle in (5.5, 0):  # five seconds are what clients and servers commonly have, and they then race
        line.request("GET", "/api/agents")
        answer = line.getresponse()
        assert answer.status == 200 and answer.read() and line.sock is first
        time.sleep(idle)
    line.close()


def test_nothing_that_is_sent_during_a_round_tells_a_hidden_card(server: Server) -> None:
    table, key = new_table(server, "big2", ["person", "random", "rules", "random"], seed=3)
    seat = GameSeat(server, table, key)
    states = [json.dumps(seat.due())]
    rng = random.Random(1)
    while not seat.due()["round"]["over"]:
        seat.take(rng.randrange(len(seat.state["round"]["moves"]["texts"])))
        if not seat.state["round"]["over"]:
            states.append(json.dumps(seat.state))
    hidden = [hand for at, hand in enumerate(seat.state["round"]["cards"]["hands"]) if at != 0]
    held = {card for hand in hidden for card in hand}
    assert held
    for state in states:
        assert not [card for card in held if f'"{card}"' in state or f"{card} " in state]
        # nor the seed, which tells all
        assert "seed" not in state
    seat.close()


def test_a_reload_and_a_killed_server_keep_the_round(own_server: Callable[..., Server]) -> None:
    server = own_server()
    games = (("doudizhu", ["person", "rules", "random"]), ("leduc_poker", ["random", "person"]))
    tables = [new_table(server, game, players, seed=5, rotate=True) for game, players in games]
    rng = random.Random(2)
    before = []
    for table, key in tables:
        seat = GameSeat(server, table, key)
        play_round(seat, rng)
        seat.go(type="round")
        play_round(seat, rng, 2)
        before.append(seat.due())
        again = GameSeat(server, table, key)
        assert again.due() == seat.state
    server.kill()
    server.start()
    for (table, key), state in zip(tables, before, strict=True):
        after = GameSeat(server, table, key)
        assert {**after.due(), "version": 0} == {**state, "version": 0}
        assert play_round(after, rng)["rounds"] == 2
        after.close()


def test_a_damaged_table_is_named_and_left_alone(own_server: Callable[..., Server], tmp_path: Path) -> None:
    folder = tmp_path / "own"
    server = own_server(folder=folder)
    tables = [new_table(server, "kuhn_poker", ["person", "random"], seed=seed) for seed in range(4)]
    for table, key in tables:
        seat = GameSeat(server, table, key)
        play_round(seat, random.Random(0))
        seat.close()
    server.kill()
    files = [folder / f"{table}.jsonl" for table, _ in tables]
    files[0].write_text(files[0].read_text().replace("kuhn_poker", "/etc/passwd"))
    files[1].write_text(files[1].read_text() + '{"choose":[0,99]}\n')
    files[2].write_bytes(files[2].read_bytes() + b'{"round":[0')  # cut off by a kill: only that line is lost
    server.start()
    told = " ".join(server.said)
    assert files[0].stem in told and files[1].stem in told and files[2].stem not in told
    assert {row["id"] for row in server.get("/api/game-tables")["tables"]} == {tables[2][0], tables[3][0]}
    assert GameSeat(server, *tables[2]).state["rounds"] == 1


def test_undo_goes_back_to_the_last_choice_also_over_the_end_of_a_round(server: Server) -> None:
    table, key = new_table(server, "doudizhu", ["rules", "person", "rules"], seed=9)
    seat = GameSeat(server, table, key)
    assert seat.ask(type="undo", version=seat.state["version"])["code"] == "nothing"
    rng = random.Random(4)
    first = seat.due()["round"]
    seat.take(0)
    seat.due()  # else the others' moves may be taken for the answer
    seat.go(type="undo")
    assert seat.due()["round"] == first
    play_round(seat, rng)
    assert seat.state["rounds"] == 1
    seat.go(type="undo")
    assert seat.state["rounds"] == 0 and not seat.state["round"]["over"]
    assert {one["score"] for one in seat.state["table"]["seats"]} == {0.0}
    assert play_round(seat, rng)["rounds"] == 1
    seat.close()


def test_a_new_round_can_change_seats_and_everybody_moves_on_where_that_was_asked(server: Server) -> None:
    table, key = new_table(server, "doudizhu", ["person", "rules", "random"], seed=1, rotate=True)
    seat = GameSeat(server, table, key)
    seat.go(type="round", seat=2)
    assert seat.state["table"]["you"] == 2 and seat.state["table"]["seats"][0]["label"] == "random"
    assert seat.state["rounds"] == 0, "a round that was given up does not count"
    play_round(seat, random.Random(0))
    seat.go(type="round")
    assert seat.state["table"]["you"] == 0 and seat.state["table"]["seats"][1]["label"] == "random"
    for wrong in (3, -1, True, "0", 1.5, [0]):
        assert seat.ask(type="round", seat=wrong, version=seat.state["version"])["code"] == "wrong"
    seat.close()


def test_what_is_asked_for_twice_on_one_version_is_done_once(server: Server) -> None:
    table, key = new_table(server, "doudizhu", ["person", "rules", "rules"], seed=9)
    seat = GameSeat(server, table, key)
    seen = []
    while len(seen) < 4:
        seen.append(seat.due()["round"])
        assert not seen[-1]["over"], "the seed's first round is a long one"
        seat.take(0)
    for again, wanted in (("undo", seen[-1]), ("round", None)):
        version = seat.due()["version"]
        for wrong in (None, "5", True, version + 1, version - 40):
            assert seat.ask(type=again, version=wrong)["code"] == "stale", wrong
        number = seat.state["number"]
        for _ in range(3):
            seat.say(type=again, version=version)
        refused = 0
        while refused < 2:
            answer = seat.hear()
            refused += answer["type"] == "error" and answer["code"] == "stale"
        if wanted is None:
            assert seat.due()["number"] == number + 1
        else:
            assert seat.due()["round"] == wanted
    seat.close()


@pytest.mark.parametrize(("game", "players"), [("doudizhu", 3), ("big2", 4), ("leduc_poker", 2)])
def test_a_hint_names_a_legal_move_and_its_values_where_the_agent_has_them(
    server: Server, game: str, players: int
) -> None:
    agent = "cfr" if game == "leduc_poker" else "rules"
    table, key = new_table(server, game, ["person", *["random"] * (players - 1)], seed=2)
    seat = GameSeat(server, table, key)
    state = seat.due()
    hint: dict[str, Any] = {"status": "thinking"}
    seat.say(type="hint", agent=agent, version=state["version"])
    while hint["status"] == "thinking":
        hint = seat.hear()
    assert hint["status"] == "done", hint
    assert 0 <= hint["best"] < len(state["round"]["moves"]["texts"]) == hint["of"]
    assert hint["moves"][0]["index"] == hint["best"]
    assert all((move["value"] is not None) == (agent == "cfr") for move in hint["moves"])
    seat.take(hint["best"])
    for wrong in ("nobody", "/etc/passwd", "uniform", None, 3, ["rules"]):
        assert seat.ask(type="hint", agent=wrong, version=seat.due()["version"])["type"] == "error"
    seat.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"players": ["person", "rules"]},
        {"players": ["person", "person", "rules"]},
        {"players": ["rules", "rules", "rules"]},
        {"players": ["person", "rules", "uniform"]},
        {"players": ["person", "rules", "gs2.play.shedding:SHEDDING"]},
        {"players": ["person", "rules", "os:system"]},
        {"players": ["person", "rules", "/etc/passwd"]},
        {"players": ["person", "rules", "last.safetensors"]},
        {"players": "person"},
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
    data = {"game": "doudizhu", "players": ["person", "rules", "rules"], "options": {}, **wrong}
    answer = server.http.post("/api/game-tables", json=data)
    assert answer.status_code == 400 and answer.json()["error"], answer.text
    assert len(answer.text) < 2000


@settings(max_examples=amount(40), deadline=None, suppress_health_check=SHARED)
@given(field=st.sampled_from(["game", "players", "options", "seed", "pace", "rotate", "name"]), value=JSON)
def test_generated_nonsense_hurts_nobody(server: Server, field: str, value: object) -> None:
    data = {"game": "kuhn_poker", "players": ["person", "random"], "options": {}, field: value}
    answer = server.http.post("/api/game-tables", json=data)
    assert answer.status_code in (201, 400), answer.text


@settings(max_examples=amount(25), deadline=None, suppress_health_check=SHARED)
@given(
    messages=st.lists(
        st.text(max_size=60)
        | JSON.map(json.dumps)
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["play", "undo", "round", "hint", "pace"])},
            optional=dict.fromkeys(("index", "cards", "version", "pace", "seat", "agent"), JSON),
        ).map(json.dumps),
        min_size=1,
        max_size=12,
    )
)
def test_malformed_messages_hurt_nobody(server: Server, messages: list[str]) -> None:
    table, key = new_table(server, "doudizhu", ["person", "random", "random"], seed=1)
    seat = GameSeat(server, table, key)
    try:
        for message in messages:
            seat.line.send(message)
        seat.line.send(b"\x00\x01")
        while True:
            seat.hear(10)
    except ConnectionClosed:
        pass
    again = GameSeat(server, table, key)
    assert again.due()["table"]["seats"][again.state["table"]["you"]]["kind"] == "person"
    again.close()


def test_a_choice_out_of_turn_out_of_range_or_out_of_date_is_refused(server: Server) -> None:
    table, key = new_table(server, "doudizhu", ["person", "rules", "rules"], seed=4)
    seat = GameSeat(server, table, key)
    version = seat.due()["version"]
    legal = len(seat.state["round"]["moves"]["texts"])
    for index in (-1, legal, 10**9, True, None, "0", 0.0):
        assert seat.ask(type="play", index=index, version=version)["type"] == "error", index
    stale = seat.ask(type="play", index=0, version=version - 1)
    assert stale["code"] == "stale"
    assert seat.ask(type="play", index=0, version=version, cards=["S2", "S2"])["type"] == "error"
    for cards in ("S2", [2], ["S2"] * 99, None):
        assert seat.ask("makes", type="select", cards=cards)["code"] == "wrong"
    seat.take(0)
    while seat.state["round"]["turn"] == 0:
        seat.hear()
    assert seat.ask(type="play", index=0, version=seat.state["version"])["type"] == "error"
    seat.close()


def test_only_the_browser_with_the_key_has_the_seat(server: Server) -> None:
    table, key = new_table(server, "doudizhu", ["person", "rules", "rules"], seed=4)
    for wrong in ("", "x", key[:-1], key + "x"):
        with pytest.raises(ConnectionClosed) as closed:
            GameSeat(server, table, wrong)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4403
    assert server.http.get(f"/api/game-tables/{table}/record").text == "", "no round is over"
    assert server.http.get("/api/game-tables/none/record").status_code == 404


@pytest.mark.long
def test_agents_of_the_command_line_are_offered_by_their_file_name_only(
    own_server: Callable[..., Server], tmp_path: Path
) -> None:
    own = tmp_path / "secret_folder" / "first.py"
    own.parent.mkdir()
    own.write_text(
        "import numpy as np\n"
        "class First:\n"
        "    name = 'first'\n"
        "    def policy(self, game, states, player, actions):\n"
        "        probs = np.zeros(len(actions.values))\n"
        "        probs[actions.offsets[:-1]] = 1\n"
        "        return probs\n"
    )
    server = own_server("--game-agent", f"{own}:First", "--game-agent", "cfr:20")
    offers = {one["name"]: one for one in server.get("/api/game-tables/offers")["games"]}
    labels = [agent["label"] for agent in offers["big2"]["agents"]]
    assert labels[:2] == ["first.py:First", "cfr:20"]
    assert "secret_folder" not in json.dumps(offers)
    table, key = new_table(server, "big2", ["person", "first.py:First"], options={"players": 2, "cards": 5})
    assert play_round(GameSeat(server, table, key), random.Random(0))["round"]["over"]


def test_a_name_that_is_no_agent_is_a_usage_error() -> None:
    from click.testing import CliRunner

    from gs2.cli import main

    for name in ("nobody", "missing.safetensors", "/etc/passwd.safetensors+rollout"):
        answer = CliRunner().invoke(main, ["web", "--no-open", "--game-agent", name])
        assert answer.exit_code == 2 and name.partition("+")[0] in answer.output, answer.output
