"""A seat that plays by words: what a person is shown and may type, what a language model's answer means."""

from __future__ import annotations

import io
import json
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from games.guandan.cards import ACTION, RANKS
from games.guandan.matches.match import RoundOver
from games.guandan.rounds.playout import legal
from games.guandan.rounds.position import parse_position
from gs2.guandan.table.client.human import HumanAgent, LanguageAgent, SeatLeft, TypedLines, UndoWanted
from gs2.guandan.table.client.screen import CardFaces, PlayScreen
from gs2.guandan.table.client.tracker import Tracker
from gs2.guandan.table.hosts import RandomSeat
from gs2.guandan.table.seat import AgentError, Observation
from gs2.guandan.table.selection import KIND_WORDS, named_choices, seat_words
from gs2.guandan.table.session import Listener, News, Session
from gs2.guandan.table.wire import messages as m
from tests.gs2.guandan.table.client.test_client import HAND, notify
from tests.gs2.guandan.table.test_agents import observations
from tests.patience import amount


class Person:
    """A person who types the lines given and keeps what is shown."""

    def __init__(self, *lines: str, colours: bool = False, **options: Any) -> None:
        self.lines: Iterator[str] = iter(lines)
        self.out = io.StringIO()
        self.console = Console(
            file=self.out, width=100, force_terminal=colours, highlight=False, _environ={"TERM": "xterm"}
        )
        self.screen = PlayScreen(self._show, CardFaces(symbols=colours), names=["ann", "b", "c", "d"])
        self.agent = HumanAgent(self._ask, self.screen, **options)

    def _show(self, what: Any) -> None:
        self.console.print(what, markup=False)

    def _ask(self, prompt: str) -> str:
        self.out.write(prompt)
        try:
            return next(self.lines)
        except StopIteration:
            raise EOFError from None

    def act(self, observation: Observation) -> int:
        return self.agent.act(observation)

    @property
    def text(self) -> str:
        return self.out.getvalue()


def lead(hand: str, level: str = "5") -> Observation:
    """Return what seat 0 sees when it leads from a hand at a level."""
    position = {"seat": 0, "player": 0, "first": 0, "level": level, "hand": hand, "left": [0, 9, 9, 9]}
    position["left"][0] = len(hand.split())  # type: ignore[index]
    state, _ = parse_position(json.dumps(position))
    state["hand"][0, 1:] = 0
    moves = legal(state).values
    return Observation(0, "play", state, moves, np.zeros(0, np.uint8), np.zeros(0, ACTION))


def test_the_situation_shows_levels_the_trick_the_others_and_the_hand_by_rank():
    seen = next(o for o in observations(60) if o.greater is not None and len(o.actions) > 5)
    person = Person("PASS")
    person.screen.seat = seen.seat
    assert seen.actions[person.act(seen)][0] == "PASS"
    own, other = seen.levels
    assert f"level {seen.level} (you {own}, they {other})" in person.text
    assert person.text.count("<- to beat") == 1
    for step in (1, 2, 3):
        seat = (seen.seat + step) % 4
        (line,) = (row for row in person.text.splitlines() if f"({'abcd'[seat] if seat else 'ann'})" in row)
        assert f"{seen.rest[seat]} cards" in line
    held = person.text.split("cards)\n")[1].split("your move")[0]
    for card in set(seen.hand):
        assert held.count(card) >= seen.hand.count(card)


def test_what_cannot_be_played_is_told_why_and_asked_again():
    follows = next(o for o in observations(90) if o.greater is not None and o.greater[1][0] == "Single")
    low = next(card for card in follows.hand if [card] not in [move[2] for move in follows.actions])
    absent = next(f"S{r}" for r in RANKS[:13] if f"S{r}" not in follows.hand)
    person = Person(low, absent, "dance", "99999", "0")
    assert person.act(follows) == 0
    for word in ("Too low", f"too few, of {absent}", "no choice is called 'dance'", "an index lies in"):
        assert word in person.text


def test_cards_may_be_typed_in_many_ways():
    seen = lead("S6 D6 HT CT SA SB")
    wanted = next(i for i, move in enumerate(seen.actions) if sorted(move[2]) == ["CT", "HT"])
    for line in ("HT CT", "ct ht", "♥10 ♣10", "10h 10c", "pair T", "Pair 10", "pair t (HT CT)", str(wanted)):
        assert Person(line).act(seen) == wanted, line
    for line in ("♥\ufe0f10 ♣\ufe0f10", "10♡ t♧"):
        assert Person(line).act(seen) == wanted, line
    twice = Person("S6 S6", "0")
    assert twice.act(seen) == 0 and "You hold none, or too few, of S6." in twice.text  # one is there
    # a type and rank spare the wild cards
    seen = lead("S6 D6 H5 SA SK")
    assert seen.actions[Person("pair 6").act(seen)][2] == ["S6", "D6"]
    assert seen.actions[Person("pair A").act(seen)][2] == ["SA", "H5"]


