"""What is wrong with the words of an infoset is told: a move or call by its number, cards and seat."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from games import GameError
from games.climbing.big2.big2 import Big2
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.climbing.doudizhu.round_state import CALLS
from tests.games.climbing.big2.test_big2 import VARIANTS
from tests.patience import amount

ONE = np.zeros(1, np.int64)
GAMES: list[tuple[type[Big2 | DouDizhu], dict[str, Any]]] = [
    *((Big2, options) for options in VARIANTS),
    *((DouDizhu, options) for options in ({}, {"ranks": 7}, {"landlord": "bid"})),
]


@pytest.mark.parametrize(("kind", "options"), GAMES, ids=str)
@pytest.mark.some(5)
def test_a_wrong_move_or_call_is_named_by_its_number_and_words(
    kind: type[Big2 | DouDizhu], options: dict[str, Any]
) -> None:
    game: Any = kind(**options)
    rng = np.random.default_rng(3)
    told: Counter[str] = Counter()
    for _ in range(amount(6, 4) + 8 * (options.get("landlord") == "bid")):
        state, made = game.sample_deals(1, rng), Counter[str]()
        while (seat := int(game.player(state)[0])) >= 0:
            actions = game.actions(state).values
            bids = kind is DouDizhu and bool(actions[-1] >= CALLS)
            sort = "call" if bids else "move"
            made[sort] += 1
            free = state.copy()
            for field in {"beat", "head"} & {*free.dtype.names}:
                free[field] = 0
            every = np.arange(CALLS, CALLS + 4) if bids else game.actions(free).values
            wrong, why = np.setdiff1d(every, actions), "is not above|does not beat"
            if not bids and not state["beat"][0]:
                wrong, why = np.zeros(1, actions.dtype), "is no lead"
            if len(wrong) and (bids or rng.random() < 0.5):
                action = rng.choice(wrong)
                word = game.action_text(state[0], action).removeprefix("call ")
                # as another seat sees it, whose hand the move does not change
                line = game.infoset_text(state[0], (seat + 1) % game.num_players)
                joint = " | calls" if bids else " | play"
                if kind is Big2:
                    joint = ":" if line.endswith("leads") else ","
                elif made[sort] > 1:
                    joint = ""
                with pytest.raises(GameError, match=f'{sort} {made[sort]}, "{word}" of seat {seat}, ({why})'):
                    game.parse_infoset(f"{line}{joint} {word}")
                told[f"{sort}, {why}"] += 1
            state = game.step(state, ONE, rng.choice(actions, 1))
        # the others' cards are all known by now
        line = f"{game.infoset_text(state[0], 0)}{', ' if kind is Big2 else ' '}pass"
        if made["move"]:
            said = f'move {made["move"] + 1}, "pass", comes after the end of the round'
            with pytest.raises(GameError, match=said):
                game.parse_infoset(line)
    assert min(told["move, is no lead"], told["move, is not above|does not beat"]) > 2
    assert bool(told["call, is not above|does not beat"]) == (options.get("landlord") == "bid")


BIG2 = Big2(players=2, ranks=3, suits=3, cards=3)
HELD = "33445566778JJQQKA"
END = f"P2 dealt {HELD} | bottom 222 | play"
WHOLE = DouDizhu()
FIRST, BID = (DouDizhu(landlord=landlord, ranks=1) for landlord in ("first", "bid"))


@pytest.mark.parametrize(
    ("game", "line", "why"),
    [
        (BIG2, "P0 holds H5 | P0 leads: D3 C4", 'move 1, "D3 C4" of seat 0, is no combination'),
        (BIG2, "P0 holds D3 H5 | P0 leads: C4", '"C4" of seat 0, opens without the lowest card, D3'),
        (BIG2, "P0 holds H4 H5 D5 | P0 leads: pass", 'move 1, "pass" of seat 0, is no lead'),
        (BIG2, "P0 holds H4 H5 | P0 leads: D3, pass, pass", 'move 3, "pass" of seat 0, is no lead'),
        (
            BIG2,
            "P0 holds C5 | P0 leads: D3 C3, H3",
            '"H3" of seat 1, does not beat "D3 C3"; play a higher',
        ),
        (
            BIG2,
            "P0 holds nothing | P0 leads: D3 C3 H3, D4",
            'move 2, "D4", comes after the end of the round',
        ),
        (
            WHOLE,
            f"{END} 5 3",
            '"3" of seat 1, does not beat "5"; play a higher solo, a bomb, the rocket',
        ),
        (WHOLE, f"{END} pass", 'move 1, "pass" of seat 0, is no lead; who leads plays cards'),
        (
            WHOLE,
            f"{END} 34567 45678 56789",
            f'"56789" of seat 2, is not in its hand, {HELD}; play what it holds',
        ),
        (WHOLE, f"{END} TTTT 9999", 'does not beat "TTTT"; play a higher bomb, the rocket or pass'),
        (WHOLE, f"{END} 34567 3", "play a higher chain of solos as long, a bomb, the rocket or pass"),
        (WHOLE, f"{END} BR 9999", 'does not beat "BR"; nothing does, so pass'),
        (
            WHOLE,
            f"{END} 3456789TJQKA pass pass 222K pass pass 999T pass",
            'move 8, "pass", comes after the end of the round',
        ),
        (WHOLE, f"P2 dealt {HELD} | bottom 222 | calls 1 | play 5", "leave the calls out"),
        (FIRST, "nonsense", "an infoset reads like"),
        (FIRST, "P3 dealt 3", "an infoset reads like"),
        (FIRST, "P1 dealt 3 | bottom 3 | bottom 3", "an infoset reads like"),
        (FIRST, "P1 dealt 3Z | bottom 333", "a card must be one of"),
        (FIRST, "P1 dealt B | play 3", "bottom is shown once"),
        (
            FIRST,
            "P1 dealt B | bottom 33R | play 3 pass pass pass",
            'move 4, "pass" of seat 0, is no lead',
        ),
        (FIRST, "P1 dealt B | bottom 33R | play 3 3", 'move 2, "3" of seat 1, is not in its hand, B'),
        (BID, "P1 dealt B | bottom 33R | calls 5", "a call is"),
        (FIRST, "P1 dealt B | bottom 33R | play 3344", "combination"),
        (BID, "P1 dealt B | calls 2 1", 'call 2, "1" of seat 1, is not above 2; call 3 or pass'),
        (
            BID,
            "P1 dealt B | calls pass pass pass 1",
            'call 4, "1", comes after the end of the auction',
        ),
        (
            BID,
            "P1 dealt B | bottom 333 | calls 3 pass",
            'call 2, "pass", comes after the end of the auction',
        ),
        (BID, "P1 dealt B | calls pass | play 3", "before there is a landlord"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_refusal_tells_why(game: Big2 | DouDizhu, line: str, why: str) -> None:
    with pytest.raises(GameError, match=why):
        game.parse_infoset(line)
