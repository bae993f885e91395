"""The arena: duplicate deals, whole games, intervals, the result file, processes and the gate."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.guandan.arena.arena import Arena, ArenaConfig, ArenaError, Schedule, available_cores
from blueprint.guandan.arena.duplicate import (
    BLOCK,
    AgentFault,
    duplicate_deals,
    game_seeds,
    play_duplicate,
    play_games_duplicate,
)
from blueprint.guandan.arena.gate import Challenge, gate
from blueprint.guandan.arena.results_file import ResultsFile, ResultsFileError
from blueprint.guandan.arena.statistics import summarise
from blueprint.guandan.chooser import Decisions
from blueprint.guandan.rules.rule_agents import GreedyAgent, RandomChooser
from games.guandan.matches.lockstep import CardDecisions, Matches
from games.guandan.rounds.round import GuanDan, advance, legal
from games.support.configuration import ConfigError
from games.support.files import FileProblem
from gs2.guandan.named_agents import NamedAgents


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class Watcher:
    """Plays greedily and notes which seats of which rounds it decided for, in what order."""

    def __init__(self) -> None:
        self.seats: dict[int, set[int]] = defaultdict(set)
        self.plays: dict[int, list[int]] = defaultdict(list)
        self.greedy = GreedyAgent()

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        for row, seat in zip(decisions.rows, decisions.seats, strict=True):
            self.seats[int(row)].add(int(seat))
            self.plays[int(row)].append(int(decisions.states["plays"][row]))
        return self.greedy(decisions)


def test_a_deal_follows_from_seed_and_number_alone() -> None:
    whole = duplicate_deals(np.arange(BLOCK + 3), 5)
    some = np.array([BLOCK + 1, 4, 0, BLOCK - 1])
    assert np.array_equal(duplicate_deals(some, 5), whole[some])
    assert not np.array_equal(duplicate_deals(some, 6), whole[some])


def test_deals_keep_to_one_level_if_told() -> None:
    deals = duplicate_deals(np.arange(64), 1, tribute=0.5, level=7)
    assert set(deals["level"]) == {7}
    assert len(np.unique(duplicate_deals(np.arange(64), 1)["level"])) > 6


def test_every_deal_is_played_from_both_sides_and_each_round_seen_in_order() -> None:
    a, b = Watcher(), Watcher()
    play_duplicate(a, b, duplicate_deals(np.arange(5), 2))
    for row in range(10):
        mine, theirs = ({0, 2}, {1, 3}) if row < 5 else ({1, 3}, {0, 2})
        assert a.seats[row] == mine and b.seats[row] == theirs
        assert a.plays[row] == sorted(a.plays[row])


def test_an_agent_against_itself_gains_on_one_side_what_it_loses_on_the_other() -> None:
    payoffs = play_duplicate(GreedyAgent(), GreedyAgent(), duplicate_deals(np.arange(40), 3))
    assert np.array_equal(payoffs[:, 0], -payoffs[:, 1])
    assert set(np.abs(payoffs).ravel()) <= {0, 1, 2, 3}


def test_payoffs_are_those_of_playing_the_rounds_one_by_one() -> None:
    deals = duplicate_deals(np.arange(3), 4)
    payoffs = play_duplicate(GreedyAgent(), StrongestFirst(), deals)
    game = GuanDan(moves="canonical")
    for deal in range(3):
        for side in (0, 1):
            state = deals[deal : deal + 1].copy()
            while state["player"][0] >= 0:
                moves = legal(state, canonical=True)
                seats = state["player"].astype(np.int64)
                asked = Decisions(state, np.zeros(1, np.int64), seats, moves.offsets, moves.values)
                agent = GreedyAgent() if seats[0] % 2 == side else StrongestFirst()
                at = int(agent(asked)[0])
                advance(state, moves.values[at : at + 1])
            assert payoffs[deal, side] == game.returns(state)[0, side]


class StrongestFirst:
    """Plays the last move of each list."""

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        return np.diff(decisions.offsets) - 1


def test_an_answer_that_is_no_choice_is_refused() -> None:
    def wrong(decisions: Decisions) -> NDArray[np.int64]:
        return np.diff(decisions.offsets)

    with pytest.raises(AgentFault, match="index of its legal moves"):
        play_duplicate(GreedyAgent(), wrong, duplicate_deals(np.arange(2), 0))


def test_whole_games_of_one_seed_see_the_same_cards_from_both_sides() -> None:
    seeds = game_seeds(np.arange(4), 1)
    score, rounds = play_games_duplicate(GreedyAgent(), GreedyAgent(), seeds)
    assert np.array_equal(score[:, 0], 1 - score[:, 1])
    assert np.array_equal(rounds[:, 0], rounds[:, 1])
    assert rounds.min() >= 5  # 2 to A takes 12 levels of at most 3, and A must be won
    assert len(np.unique(Matches(seeds).table["seed"])) == 4


def test_an_agent_may_choose_tribute_cards_itself() -> None:
    asked: list[set[int]] = []

    class Payer(GreedyAgent):
        def cards(self, decisions: CardDecisions) -> NDArray[np.int64]:
            asked.append({int(seat) % 2 for seat in decisions.seats[decisions.rows == 0]})
            return decisions.options.argmax(1)

    play_games_duplicate(Payer(), GreedyAgent(), game_seeds(np.arange(1), 0))
    assert set().union(*asked) == {0}


def test_a_summary_counts_both_sides() -> None:
    payoffs = np.array([[3, 1], [-2, 0], [3, 3]], np.int8)
    summary = summarise(payoffs, np.array([[1.0, 0.5]]), rng())
    assert summary.net is not None and summary.won is not None and summary.games is not None
    assert summary.net.mean == pytest.approx(8 / 6) and summary.net.n == 3
    assert summary.won.mean == pytest.approx(4.5 / 6)
    assert summary.outcomes == {"+3": 0.5, "+2": 0, "+1": 1 / 6, "0": 1 / 6, "-1": 0, "-2": 1 / 6, "-3": 0}
    assert summary.by_side is not None and summary.by_side[0]["+3"] == pytest.approx(2 / 3)
    assert summary.games.mean == 0.75


def test_a_comparison_goes_on_from_its_file_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Arena(NamedAgents(), processes=1) as arena:
        arena.play("greedy", "balanced", Schedule(6), output=path)
        whole = arena.play("greedy", "balanced", Schedule(10, games=1))
        with open(path, "a") as file:
            file.write('{"deal": 6, "pay')  # killed while writing
        again = arena.play("greedy", "balanced", Schedule(10, games=1), output=path)
    assert again.complete and again.played < whole.played
    assert np.array_equal(again.payoffs, whole.payoffs) and np.array_equal(again.games, whole.games)
    assert sorted(json.loads(line).get("deal", -1) for line in path.read_text().splitlines()[1:]) == [
        -1,
        *range(10),
    ]


def test_a_file_of_other_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Arena(NamedAgents(), processes=1) as arena:
        arena.play("greedy", "balanced", Schedule(2), output=path)
        for a, config, word in (
            ("random", ArenaConfig(), "with a"),
            ("greedy", ArenaConfig(seed=1), "with seed"),
            ("greedy", ArenaConfig(tribute=0.0), "with tribute"),
        ):
            with pytest.raises(ResultsFileError, match=word):
                arena.play(a, "balanced", Schedule(2, config=config), output=path)
        (tmp_path / "other").write_text("a,b\n1,2\n")
        with pytest.raises(ResultsFileError, match="result"):
            arena.play("greedy", "balanced", Schedule(2), output=tmp_path / "other")
        with pytest.raises(FileProblem, match="its folder must exist"):
            arena.play("greedy", "balanced", Schedule(2), output=tmp_path / "none" / "x.jsonl")


def test_a_file_whose_header_was_cut_off_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ResultsFile(path, {"a": 1})
    whole = path.read_bytes()
    path.write_bytes(whole[:9])
    assert ResultsFile(path, {"a": 1}).rows == []
    assert path.read_bytes() == whole


class Changing:
    """A source whose agents change behind the arena's back, and one that draws."""

    def __init__(self) -> None:
        self.version = 0

    def load(self, name: str, rng: np.random.Generator) -> RandomChooser:
        return RandomChooser(rng)

    def fingerprint(self, name: str) -> str:
        self.version += name == "changing"
        return f"{name}{self.version}"

    def deals_at_once(self, name: str) -> int:
        return 1 if name == "slow" else 512