def test_a_line_copied_from_the_screen_names_its_move_in_capitals_too():
    seen = lead("S6 D6 C6 H6 S7 S8 S9 H5 H5 SA DA CA SB")
    for symbols in (True, False):
        for index, move in enumerate(seen.actions):
            line = CardFaces(symbols=symbols).move(move, "5").plain
            found = named_choices(line.upper(), seen)
            assert index in found and found == named_choices(line, seen), line.upper()


def test_where_the_same_cards_make_several_moves_the_person_says_which():
    seen = lead("S6 D6 S7 D7 H5 SA")
    full = [i for i, move in enumerate(seen.actions) if move[0] == "ThreeWithTwo" and len(move[2]) == 5]
    both = [i for i in full if sorted(seen.actions[i][2]) == sorted(["S6", "D6", "S7", "D7", "H5"])]
    assert len(both) == 2
    line = "S6 D6 S7 D7 H5"
    assert Person(line, "1").act(seen) == both[0]
    person = Person(line, "2")
    assert person.act(seen) == both[1]
    assert "H5 as 6" in person.text and "H5 as 7" in person.text
    again = Person(line, "9", "0")
    assert again.act(seen) == 0 and "none of them" in again.text
    with pytest.raises(SeatLeft, match="you left"):
        Person(line, "Quit", "0").act(seen)
    # a digit to some, and more of them than a number may have, are no answer and no failure
    odd = Person(line, "\N{SUPERSCRIPT TWO}", line, "9" * 5000, "9" * 5000, "0")
    assert odd.act(seen) == 0 and odd.text.count("none of them") == 2


def test_quit_and_the_end_of_the_input_leave_and_undo_is_passed_on_where_there_is_one():
    seen = lead("S6 D6 SA")
    with pytest.raises(SeatLeft, match="you left"):
        Person("quit").act(seen)
    with pytest.raises(SeatLeft, match="input ended"):
        Person().act(seen)
    with pytest.raises(UndoWanted):
        Person("undo", undo=True).act(seen)
    person = Person("undo", "help", "0")
    assert person.act(seen) == 0 and "nothing can be taken back" in person.text and "quit" in person.text


def test_moves_are_listed_by_every_name_that_a_type_has_and_no_others_with_them():
    seen = lead("S6 S7 S8 S9 ST D6 D7 D8 H6 H7 C6 SB SB HR HR SA DA H5")
    assert {move[0] for move in seen.actions} == set(KIND_WORDS.values())
    asked = [(name, kind) for name, kind in KIND_WORDS.items()]
    asked += [(way(name), kind) for name, kind in asked for way in (str.upper, lambda n: n.replace(" ", ""))]
    person = Person(*(f"{name} ?" for name, _ in asked), "wizard ?", "?", "0")
    assert person.act(seen) == 0
    assert "no type of move is called 'wizard'" in person.text
    assert f"{len(seen.actions)} moves; ? lists them" in person.text
    for (name, kind), shown in zip(asked, person.text.split("your move> ")[1:], strict=False):
        numbers = [int(row.split()[0]) for row in shown.splitlines() if row[:5].strip().isdigit()]
        assert numbers == [i for i, move in enumerate(seen.actions) if move[0] == kind], name
    few = Person(*(f"{name} ?" for name in KIND_WORDS), "0")
    few.act(lead("S6 S9 SK"))
    for name in KIND_WORDS:
        assert (f"no {name} among your moves" in few.text) == (name != "single")
    # the beginning of a type's name lists all that begin so
    person = Person("tr ?", "st ?", "0")
    person.act(lead("S6 S7 S8 S9 ST D6 D7 D8 SA DA CA"))
    _, trips, straights, _ = person.text.split("your move>")
    assert "trips" in trips and "straight" not in trips
    assert "straight 6" in straights and "straight flush 6" in straights


