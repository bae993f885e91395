"""The official server's traffic: our models read it, and our server says the same in its place.

`tests/data/openguandan_transcript.jsonl.gz` is one game of four random clients on the official server.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.guandan.cards import pack, parse_cards
from games.guandan.matches import lockstep
from games.guandan.rules import PRESETS
from gs2.guandan.table.client.tracker import Tracker
from gs2.guandan.table.server.place import RoomConfig
from gs2.guandan.table.server.room import Room
from gs2.guandan.table.wire import messages as m
from gs2.guandan.table.wire.dialects import OpenGuanDan
from gs2.guandan.table.wire.moves import find_move
from tests.gs2.guandan.table.protocol import until
from tests.gs2.guandan.table.scenario import Ear

TRANSCRIPT = Path(__file__).parents[4] / "data" / "openguandan_transcript.jsonl.gz"


@pytest.fixture(scope="module")
def transcript() -> list[dict[str, Any]]:
    with gzip.open(TRANSCRIPT, "rt") as file:
        return [json.loads(line) for line in file]


def test_the_tracker_follows_the_official_server_through_every_request(transcript):
    trackers = [Tracker() for _ in range(4)]
    requests = 0
    for line in transcript:
        if line["dir"] == "c2s":
            continue
        message = m.decode_server_message(json.dumps(line["msg"]))
        tracker = trackers[line["seat"]]
        tracker.note(message)
        if isinstance(message, m.Act):
            observation, places = tracker.observe(message)
            requests += 1
            assert places == list(range(len(message.actionList)))
            assert tracker.followed, "the round could not be replayed from the messages"
            assert sorted(observation.hand) == sorted(message.handCards)
            assert observation.rest == [info.rest for info in message.publicInfo]
            assert len(observation.plays) == len(tracker.plays)
    assert requests == 245


def same_move(move: Any) -> Any:
    """Return a move without the order of its cards."""
    return None if move is None else (move[0], move[1], tuple(sorted(move[2])))


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without what has no order: hands, cards within moves, the list of moves."""
    message = dict(message)
    for name in ("curAction", "greaterAction"):
        if name in message:
            message[name] = same_move(message[name])
    if "handCards" in message:
        message["handCards"] = sorted(message["handCards"])
    if "restCards" in message:
        message["restCards"] = [[seat, sorted(cards)] for seat, cards in message["restCards"]]
    if "actionList" in message:
        message["actionList"] = {same_move(move) for move in message["actionList"]}
        del message["indexRange"]
    return message


def heart_straights(message: dict[str, Any]) -> set[Any]:
    """Return what the official generator forgets: straights all of hearts, a wild card among them."""
    wild = "H" + message["curRank"]
    flushes = {move for move in plain(message)["actionList"] if move[0] == "StraightFlush"}
    return {
        ("Straight", rank, cards)
        for _, rank, cards in flushes
        if wild in cards and all(card[0] == "H" for card in cards)
    }


def dealt(transcript: list[dict[str, Any]]) -> np.ndarray:
    """Return the hands of both rounds, [2, 4, 54] counts."""
    begin = [line for line in transcript if line["msg"].get("stage") == "beginning"]
    rounds = [sorted(begin[at : at + 4], key=lambda line: line["seat"]) for at in (0, 4)]
    assert [line["seat"] for four in rounds for line in four] == [*range(4)] * 2 and len(begin) == 8
    return np.array([[parse_cards(line["msg"]["handCards"]) for line in four] for four in rounds])


def test_our_server_in_its_official_form_says_what_the_official_server_said(transcript, monkeypatch):
    """A whole round, the refusal of tribute by two losers with one big joker each, most of the next round."""
    hands = pack(dealt(transcript))
    game = [line for line in transcript if line["msg"]["type"] in ("act", "notify", "PLAY")]
    monkeypatch.setattr(lockstep, "deal_round", lambda seeds, number: hands[number.astype(int) - 1])

    async def play() -> list[list[dict[str, Any]]]:
        room = Room(1, OpenGuanDan(official=True), RoomConfig(rules=PRESETS["openguandan"]))
        ears = [Ear() for _ in range(4)]
        for seat, ear in enumerate(ears):
            room.sit(ear, f"u{seat}", seat)
        room.start_if_full()
        await until(lambda: room.state == "playing")
        for line in game:
            if line["msg"]["type"] == "PLAY":
                seat = room.seats[line["seat"]]
                index = find_move(line["msg"]["data"]["act"], seat.due.actions)
                assert index is not None
                room.answer(seat, index)
        assert room.session.match.round == 2
        return [ear.heard for ear in ears]

    heard, requests = asyncio.run(play()), 0
    for seat in range(4):
        theirs = [line["msg"] for line in game if line["seat"] == seat and line["dir"] == "s2c"]
        for mine, other in zip(heard[seat], theirs, strict=False):
            requests += mine["type"] == "act"
            forgets = heart_straights(mine) if mine["type"] == "act" else set()
            mine, other = plain(mine), plain(other)
            ours, listed = (one.pop("actionList", set()) for one in (mine, other))
            assert mine == other
            assert listed <= ours and ours - listed <= forgets
        assert len(heard[seat]) >= len(theirs)
    assert requests == 245