def test_an_agent_that_changed_since_play_began_is_refused() -> None:
    with Arena(Changing(), processes=1) as arena, pytest.raises(ArenaError, match="changed"):
        arena.play("changing", "fixed", Schedule(1))


def test_agents_that_draw_replay_from_the_seed() -> None:
    results = []
    for _ in range(2):
        with Arena(Changing(), processes=1) as arena:
            results.append(arena.play("x", "y", Schedule(20)).payoffs)
    assert np.array_equal(*results)


def test_a_slow_agent_gets_one_deal_at_a_time() -> None:
    seen = []
    with Arena(Changing(), processes=1) as arena:
        arena.play("slow", "x", Schedule(3), progress=lambda result: seen.append(len(result.payoffs)))
        arena.play("x", "y", Schedule(3), progress=lambda result: seen.append(len(result.payoffs)))
    assert seen == [1, 2, 3, 3]


def test_a_stopped_comparison_returns_what_it_has() -> None:
    with Arena(Changing(), processes=1) as arena:
        seen: list[int] = []
        result = arena.play(
            "slow",
            "x",
            Schedule(9),
            progress=lambda result: seen.append(len(result.payoffs)),
            stop=lambda: len(seen) == 2,
        )
    assert not result.complete and len(result.payoffs) == 2


