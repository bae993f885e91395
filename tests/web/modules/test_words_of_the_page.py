"""What the page says in words: counted rightly, true to the levels and to each game's rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from games.game import Game
from games.guandan.cards import RANKS
from games.registry import load_game
from gs2.guandan.table.seat import Observation
from gs2.guandan.table.selection import why_not
from gs2.guandan.table.session import Session
from gs2.web.games.card_face import card_face
from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_round import GameRound
from gs2.web.pages import MODULES
from gs2.web.tables.table import Table
from tests.gs2.guandan.table.test_agents import observations
from tests.patience import amount
from tests.web.modules.least_browser import in_page, needs_node
from tests.web.modules.page_words import page_words
from tests.web.tables.stored_tables import game_table, match_play, random_choice

pytestmark = needs_node

NO_NUMBERS = {
    *("name", "names", "team", "seat", "from", "to", "card", "rank", "move", "best", "giver", "taker", "us"),
    *("them", "text", "how", "variant", "wild"),
    # what is never one alone: rounded, or said with its own unit
    *("levels", "loss", "error", "gain", "ms", "round"),
}
"""What words are filled in with that is no whole number of things."""
SAY = """
import { report } from "browser";
const { say, setLanguage } = await import("gs2/words.js");
"""


def test_one_of_a_thing_is_never_several() -> None:
    keys = sorted(page_words()["en"])
    found = in_page(
        SAY
        + """
        for (const name of data.modules) await import(`gs2/${name}`);
        const counts = (name) => !data.others.includes(name);
        const numbers = (of) => new Proxy({}, { has: (_, name) => counts(name), get: () => of });
        const told = (language) => {
          setLanguage(language);
          return data.keys.flatMap((key) => [1, "1", 2].map((of) => [key, of, say(key, numbers(of))]));
        };
        report({ en: told("en"), zh: told("zh") });
        """,
        {
            "keys": keys,
            "others": sorted(NO_NUMBERS),
            "modules": [name for name, path in MODULES.items() if "addWords({" in path.read_text("utf-8")],
        },
    )
    several = r"\b1 (?:opponent )?(?!is\b|was\b|ms\b)\w+s\b"
    wrong = [row for row in found["en"] if str(row[1]) == "1" and re.search(several, row[2])]
    assert wrong == []
    assert len(keys) > 500 and sum("2 cards" in text for _, of, text in found["en"] if of == 2) >= 2
    left = [row for rows in found.values() for row in rows if re.search(r"\{\w+:", row[2])]
    assert left == []


def ends(levels: tuple[str, str], owner: int, seed: int) -> list[tuple[dict[str, Any], tuple[int, int]]]:
    """Return the first rounds of random choices from these levels, each with the levels before it."""
    play, before = match_play(), list[tuple[int, int]]()
    play.session = Session(play, seed=seed, levels=levels, owner=owner)
    play.session.begin()
    rng = np.random.default_rng(seed)
    while play.pending and len(play.results) < 6:
        now = play.session.levels
        random_choice(play, rng)
        before += [now] * (len(play.results) - len(before))
    return list(zip(play.results, before, strict=True))


def test_the_levels_said_are_those_that_the_winners_went_up() -> None:
    rounds = [
        one for seed in range(12) for one in ends(("QKA"[seed % 3], "AKQ"[seed // 3 % 3]), seed % 2, seed)
    ]
    rises = [RANKS.index(end["levels"][end["winner"]]) - before[end["winner"]] for end, before in rounds]
    assert min(rises) <= 0 and {0, 1, 2, 3} & set(rises) >= {0, 1, 2}
    results = [end for end, _ in rounds]
    told = in_page(
        SAY
        + """
        const { pointsText } = await import("gs2/felt.js");
        const { outcome } = await import("gs2/guandan-face.js");
        await import("gs2/table-words.js");
        const all = [];
        for (const language of ["en", "zh"]) {
          setLanguage(language);
          for (const you of [0, 1, null]) all.push(data.map((result) => outcome({ table: { you } }, result)));
        }
        report([all, data.map((result) => pointsText(result.rise))]);
        """,
        results,
    )
    words = {"one": 1, "two": 2, "three": 3, "一": 1, "两": 2, "三": 3}
    for texts in told[0]:
        for text, rise in zip(texts, rises, strict=True):
            number = re.search(r"up (one|two|three)|升([一两三])级", text)
            said = 0 if number is None else words[number[1] or number[2]]
            assert said == max(rise, 0), (text, rise)
    assert told[1] == [f"{'+' if n > 0 else '−' if n < 0 else ''}{abs(n)}" for n in rises]


def test_a_sum_that_rounds_to_nothing_has_no_sign() -> None:
    script = """
    import { report } from "browser";
    const { pointsText } = await import("gs2/felt.js");
    report(data.map(pointsText));
    """
    assert in_page(script, [0.1 + 0.2 - 0.3, -0.004, 0, -1.5, 2]) == ["0", "0", "0", "−1.50", "+2"]


def table_of(seat: int, won: int = 2) -> dict[str, Any]:
    """Return as much of a state as the words in the middle of the felt need: seat `won` has won a trick.

    Seat 2 has gone out; the lead is `seat`'s.
    """
    kinds = ["person", "agent", "agent", "agent"]
    seats = [{"name": name, "kind": kind} for name, kind in zip("ABCD", kinds, strict=True)]
    play = {"seat": won, "move": ["Single", "A", ["SA"]], "lead": True}
    passes = [{"seat": one, "move": ["PASS"] * 3, "lead": False} for one in (3, 0, 1)]
    return {
        "table": {"seats": seats, "you": 0},
        "match": {"over": False},
        "waiting": None,
        "turn": {"seats": [seat], "you": {"stage": "play", "moves": None} if seat == 0 else None},
        "round": {"over": False, "phase": "play", "greater": None, "plays": [play, *passes]},
    }


def test_words_say_who_leads_for_whom_and_that_a_was_not_passed() -> None:
    result = {"winner": 0, "gain": 2, "rise": 1, "failed": None, "over": False}
    text = "P0 holds Kh, P1 holds Qs | raise call | board Ks"
    said = [
        ("en", "felt", "request", [table_of(0)]),
        ("en", "felt", "request", [table_of(2, won=0)]),
        ("en", "felt", "request", [table_of(0, won=0)]),
        ("zh", "felt", "request", [table_of(0)]),
        ("zh", "felt", "request", [table_of(2, won=0)]),
        ("en", "guandan-face", "outcome", [table_of(0), result]),
        ("en", "guandan-face", "outcome", [table_of(0), {**result, "winner": 1}]),
        ("en", "guandan-face", "outcome", [table_of(0), {**result, "rise": 0}]),
        ("en", "spoken", "toldWords", [text, ["You", "cfr"]]),
        ("zh", "spoken", "toldWords", [text, ["你", "cfr"]]),
        ("zh", "spoken", "spokenWords", ["bid 3"]),
    ]
    own, other, ever, own_zh, other_zh, *others = in_page(
        SAY
        + """
        for (const name of ["table-words", "games-words"]) await import(`gs2/${name}.js`);
        const told = [];
        for (const [language, module, name, given] of data) {
          setLanguage(language);
          if (name === "request") given.push((await import("gs2/guandan-face.js")).GUANDAN);
          told.push((await import(`gs2/${module}.js`))[name](...given));
        }
        report(told);
        """,
        said,
    )
    assert "C is out, so the lead is yours" in own and "lead in the place of" in other
    assert "C is out, so the lead is yours" not in ever, "who won a trick leads the next as ever"
    assert "由你接风" in own_zh and "接 A（你） 的风" in other_zh
    assert others[0] == "You win the round: up one level"
    assert others[1].endswith("they go up one level") and others[2] == "You win the round"
    assert others[3] == "You hold K♥, cfr holds Q♠ | raise call | board K♠"
    assert others[4:] == ["你持有 K♥，cfr持有 Q♠ | 加注 跟注 | 公共牌 K♠", "出价 3"]


def answered(game: Game, seed: int) -> list[tuple[dict[str, Any], str]]:
    """Return (why cards do not beat a play, kind) of moves of another kind that do, in a random round."""
    face = card_face(game)
    assert face is not None
    rng = np.random.default_rng(seed)
    played = GameRound(game, seed, 1)
    found = {}
    while not played.over:
        greater = face.seen(played, played.player)["greater"]
        kinds = face.kinds(played.legal)
        for kind in kinds:
            if greater is not None and kind not in ("pass", greater["move"][0]):
                why = {"code": face.too_low(greater["move"]), "beat": greater["move"]}
                found[greater["move"][0], kind] = (why, kind)
        # what can be beaten many ways: the weakest play, sometimes a pass
        played.take(int(rng.integers(min(len(kinds), 6))))
    return list(found.values())


def test_what_would_beat_a_play_is_not_left_out() -> None:
    rules = [
        "doudizhu",
        "doudizhu(ranks=7)",
        "big2",
        "big2(bombs=quads,players=2)",
        "big2(bombs=both,players=2)",
    ]
    pairs = {
        (name, why["beat"][0], kind): why
        for name in rules
        for seed in range(amount(12, 6))
        for why, kind in answered(load_game(name, general_sum=True), seed)
    }
    assert len(pairs) > 25 and {name for name, _, _ in pairs} == set(rules)
    told = in_page(
        SAY
        + """
        const { CARDS } = await import("gs2/game-faces.js");
        setLanguage("en");
        report(data.map((why) => CARDS.whyWords(why)));
        """,
        list(pairs.values()),
    )
    for ((name, beat, kind), why), text in zip(pairs.items(), told, strict=True):
        rule = text.lower()
        assert not rule.startswith(("games.", "why."))
        if name.startswith("doudizhu"):
            assert kind in ("bomb", "rocket")
            assert ("rocket" if beat == "bomb" else "or a bomb") in rule
        elif len(why["beat"][2]) == 5:
            assert "five cards, of a higher kind" in rule
        else:
            assert kind in rule


def reasons(seen: Observation, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return why cards from a hand, drawn at random and by ranks, cannot be played."""
    picked = [
        list(rng.choice(seen.hand, min(size, len(seen.hand)), replace=False)) for size in (1, 1, 2, 3, 5)
    ]
    picked += [[card for card in seen.hand if card[-1] == rank] for rank in {card[-1] for card in seen.hand}]
    found = [why_not(seen, cards) for cards in picked]
    return [why.to_json() | {"text": why.text()} for why in found if why is not None]


