"""A game on OpenGuanDan's official server, played again on our engine.

`tests/data/openguandan_transcript.jsonl.gz` holds the traffic of four random clients: one whole round, the
refusal of tribute by two losers with one big joker each, and most of the next round.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from games.guandan.cards import CARD_NAMES, RANKS, parse_cards
from games.guandan.matches.match import AntiTribute, Dealt, Leads, Match, RoundOver
from games.guandan.notation import action_list
from games.guandan.rounds.state import NOBODY

TRANSCRIPT = Path(__file__).parents[3] / "data" / "openguandan_transcript.jsonl.gz"


def key(move: list[Any]) -> tuple[Any, ...]:
    return (move[0], move[1], *sorted(move[2]))


def asked(match: Match, seat: int) -> dict[str, Any]:
    """Return what OpenGuanDan's server asks of a seat that is to play, by the paper's appendix B."""
    (due,) = match.pending()
    assert due.seat == seat
    state, levels = match.state[0], [RANKS[level] for level in match.levels]
    leads = state["leader"] == NOBODY
    return {
        "handCards": [CARD_NAMES[c] for c in range(54) for _ in range(match.hands[seat][c])],
        "publicInfo": [{"rest": int(rest)} for rest in state["left"]],
        "selfRank": levels[seat % 2],
        "oppoRank": levels[1 - seat % 2],
        "curRank": RANKS[match.level],
        "stage": due.stage,
        "greaterPos": -1 if leads else int(state["leader"]),
        "greaterAction": None if leads else action_list(state["beat"], match.level),
        "actionList": [action_list(action, match.level) for action in due.actions],
    }


def recorded() -> tuple[list[tuple[int, str, dict[str, Any]]], list[np.ndarray]]:
    """Return the traffic, and the hands of its two rounds."""
    with gzip.open(TRANSCRIPT, "rt") as lines:
        messages = [json.loads(line) for line in lines]
    traffic = [(m["seat"], m["dir"], m["msg"]) for m in messages]
    deals: list[np.ndarray] = []
    seen: list[set[int]] = []
    for seat, _, message in traffic:
        if message.get("stage") == "beginning":
            if not seen or seat in seen[-1]:
                seen.append(set())
                deals.append(np.zeros((4, 54), np.uint8))
            seen[-1].add(seat)
            deals[-1][seat] = parse_cards(message["handCards"])
    assert len(deals) == 2 and seen == [{0, 1, 2, 3}] * 2
    return traffic, deals


def test_the_official_servers_game_is_ours_move_by_move() -> None:
    traffic, (first, second) = recorded()
    match = Match(1, rules="openguandan")
    match.redeal(first, 0)
    requests = played = 0
    for seat, _, message in traffic:
        if message.get("type") == "act":
            ours = asked(match, seat)
            requests += 1
            for field in ("publicInfo", "selfRank", "oppoRank", "curRank", "stage", "greaterPos"):
                assert ours[field] == message[field], field
            # the server lists them by its own order of suits
            assert sorted(ours["handCards"]) == sorted(message["handCards"])
            greater = message["greaterAction"]
            assert (ours["greaterAction"] is None) == (greater is None)
            assert greater is None or key(ours["greaterAction"]) == key(greater)
            mine, theirs = ({key(move) for move in m["actionList"]} for m in (ours, message))
            wild = "H" + RANKS[match.level]
            assert theirs <= mine
            # its one omission: straights of hearts with a wild card; see test_moves
            for kind, _, *cards in mine - theirs:
                assert kind == "Straight" and wild in cards and all(card[0] == "H" for card in cards)
        elif message.get("type") == "PLAY":
            events = match.apply(message["data"]["player"], message["data"]["act"])
            if any(isinstance(event, Dealt) for event in events):
                match.redeal(second, 0)
            played += 1
        elif message.get("stage") == "episodeOver" and seat == 0:
            over = next(event for event in reversed(match.events) if isinstance(event, RoundOver))
            assert list(over.order) == message["order"] and over.payoffs == (-3, 3, -3, 3)
            rest = {seat: sorted(cards) for seat, cards in message["restCards"]}
            assert {seat: sorted(CARD_NAMES[c] for c in cards) for seat, cards in over.rest} == rest
        elif message.get("stage") == "anti-tribute" and seat == 0:
            dealt, anti, lead = match.events[-3:]
            assert isinstance(dealt, Dealt) and isinstance(anti, AntiTribute)
            assert list(anti.seats) == message["antiPos"] and len(anti.seats) == message["antiNums"]
            assert lead == Leads(1), "the first finisher leads"
            assert RANKS[dealt.level] == "5" and dealt.levels == (0, 3)
    assert requests == played == 245 and match.round == 2
