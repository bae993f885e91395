"""Lambda-returns: against a walk of each round by itself, for any teams; and which decisions are learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.game_lockstep import PlayRecord
from blueprint.learning.returns import lambda_returns, shared_worth
from games import load_game
from tests.blueprint.climbing.random_rounds import at_random, played

TEAMS = {
    "guandan": [[1, -1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, -1], [-1, 1, -1, 1]],
    "doudizhu": [[1, -1, -1], [-1, 1, 1], [-1, 1, 1]],
    "big2(players=3)": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "big2(players=2)": [[1, -1], [-1, 1]],
}


@pytest.mark.parametrize("name", list(TEAMS))
def test_a_seat_says_what_its_own_team_and_a_sole_opponent_get(name: str) -> None:
    assert shared_worth(load_game(name, general_sum=True)).tolist() == TEAMS[name]


@pytest.mark.parametrize("name", ["guandan", "doudizhu", "big2", "big2(players=3)"])
@pytest.mark.parametrize("trace", [0.0, 0.3, 0.95, 1.0])
def test_a_return_goes_through_the_values_of_those_whose_worth_it_shares(name: str, trace: float) -> None:
    game, rng = load_game(name, general_sum=True), np.random.default_rng(4)
    shared = shared_worth(game)
    seats, rounds = rng.integers(game.num_players, size=200), rng.integers(12, size=200)
    values = rng.normal(size=200)
    teams = np.array(game.teams)
    per_team = rng.normal(size=(12, len(set(game.teams))))
    if per_team.shape[1] == 2:
        per_team[:, 1] = -per_team[:, 0]
    worth = per_team[:, teams]
    found = lambda_returns(rounds, seats, values, worth, shared, trace)
    for number in range(12):
        mine = np.flatnonzero(rounds == number)
        for k, t in enumerate(mine):
            seat = seats[t]
            later = [u for u in mine[k + 1 :] if shared[seat, seats[u]]]
            # sum of (1 - trace) trace^i of the values to come, and the rest of the weight on the end
            wanted = sum(
                (1 - trace) * trace**i * shared[seat, seats[u]] * values[u] for i, u in enumerate(later)
            )
            wanted += trace ** len(later) * worth[number, seat]
            assert found[t] == pytest.approx(wanted - values[t], abs=1e-5)


SMALL = ClimbingConfig(state=32, blocks=1, action=16, critic=16, rounds=40, batch=64)


def record_of(trainer: MoveTrainer) -> PlayRecord:
    """Return rounds at random, in which half of the decisions are all but certain."""
    _, choose = at_random(3)
    record = played(trainer.inputs, trainer.inputs.deal(40, np.random.default_rng(2)), choose)
    return replace(record, chance=np.where(np.arange(len(record)) % 2, 0.3, 1.0).astype(np.float32))


@pytest.mark.parametrize("name", ["doudizhu", "big2"])
def test_focus_learns_most_from_what_is_in_doubt(name: str) -> None:
    trainer = MoveTrainer(load_game(name), SMALL.replace(focus=2.0, trace=0.9))
    record, learner = record_of(trainer), trainer.learner
    payoffs, values = trainer.game.returns(record.final), learner.critic_values()
    found, kept = learner.samples(record, payoffs, values, np.random.default_rng(5))
    assert np.array_equal(found.states, record.states[kept])
    certain = record.chance == 1
    assert np.array_equal(found.share, np.where(certain, np.float32(0.15), np.float32(1.0))[kept])
    sure = len(found) - int((~certain).sum())  # the others are all learned from
    assert sure / certain.sum() == pytest.approx(0.15, abs=0.05)
    # returns go from one decision that is kept to the next
    some, shared = record.where(kept), shared_worth(trainer.game)
    worth = learner.worth(record.final, payoffs)
    whole = lambda_returns(some.rounds, some.seats, values(some.states, some.seats), worth, shared, 0.9)
    assert np.allclose(found.target, whole, atol=1e-5)
    plain = MoveTrainer(load_game(name), SMALL).learner
    assert len(plain.samples(record, payoffs, values, np.random.default_rng(5))[0]) == len(record)


@pytest.mark.parametrize("other", [{"prune": 2}, {"guide": 1e9, "guide_share": 0.1}])
def test_focus_knows_what_is_certain_of_pruned_and_guided_play(other: dict[str, float]) -> None:
    config = SMALL.replace(focus=0.5, temperature=0.0, epsilon=0.0, **other)
    trainer = MoveTrainer(load_game("doudizhu"), config, teacher=at_random(3)[1])
    trainer.hand_out()
    (samples,), _, _ = trainer.play()
    assert samples.share.min() == np.float32(0.15)


CHANGES = ({"focus": 2.0}, {"trace": 0.5}, {"replay": 2}, {"critic_every": 3})


@pytest.mark.parametrize("name", ["doudizhu", "big2(players=3,ranks=8,suits=3)"])
def test_each_option_changes_what_a_climbing_game_learns(name: str) -> None:
    def trained(**change: float) -> np.ndarray:
        trainer = MoveTrainer(load_game(name), SMALL.replace(**change))
        rows = [trainer.run_generation() for _ in range(2)]
        assert all(np.isfinite(row["advantage"]) and row["target_std"] > 0 for row in rows)
        tensors = trainer.learner.tensors()
        return np.concatenate([tensors[key].ravel() for key in sorted(tensors)])

    found = [trained(), *(trained(**change) for change in CHANGES)]
    assert not any(np.array_equal(one, other) for k, one in enumerate(found) for other in found[:k])