def test_reasons_at_a_table_of_guandan_leave_room_for_bombs_as_the_rules_do() -> None:
    rng = np.random.default_rng(5)
    every = [
        (seen.greater[1], why)
        for seen in observations(amount(400, 150), seed=7, stages=("play",))
        if seen.greater is not None
        for why in reasons(seen, rng)
    ]
    whys = {(why["code"], str(why.get("need")), beat[0]): why for beat, why in every}
    assert {code for code, _, _ in whys} >= {"wrong_type", "wrong_count", "too_low"}
    assert {need for code, need, _ in whys if code == "wrong_type"} >= {"Single", "Pair", "Bomb"}
    told = in_page(
        SAY
        + """
        const { whyWords } = await import("gs2/guandan-face.js");
        const all = [];
        for (const language of ["en", "zh"]) {
          setLanguage(language);
          all.push(data.map((why) => whyWords(why, "play")));
        }
        report(all);
        """,
        list(whys.values()),
    )
    for (code, _, beat), *texts in zip(whys, *told, strict=True):
        english, chinese = texts
        if code in ("wrong_type", "wrong_count"):
            assert "bomb" in english and "炸弹" in chinese
            assert ("higher bomb" in english) == (beat in ("Bomb", "StraightFlush"))
    assert not any(re.search(r"\b1 cards\b|\b1 card are", why["text"]) for why in whys.values())


