"""Example positions and what is said about them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from games.game import GameError
from games.guandan.notation import action_list
from games.guandan.rounds.playout import legal
from games.guandan.rounds.position import parse_position
from gs2.guandan.agent import agent as agent_module
from gs2.guandan.agent.agent import Gs2Agent
from gs2.guandan.agent.explanation import (
    example_positions,
    explain_decision,
    read_position,
    solve_position,
)
from gs2.guandan.agent.guandan_config import agent_preset
from gs2.guandan.table.selection import move_text
from tests.commands.runner import ran, refused
from tests.gs2.guandan.blueprints import counting

QUICK = agent_preset("standard").replace(worlds=8, wave=4, depth=4, gap=0.5, deadline=600.0)


def test_the_examples_hide_the_other_hands_and_cover_what_players_meet() -> None:
    examples = example_positions()
    assert {"lead", "follow", "wild", "endgame", "one-opponent", "duel", "six-deals"} <= set(examples)
    kinds = set()
    for name, example in examples.items():
        state, seat = parse_position(read_position(name))
        assert seat == state["player"][0], name
        assert len(legal(state, canonical=True).values) > 1, name
        assert "hands" not in example["position"], name
        opponents = [s for s in (seat + 1 & 3, seat + 3 & 3) if state["left"][0, s] > 0]
        kinds.add((len(opponents), bool(state["leader"][0] == 255)))
    assert kinds >= {(1, True), (2, False), (2, True)}
    state, _ = parse_position(read_position("follow"))
    level, moves = int(state["level"][0]), legal(state, canonical=True).values
    names = {move_text(action_list(move, level)) for move in moves}
    assert {"Pass", "Bomb of 4 5 (S5 H5 C5 D5)"} <= names, "moves are named as players name them"


def test_every_example_is_explained_by_its_best_move_and_sampled_deals() -> None:
    for name in example_positions():
        agent = Gs2Agent(counting(noise=0.1), QUICK, np.random.default_rng(0))
        told = solve_position(read_position(name), agent)
        assert told.moves[0].move == told.play
        assert sum(row.policy for row in told.moves) <= 1 + 1e-9
        assert told.reason.endswith(".")
        if told.stage in ("rollout", "subgame"):
            assert told.deals_sampled > 0
            for deal in told.deals:
                assert 0 < deal.weight <= 1
                assert told.play in deal.results or not deal.results
        if name == "duel":
            assert told.stage == "endgame"
            assert {row.note for row in told.moves} <= {"wins", "loses", ""}
        json.dumps(told.to_json())


def test_few_cards_are_solved_in_every_deal_that_is_possible() -> None:
    """The small joker leads to one level in all six deals; the single ace and one full house lead to two."""
    config = agent_preset("standard").replace(deadline=600.0)
    agent = Gs2Agent(counting(noise=0.1), config, np.random.default_rng(0))
    told = solve_position(read_position("six-deals"), agent, listed=99)
    assert told.stage == "open" and told.deals_sampled == 6
    assert told.reason.startswith("Solved with open cards in 6 deals")
    worth = {row.move: [deal.results[row.move] for deal in told.deals] for row in told.moves}
    assert worth["Single B (SB)"] == [1.0] * 6
    assert told.play in {move for move, results in worth.items() if results == [2.0] * 6}
    assert {"Single A (HA)", "Full house 6 (S6 H6 D6 S3 C3)"} == {
        m for m, r in worth.items() if r == [2.0] * 6
    }


def test_a_solved_subgame_is_explained_by_its_size_and_margins() -> None:
    config = agent_preset("paper").replace(
        sample=20, k=3, room=60, iterations=20, deadline=600.0, leaf="value", subgame_depth=3, crowd_depth=3
    )
    agent = Gs2Agent(counting(), config, np.random.default_rng(0))
    told = solve_position(read_position("follow"), agent)
    assert told.stage == "subgame" and told.subgame["nodes"] > told.subgame["infosets"] > 0
    for deal in told.deals:
        assert set(deal.margin) == set(deal.alternative) == set(deal.solved)
        assert all(deal.margin[s] == pytest.approx(deal.alternative[s] - deal.solved[s]) for s in deal.margin)


def test_a_decision_game_is_explained_by_its_policy_and_all_deals_compared() -> None:
    config = agent_preset("standard").replace(
        worlds=16, wave=16, depth=2, leaf_worlds=3, deadline=600.0, gap=100.0, confidence=9.0
    )
    agent = Gs2Agent(counting(noise=0.1), config, np.random.default_rng(0))
    decision = agent.decide(parse_position(read_position("lead"))[0])
    assert decision.solution is not None and len(decision.solution.worlds) == 3
    told = explain_decision(decision, config)
    assert told.stage == "subgame" and len(told.deals) > 3
    hurried = Gs2Agent(counting(), QUICK.replace(deadline=1e-6), np.random.default_rng(0))
    cut = explain_decision(hurried.decide(parse_position(read_position("lead"))[0]), hurried.config)
    assert cut.play == cut.blueprint and any("the time was up" in note for note in cut.notes)
    chosen = {row.move: row.refined for row in told.moves}
    best = decision.solution.policy[decision.solution.moves == decision.choice]
    assert chosen[told.play] == pytest.approx(float(best[0])) == pytest.approx(max(chosen.values()))


def told_of(*words: str) -> dict:
    return json.loads(ran("solve", "guandan", "--json", *words).stdout)


def test_the_command_prints_a_verdict_for_people_and_for_programs(monkeypatch) -> None:
    made = []

    def make(spec, config, rng):
        made.append(spec)
        return Gs2Agent(counting(noise=0.1), config, rng)

    monkeypatch.setattr(agent_module, "make_agent", make)
    words = ["--infoset", "wild", "--seconds", "600", "--method", "standard:worlds=8,depth=3"]
    shown = ran("solve", "guandan", *words)
    assert "Play " in shown.output and "hand (10)" in shown.output and "milliseconds" in shown.output
    assert told_of(*words)["play"] in shown.output
    listed = ran("solve", "guandan", "--positions")
    assert all(name in listed.output for name in example_positions())
    assert made == [None, None]


@pytest.mark.parametrize("agent", ["gs2", "gs2-fast"])
def test_a_method_may_be_called_as_the_agent_is(agent: str) -> None:
    preset = {"gs2": "standard", "gs2-fast": "fast"}[agent]
    found = [told_of("--infoset", "duel", "--method", name) for name in (agent, f"{preset}:gap=100.0")]
    assert found[0]["config"] == found[1]["config"] and found[0]["play"] == found[1]["play"]


def test_a_move_far_behind_is_searched_when_asked_and_left_alone_with_a_gap() -> None:
    assert told_of("--method", "standard:worlds=4,open_cards=0")["stage"] == "subgame"
    told = told_of("--infoset", "lead", "--method", "standard:gap=0,worlds=4", "--seconds", "600")
    assert told["stage"] == "clear"


def test_what_the_methods_of_the_game_do_not_have_is_refused(tmp_path) -> None:
    for words, says in (
        (("--order", "2"), "has no field 'order'"),
        (("--method", "fast:wolds=4"), "did you mean worlds"),
        (("--method", "fst"), "did you mean fast"),
        (("--infoset", "nowhere"), "must be a file or one of lead"),
        (("-o", "new.npz"), "--output and --lock need a method of every game"),
    ):
        assert says in refused("solve", "guandan", *words)
    with pytest.raises(GameError, match=r"must be a file or one of .*endgame"):
        read_position("nowhere")
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(example_positions()["lead"]))
    assert read_position(file) == read_position("lead")
