"""Games of anybody whose moves are inputs: their rows, play and training; DouDiZhu seen the same way."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
from blueprint.climbing.climbing_blueprint import load_climbing_blueprint
from blueprint.climbing.doudizhu_inputs import DouDizhuInputs
from blueprint.climbing.move_config import ClimbingConfig
from blueprint.climbing.move_inputs import RowInputs, move_inputs
from blueprint.climbing.move_trainer import MoveTrainer
from blueprint.learning.run import RunLimits, RunManner, RunPlace, train
from games.climbing.doudizhu.doudizhu import DouDizhu
from games.game import TERMINAL, GameError
from games.ragged import Ragged
from games.support.configuration import ConfigError
from gs2.environments.spaces import move_space, seat_view
from tests.blueprint.climbing.random_rounds import moves_of, rows_of

SMALL = ClimbingConfig(target="win", state=32, blocks=1, action=16, critic=16, rounds=24, batch=64)


class Shedding(games.SimpleGame):
    """A generated card game: a higher card, or a pass; who sheds its hand first is paid. Ranks are drawn."""

    payoff_range = (-12.0, 12.0)

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.num_players = int(rng.integers(2, 5))
        self.teams = tuple(range(self.num_players))
        self.size = int(rng.integers(2, 4))
        self.deck = rng.integers(0, 9, self.size * self.num_players).tolist()
        self.name, self.max_length = f"shedding_{seed}", 9 * len(self.deck)

    def start(self) -> tuple[Any, ...]:
        return ((),) * self.num_players, (), 0

    def turn(self, state: tuple[Any, ...]) -> int:
        hands, played, dealt = state
        if dealt < len(self.deck):
            return games.CHANCE
        over = not all(hands) or len(played) >= 3 * len(self.deck)
        return games.TERMINAL if over else len(played) % self.num_players

    def choices(self, state: tuple[Any, ...]) -> list[Any]:
        hands, played, dealt = state
        if dealt < len(self.deck):
            return [seat for seat in range(self.num_players) if len(hands[seat]) < self.size]
        least = next((card for card in reversed(played[-self.num_players + 1 :]) if card is not None), -1)
        higher = sorted({card for card in hands[self.turn(state)] if card > least})
        return higher if least < 0 else [*higher, None]

    def after(self, state: tuple[Any, ...], choice: Any) -> tuple[Any, ...]:
        hands, played, dealt = state
        mine = list(hands)
        if dealt < len(self.deck):
            mine[choice] += (self.deck[dealt],)
            return tuple(mine), played, dealt + 1
        seat = self.turn(state)
        if choice is not None:
            held = list(mine[seat])
            held.remove(choice)
            mine[seat] = tuple(held)
        return tuple(mine), (*played, choice), dealt

    def payoff(self, state: tuple[Any, ...]) -> list[float]:
        left = [len(hand) for hand in state[0]]
        return [float(sum(left)) if n == 0 else -float(n) * (0 in left) for n in left]

    def sees(self, state: tuple[Any, ...], player: int) -> str:
        return f"dealt {state[2]} holds {sorted(state[0][player])} played {list(state[1])}"

    def shows(self, state: tuple[Any, ...], player: int) -> list[int]:
        hands, played, _ = state
        return (
            [hands[player].count(rank) for rank in range(9)] + [len(hand) for hand in hands] + [len(played)]
        )

    def shows_move(self, state: tuple[Any, ...], player: int, choice: Any) -> list[int]:
        return [int(choice == rank) for rank in range(9)] + [int(player == self.turn(state))]

    def hides(self, state: tuple[Any, ...], player: int) -> list[int]:
        seats = [(player + k) % self.num_players for k in range(1, self.num_players)]
        return [state[0][seat].count(rank) for seat in seats for rank in range(9)]


class _Rooted(Shedding):
    """Without the shortcut past the deal."""

    sample_deals = None  # type: ignore[assignment]


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_what_the_author_says_and_rounds_are_the_games(seed: int) -> None:
    game, rng = (_Rooted if seed == 3 else Shedding)(seed), np.random.default_rng(seed)
    games.check_game(game, rng, max_width=4)
    inputs = move_inputs(game)
    states = inputs.deal(6, rng)
    while len(states := states[game.player(states) != TERMINAL]):
        legal, seats = inputs.legal(states), game.player(states).astype(np.int64)
        rows = np.arange(len(states))
        seen, hidden = rows_of(inputs, states, seats)
        moves = moves_of(inputs, states, seats, legal)
        for k, seat in enumerate(seats.tolist()):
            state = game._place(states[k]).state
            assert seen[k].tolist() == game.shows(state, seat)
            assert hidden[k].tolist() == game.hides(state, seat)
            told = [game.shows_move(state, seat, choice) for choice in game.choices(state)]
            assert moves[legal.offsets[k] : legal.offsets[k + 1]].tolist() == told
            assert seat_view(game).of(states[k : k + 1], seat, True).tolist() == game.shows(state, seat)
        taken = legal.values[legal.offsets[:-1] + rng.integers(0, legal.counts)]
        after = game.step(states, rows, taken)
        inputs.act(states, taken)
        assert np.array_equal(states, after)
    ends = inputs.play_randomly(inputs.deal(5, rng), rng)
    assert (game.player(ends) == TERMINAL).all()
    assert move_space(game).width == inputs.move_bits


def test_a_resumed_run_of_ones_own_game_ends_where_one_without_a_break_does(tmp_path: Path) -> None:
    game = Shedding(1)
    whole, parts = (RunPlace.of(tmp_path / name / "x.safetensors") for name in ("whole", "parts"))
    trained = train(whole, partial(MoveTrainer.begun, game=game, config=SMALL), RunLimits(decisions=900))
    again = partial(MoveTrainer.begun, game=Shedding(1))
    train(parts, partial(again, config=SMALL), RunLimits(decisions=400))
    resumed = train(parts, again, RunLimits(decisions=900), RunManner(resume=True))
    assert trained.decisions == resumed.decisions
    assert all(
        np.array_equal(value, resumed.learner.tensors()[name])
        for name, value in trained.learner.tensors().items()
    )
    network = load_climbing_blueprint(whole.checkpoint, game)
    states = resumed.inputs.deal(8, np.random.default_rng(3))
    states = states[game.player(states) == game.player(states)[0]]
    actions = game.actions(states)
    probs = network.policy(game, states, int(game.player(states)[0]), actions)
    assert np.bincount(actions.rows, probs).tolist() == [1.0] * len(states)


class _Even(Shedding):
    """Nobody is paid."""

    payoff_range = (0.0, 0.0)

    def payoff(self, state: tuple[Any, ...]) -> list[float]:
        return [0.0] * self.num_players


def test_a_game_whose_random_play_always_pays_alike_is_learned(tmp_path: Path) -> None:
    place = RunPlace.of(tmp_path / "x.safetensors")
    begin = partial(MoveTrainer.begun, game=_Even(1), config=SMALL.replace(target="payoff"))
    trainer = train(place, begin, RunLimits(decisions=100))
    assert all(np.isfinite(value).all() for value in trainer.learner.tensors().values())
    assert MoveTrainer.begun(place.state, _Even(1)).stake == trainer.stake == 0.01


class _Seen(DouDizhu):
    """DouDiZhu as a stranger would offer it: by rows of its own."""

    def seat_rows(self, states: Any, seats: Any) -> Any:
        return rows_of(DouDizhuInputs(self), states, seats)[0]

    def move_rows(self, states: Any, seats: Any, rows: Any, actions: Any) -> Any:
        one = Ragged(np.arange(len(actions) + 1), np.ascontiguousarray(actions, np.int64))
        return moves_of(DouDizhuInputs(self), np.ascontiguousarray(states[rows]), seats[rows], one)

    def hidden_rows(self, states: Any, seats: Any) -> Any:
        return rows_of(DouDizhuInputs(self), states, seats)[1]


def test_doudizhu_learns_the_same_by_the_kernels_and_by_rows_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = SMALL.replace(rounds=4)
    fast = MoveTrainer(games.load_game("doudizhu(ranks=4)"), config)
    monkeypatch.setattr("blueprint.climbing.move_trainer.move_inputs", RowInputs)
    slow = MoveTrainer(_Seen(ranks=4), config)
    assert isinstance(slow.inputs, RowInputs) and isinstance(fast.inputs, DouDizhuInputs)
    one, other = fast.run_generation(), slow.run_generation()
    assert one["decisions"] == other["decisions"]
    mine = slow.learner.tensors()
    assert all(np.array_equal(value, mine[name]) for name, value in fast.learner.tensors().items())


class _Wrong(Shedding):
    def shows_move(self, state: tuple[Any, ...], player: int, choice: Any) -> list[Any]:
        return [0.5]


class _Lucky(Shedding):
    """Deals on when somebody has passed."""

    def turn(self, state: tuple[Any, ...]) -> int:
        turn = super().turn(state)
        return games.CHANCE if turn >= 0 and len(state[1]) == 1 else turn


class _Growing(Shedding):
    def shows(self, state: tuple[Any, ...], player: int) -> list[int]:
        return [0] * (1 + len(state[1]))


def test_what_a_game_lacks_is_refused_in_words() -> None:
    game = Shedding(2)
    with pytest.raises(GameError, match="a game with shows_move must have shows"):
        type("Blind", (games.SimpleGame,), {"shows_move": Shedding.shows_move})
    with pytest.raises(GameError, match="whole numbers from 0 to 255"):
        move_inputs(_Wrong(2))
    with pytest.raises(GameError, match="shows_move"):
        move_inputs(games.load_game("kuhn_poker"))
    with pytest.raises(ConfigError, match="guide must be 0"):
        MoveTrainer(game, SMALL.replace(guide=100.0))
    with pytest.raises(GameError, match="prune must be -1; only doudizhu and big2"):
        MoveTrainer(game, SMALL.replace(prune=1)).run_generation()
    with pytest.raises(GameError, match="seat_rows must be as wide at every history"):
        MoveTrainer(_Growing(2), SMALL).run_generation()
    lucky = _Lucky(2)
    inputs = move_inputs(lucky)
    states = inputs.deal(4, np.random.default_rng(0))
    with pytest.raises(GameError, match="chance must not act after the deal"):
        inputs.act(states, inputs.legal(states).values[inputs.legal(states).offsets[:-1]])