def test_cards_that_are_no_combination_are_told_from_those_that_are_too_low(tmp_path: Path) -> None:
    table = game_table(tmp_path, "doudizhu", ("rules", "person", "rules"))
    pairs = [index for index, kind in enumerate(table_kinds(table)) if kind == "pair"]
    table.choose(0, pairs[-1])
    state = table.state(1)
    hand = state["round"]["hands"][1]
    odd, low = [hand[0], hand[-1]], hand[:2] if hand[0][-1] == hand[1][-1] else hand[:1]
    reasons = [table.play.fits(1, cards)[1] for cards in (odd, low)]
    assert [why and why["code"] for why in reasons] == ["no_combination", "kind"]
    found = in_page(
        """
        import { newRoot, pass, report, server, sockets } from "browser";
        const { Table } = await import("gs2/table.js");
        const { setLanguage } = await import("gs2/words.js");
        server.answer = () => ({ games: [] });
        const page = new Table(newRoot(), "t", { go() {} });
        const line = () => sockets.at(-1);
        line().open(data.state);
        await pass(10);
        setLanguage("en");
        const said = () => page.own.parts.choice.querySelector(".why")?.textContent ?? "";
        const shown = [];
        for (const [at, cards] of [data.odd, data.low].entries()) {
          page.own.hand.choose(cards);
          const asked = line().sent.at(-1);
          shown.push([asked.type, asked.cards.length, said()]);
          line().say({ type: "fits", id: asked.id, moves: [], why: data.reasons[at] });
          shown.push(said());
        }
        report(shown);
        """,
        {"state": state, "odd": odd, "low": low, "reasons": reasons},
    )
    assert found[0] == ["select", 2, ""] and found[1] == "These cards are no combination."
    assert found[2][:2] == ["select", len(low)]
    assert found[3].startswith("This does not beat Pair of") and "or a bomb" in found[3]
    table.close()


def table_kinds(table: Table[GamePlay]) -> list[str]:
    face = card_face(table.play.game)
    assert face is not None
    return face.kinds(table.play.round.legal)