def test_a_hint_shows_the_candidates_their_values_and_the_deals():
    seen = lead("S6 D6 SA")
    asked = []

    def advise(observation: Observation) -> dict[str, Any]:
        asked.append(observation)
        rows = [
            {"index": i, "notation": seen.actions[i], "gain": g, "error": 0.1, "refined": p, "rollouts": 32}
            for i, g, p in ((0, 0.0, 0.25), (1, 0.5, 0.75))
        ]
        told = {"reason": "Because.", "moves": rows, "deals_sampled": 64, "exact": False}
        return {"index": 1, "explanation": told}

    person = Person("hint", "0", advise=advise)
    assert person.act(seen) == 0 and asked == [seen]
    assert "hint: single 6" in person.text and "Because." in person.text
    assert "+0.50 +/- 0.10" in person.text and "75%" in person.text and "64 deals considered" in person.text
    without = Person("hint", "0")
    assert without.act(seen) == 0 and "no hints" in without.text


def test_colours_and_signs_are_for_terminals_that_have_them():
    faces = CardFaces(symbols=True)
    assert faces.card("HT", "5").plain == "♥10" and faces.card("H5", "5").plain == "♥5*"
    assert faces.card("SB", "5").plain == "SB" and faces.card("HR", "5").plain == "HR"
    assert CardFaces(symbols=False).card("HT", "5").plain == "HT"
    seen = lead("S6 D6 H5 SA")
    person = Person("0", colours=True)
    person.act(seen)
    assert "\x1b[" in person.text and "♦6" in person.text
    plain = Person("0")
    plain.act(seen)
    assert "\x1b[" not in plain.text and plain.text.isascii()
    pipe = Console(file=io.StringIO())
    assert not CardFaces.of(pipe).symbols


def watched(*told: dict[str, Any]) -> str:
    person = Person()
    person.screen.names = ()
    tracker = Tracker()
    tracker.screen = person.screen
    for message in told:
        tracker.note(m.decode_server_message(json.dumps(message)))
    return person.text


def test_a_servers_messages_are_shown_as_they_come():
    over = notify("episodeOver", order=[3, 1, 0, 2], curRank="2", restCards=[[2, ["S4", "D4"]]])
    text = watched(
        notify("beginning", handCards=HAND, myPos=0, levelCard="2"),
        notify("tribute", result=[[0, 3, "HR"]]),
        notify("back", result=[[3, 0, "S3"]], count=1),
        notify("play", curPos=3, curAction=["Pair", "9", ["S9", "D9"]]),
        notify("play", curPos=0, curAction=["PASS"] * 3),
        over,
        {"type": "PLAY", "code": -1, "data": {"msg": "not yet"}},
        notify("gameResult", victory=1, victoryRank=["2", "A"]),
        notify("gameOver", curTimes=1, settingTimes=1, victory=1),
    )
    rows = [" ".join(row.split()) for row in text.splitlines()]
    for row in (
        "=== round 1, level 2 ===",
        "you pay previous HR",
        "previous returns to you S3",
        "previous pair 9 S9 D9 25 left",
        "you pass",
        "round over: previous, next, you, partner; they finish first and second",
        "partner held S4 D4",
        "the server says: not yet",
        "game over after 1 round: they win (you 2, they A)",
    ):
        assert row in rows, (row, text)
    assert text.count("game over") == 1
    text = watched(
        notify("beginning", handCards=HAND, myPos=1),
        notify("anti-tribute", antiNums=1, antiPos=[2]),
        notify("gameOver", curTimes=1, settingTimes=1, victory=-1),
    )
    assert "no tribute: next holds both big jokers" in text and "a draw" in text
    text = watched(  # until a request tells the level, or where it is no move at all
        notify("beginning", handCards=HAND, myPos=1),
        notify("play", curPos=0, curAction=["StraightFlush", "A", ["SA", "S2", "S3", "S4", "H9"]]),
        notify("play", curPos=1, curAction=["Straight", "2", ["H2"]]),
        notify("play", curPos=2, curAction=["pass", "pass", "PASS"]),
        notify("play", curPos=2, curAction=["back", "back", []]),
    )
    assert "straight flush A  SA S2 S3 S4 H9  22 left" in text and "straight 2  H2*" in text
    assert text.count("pass") == 2


def test_the_end_of_a_game_is_told_where_no_word_names_its_winner_and_rounds_are_counted_once():
    deal = notify("beginning", handCards=HAND, myPos=1)  # again after a lost connection, and of a new game
    over = notify("episodeOver", order=[3, 1, 0, 2], curRank="A", restCards=[])
    text = watched(deal, deal, over, notify("gameOver", curTimes=1, settingTimes=2), deal)
    assert text.count("=== round 1 ===") == 3 and "round 2" not in text
    assert text.count("game over after 1 round: your team wins") == 1