@pytest.mark.long
def test_processes_give_the_same_results_as_one(tmp_path: Path) -> None:
    with Arena(NamedAgents(), processes=1) as arena:
        one = arena.play("greedy", "balanced", Schedule(8))
    with Arena(NamedAgents(), processes=2) as arena:
        two = arena.play("greedy", "balanced", Schedule(8))
        with pytest.raises(ValueError, match="no agent is called 'nobody'"):
            arena.play("nobody", "greedy", Schedule(1))
    assert np.array_equal(one.payoffs, two.payoffs)


class Dies:
    """A source whose agents end their process."""

    def load(self, name: str, rng: np.random.Generator) -> RandomChooser:
        import os

        os._exit(1)

    def fingerprint(self, name: str) -> str:
        return name

    def deals_at_once(self, name: str) -> int:
        return 512


def test_a_process_that_dies_ends_the_comparison_with_an_error() -> None:
    with Arena(Dies(), processes=2) as arena, pytest.raises(ArenaError, match="ended without an answer"):
        arena.play("x", "y", Schedule(2))


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"rounds": -1}, {"rounds": 1, "games": -1}, {"rounds": 1, "first": -1}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ArenaError, match="there must be rounds or games to play"):
        Schedule(**wrong)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"level": 13}, {"tribute": 1.5}])
def test_configurations_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"arena: {next(iter(wrong))} must be"):
        ArenaConfig(**wrong)


def test_all_cores_are_used_by_default() -> None:
    assert Arena(NamedAgents()).processes == available_cores() >= 1


def test_the_gate_lets_the_better_agent_through_early_and_stops_the_worse(tmp_path: Path) -> None:
    with Arena(NamedAgents(), processes=1) as arena:
        better = gate(arena, Challenge("greedy", "random", 100, 200), output=tmp_path / "g.jsonl")
        worse = gate(arena, Challenge("random", "greedy", 100, 200))
        same = gate(arena, Challenge("greedy", "greedy", 20, 40))
        again = arena.play("greedy", "random", Schedule(20), output=tmp_path / "g.jsonl")
    assert better.verdict == "better" and better.low > 0 and len(better.payoffs) == 100
    assert worse.verdict == "worse" and worse.high < 0
    assert same.verdict == "undecided" and same.net == 0 and len(same.payoffs) == 40
    assert again.played == 0 and np.array_equal(again.payoffs, better.payoffs[:20])


def test_the_gate_decides_nothing_on_a_few_deals_however_clear_they_look() -> None:
    with Arena(NamedAgents(), processes=1) as arena:
        found = gate(arena, Challenge("greedy", "random", 10, 20))
    assert found.verdict == "undecided" and found.net > 0 and len(found.payoffs) == 20


def test_the_gate_refuses_numbers_out_of_range() -> None:
    with pytest.raises(ArenaError, match="batch"):
        Challenge("greedy", "random", batch=10, most=5)
