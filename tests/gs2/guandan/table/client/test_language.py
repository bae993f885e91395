"""What a language model answers is the move that is played, or it is told back."""

from __future__ import annotations

import pytest

from gs2.guandan.table.client.human import LanguageAgent
from gs2.guandan.table.client.screen import CardFaces
from gs2.guandan.table.client.words import KIND_WORDS
from gs2.guandan.table.seat import AgentError
from tests.gs2.guandan.table.client.test_terminal import lead
from tests.gs2.guandan.table.test_agents import observations
from tests.patience import amount

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