def test_a_question_that_is_called_off_frees_its_thread():
    read, write = os.pipe()
    with os.fdopen(read) as stream, os.fdopen(write, "w") as typed:
        screen = PlayScreen(lambda what: None, CardFaces(symbols=False))
        agent = HumanAgent(TypedLines(stream, prompts=io.StringIO()), screen)
        failed: list[Exception] = []

        def ask() -> None:
            try:
                agent.act(lead("S6 D6 SA"))
            except AgentError as error:
                failed.append(error)

        for _ in range(3):
            thread = threading.Thread(target=ask)
            thread.start()
            while thread.is_alive():
                agent.call_off()
                thread.join(0.05)
        assert len(failed) == 3
        # what was left of the calls does not hurt the question after them
        typed.write("1\n")
        typed.flush()
        assert agent.act(lead("S6 D6 SA")) == 1
        agent.close()


class Told(Listener):
    """Tells a screen how rounds end, and keeps the levels before and after with what was told."""

    def __init__(self, seat: int, levels: tuple[str, str], owner: int) -> None:
        self.person = Person()
        self.person.screen.seat = seat
        self.rounds: list[tuple[RoundOver, tuple[int, int], str]] = []
        self.session = Session(self, seed=seat + 97 * owner, levels=levels, owner=owner)

    def told(self, news: News) -> None:
        if isinstance(news, RoundOver):
            told = len(self.person.text)
            self.person.screen.round_over(news.order, news.left, news)
            self.rounds.append((news, self.session.levels, self.person.text[told:]))

    def play(self, rounds: int) -> None:
        self.session.begin()
        rng = np.random.default_rng(len(self.person.text))
        while self.session.pending and len(self.rounds) < rounds:
            seat, due = next(iter(self.session.pending.items()))
            self.session.choose(seat, int(rng.integers(len(due.actions))))


def test_the_levels_told_are_those_that_the_winners_went_up():
    seen = set()
    for place, owner in enumerate([0, 1] * 6):
        own, other = RANKS[10 + place % 3], RANKS[10 + place // 3 % 3]
        table = Told(place % 4, (own, other), owner)
        table.play(6)
        for result, before, told in table.rounds:
            winner = result.order[0] % 2
            rise = result.levels[winner] - before[winner]
            assert result.rise == rise and result.winner == winner
            who = "your team wins" if winner == place % 2 else "they win"
            levels = {1: "1 level", 2: "2 levels", 3: "3 levels"}.get(rise, "the round")
            assert told.splitlines()[0].endswith(f"{who} {levels}")
            failed = result.failed is not None
            assert ("not past A" in told) == failed
            assert not failed or ("your team is" if result.failed == place % 2 else "they are") in told
            if result.dropped:
                assert f"back to {RANKS[result.levels[result.failed]]}" in told
            seen |= {("gained", result.gain - rise), ("failed", failed), ("dropped", result.dropped)}
    assert {("gained", 0), ("gained", 1), ("gained", 2), ("failed", True), ("dropped", True)} <= seen


AGENT = LanguageAgent(lambda prompt: "")
RICH = lead("S6 S7 S8 S9 ST D6 D7 D8 H6 H7 C6 SB SB HR HR SA DA H5")

NO_CHOICES = ["-1", "Index -1", "1.5", "the pair at 1", "pair of 6s", "two 6s", "Bomb 2", "Pair K", "9999"]


def names_of(kind: str) -> list[str]:
    spoken = [name for name, of in KIND_WORDS.items() if of == kind]
    return [kind, *spoken, *(name.title() for name in spoken)]


def test_a_type_and_rank_are_that_type_and_rank():
    for seen in [RICH, *observations(amount(30, 6), stages=("play",))]:
        for kind, rank, _ in seen.actions:
            if kind == "PASS":
                continue
            for name in names_of(kind):
                for answer in (f"{name} {rank}", f"I play: **{name} {rank.replace('T', '10')}**."):
                    found = seen.actions[AGENT.read(answer, seen)]
                    assert found[:2] == [kind, rank], answer


def test_a_line_of_the_list_is_the_choice_on_that_line():
    for seen in [*observations(12), *observations(6, stages=("tribute", "back"))]:
        for line in AGENT.prompt(seen).partition("Choices:\n")[2].splitlines():
            if line[:5].strip().isdigit():
                index = int(line.split()[0])
                assert AGENT.read(line, seen) == index
                assert (
                    seen.actions[AGENT.read(line.split(maxsplit=1)[1], seen)][:2] == seen.actions[index][:2]
                )
                assert AGENT.read(f"`{index}`", seen) == AGENT.read(f"So I choose {index}.", seen) == index


def test_an_index_and_another_move_are_refused():
    for seen in observations(10, stages=("play",)):
        words = [f"{move[0]} {move[1]}" for move in seen.actions]
        shown = CardFaces(symbols=False)
        for index in range(0, len(words), 7):
            other = next((k for k, word in enumerate(words) if word != words[index]), None)
            if other is not None:
                for answer in (
                    f"{index}  {shown.move(seen.actions[other], seen.level).plain}",
                    f"{index} or {other}",
                ):
                    with pytest.raises(AgentError, match="more than one choice"):
                        AGENT.read(answer, seen)


def test_what_is_no_choice_is_never_taken_for_one():
    for answer in (*NO_CHOICES, ""):
        with pytest.raises(AgentError):
            AGENT.read(answer, RICH)


def test_a_pass_is_said_alone_or_in_capitals():
    seen = next(o for o in observations(50) if o.actions[0][0] == "PASS" and len(o.actions) > 3)
    for answer in ("PASS", "pass", "I would rather PASS", '["PASS", "PASS", "PASS"]', "0  PASS"):
        assert AGENT.read(answer, seen) == 0
    for answer in ("I would pass the salt", "3  PASS"):
        with pytest.raises(AgentError):
            AGENT.read(answer, seen)


def test_every_choice_is_read_by_its_index_in_words_and_as_the_screen_shows_it():
    kinds = set()
    for observation in [*observations(100, seed=3), *observations(10, seed=3, stages=("tribute", "back"))]:
        level = RANKS[int(observation.state["level"][0])]
        jokers = [index for index, move in enumerate(observation.actions) if move[1] in ("B", "R")]
        for index in [*range(0, len(observation.actions), 7), *jokers]:
            assert named_choices(str(index), observation) == [index]
            move = observation.actions[index]
            faces = [CardFaces(symbols=symbols).move(move, level).plain for symbols in (False, True)]
            assert move[0] == "PASS" or all(card in faces[0] for card in move[2])
            for shown in faces:
                found = observation.actions[named_choices(shown, observation)[0]]
                assert found[:2] == move[:2] and sorted(found[2]) == sorted(move[2]), shown
                if move[0] == "Bomb" or (move[0] in ("Single", "Pair") and move[1] in ("B", "R")):
                    # without its cards: a count, or a joker's name
                    kinds.add(move[0])
                    name = shown.split("  ")[0]
                    found = observation.actions[named_choices(name, observation)[0]]
                    assert found[:2] == move[:2], name
                    assert len(found[2]) == len(move[2]), name
        for text in ("", "99999", "-1", "Pair 1", "what?", "S1"):
            with pytest.raises(AgentError):
                named_choices(text, observation)
    assert kinds == {"Bomb", "Single", "Pair"}


def test_a_language_model_is_told_what_people_see_and_of_tribute():
    prompt, seen = LanguageAgent(lambda prompt: "").prompt, observations(100)
    lead = next(o for o in seen if o.greater is None)
    assert f"your hand ({len(lead.hand)} cards)" in prompt(lead) and "you lead" in prompt(lead)
    follow = next(o for o in seen if o.greater is not None)
    who, move = follow.greater
    shown = CardFaces(symbols=False).move(move, follow.level).plain
    (beat,) = (line for line in prompt(follow).splitlines() if "<- to beat" in line)
    assert seat_words(follow.seat)[who] in beat and f"{shown}  <- to beat" in beat
    back = prompt(observations(1, stages=("back",))[0])
    assert (
        re.search(r"(pay|pays) +(you|next|partner|previous) +\w\w", back) and "return a card" in back.lower()
    )
    longest = max(seen, key=lambda o: len(o.actions))
    assert len(longest.actions) > 100
    assert len(prompt(longest).partition("Choices:")[2].split("Answer")[0].strip().splitlines()) <= 61


def test_a_language_model_gets_the_rules_and_its_mistakes_back():
    observation = next(o for o in observations(50) if len(o.actions) > 5)
    prompts = []
    answers = iter(["I would pass the salt", "Let me think.\n\nMy choice: **3**"])

    def model(prompt):
        prompts.append(prompt)
        return next(answers)

    assert LanguageAgent(model).act(observation) == 3
    assert "GuanDan" in prompts[0] and "Choices:" in prompts[0]
    assert "was refused" in prompts[1]
    cards = CardFaces(symbols=False).move(observation.actions[4], observation.level).plain
    assert LanguageAgent(lambda prompt: f"I play\n{cards}").act(observation) == 4

    def broken(prompt):
        raise TimeoutError("no model")

    assert LanguageAgent(broken).act(observation) == 0
    assert LanguageAgent(lambda prompt: "??", fallback=RandomSeat()).act(observation) < len(
        observation.actions
    )
