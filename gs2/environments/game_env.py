"""A PettingZoo AEC environment over any game of the `Game` protocol (needs the extra `pettingzoo`).

    from gs2.environments.game_env import GameEnv

    env = GameEnv("leduc_poker")
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        done = terminated or truncated
        env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Chance acts inside the environment. Moves at once, as in Goofspiel, are made one after the other, hidden until
all are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from blueprint.game_lockstep import GameLockstep
from games.game import CHANCE, TERMINAL, Game, GameError
from games.ragged import pick_by
from games.registry import recorded_game
from games.support.array_types import Array
from gs2.environments.spaces import move_space, seat_view

_ONE = np.zeros(1, np.int64)


class GameEnv(AECEnv):  # type: ignore[misc]  # PettingZoo has no types
    """A game for agents "seat_0", "seat_1", …; `env.game` is the game, `env.state_rows` the history, [1].

    game: a game, or its string; games whose payoffs do not sum to zero are played as well, and
        games that `load_game` leaves to records, such as a match of many rounds.
    moves: how they are numbered, see `spaces`: "auto", "table", "listed" or "found".
    observation: what a seat is told, see `spaces`: "auto", "rows", "game", "words", "key", a game's own.
    max_moves: of a list of moves; None for one that is enough.
    looks: for moves found by playing, how often 4,096 random plays look for them.
    render_mode: None or "ansi", text from `render`.

    Observations are dictionaries: "observation", what the seat knows; "action_mask" [moves] int8; of listed
    moves also "moves" [moves, width], a row of numbers for each and zeros behind them. Mask and moves are
    zero for a seat that is not to act. Each seat is paid at the end what `Game.returns` says.
    Raises GameError at an option or a game that does not exist.
    """

    metadata = {  # noqa: RUF012 - PettingZoo's interface
        "name": "gs2_game_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        game: Game | str,
        *,
        moves: str = "auto",
        observation: str = "auto",
        max_moves: int | None = None,
        looks: int = 2,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.game = recorded_game(game) if isinstance(game, str) else game
        if render_mode not in (None, "ansi"):
            raise GameError(f"{self.game.name}: render_mode is None or 'ansi'; got {render_mode!r}")
        self.metadata = {**self.metadata, "name": f"{self.game.name.partition('(')[0]}_v0"}
        self.render_mode = render_mode
        self.move_space = move_space(self.game, moves, max_moves=max_moves, looks=looks)
        self.view = seat_view(self.game, observation)
        self.possible_agents = [f"seat_{seat}" for seat in range(self.game.num_players)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._space() for agent in self.possible_agents}
        size = self.move_space.size
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(size) for agent in self.possible_agents
        }
        self._rng = np.random.default_rng()

    def _space(self) -> spaces.Dict:
        view, size = self.view, self.move_space.size
        parts: dict[str, spaces.Space[Any]] = {
            "observation": spaces.Box(view.low, view.high, (view.width,), view.dtype),
            "action_mask": spaces.Box(0, 1, (size,), np.int8),
        }
        if self.move_space.width:
            high, dtype = self.move_space.high, self.move_space.dtype
            parts["moves"] = spaces.Box(0, high, (size, self.move_space.width), dtype)
        return spaces.Dict(parts)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions; the mask says which are legal."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a round.

        seed: of this and all later rounds. options: `state`, a history to begin at instead of the root, [1]
            of the game's states; others are ignored, as PettingZoo's tests require.
        Raises GameError if the state is no batch of one, or the game is over at this state.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        given = (options or {}).get("state")
        self.state_rows: Array = (
            GameLockstep.begun(self.game, 1, self._rng).states if given is None else self._checked(given)
        )
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._last, self.agent_selection = "", self.agents[0]
        self._await()

    def _checked(self, given: Any) -> Array:
        state = np.array(given, copy=True)
        one = self.game.root()
        if state.shape != one.shape or state.dtype != one.dtype:
            raise GameError(
                f"{self.game.name}: a state must be one row of {one.dtype}, shape {one.shape}; got shape "
                f"{state.shape} of {state.dtype}; take a batch of one from the game"
            )
        if self.game.player(state)[0] == TERMINAL:
            raise GameError(
                f"{self.game.name}: a round must begin before its end; the game is over at this state"
            )
        return state

    def _await(self) -> None:
        """Let chance act, and find out whose turn it is and what may be done, or what everyone is paid."""
        while (player := int(self.game.player(self.state_rows)[0])) == CHANCE:
            outcomes = self.game.actions(self.state_rows)
            probs = self.game.chance_probs(self.state_rows, outcomes)
            taken = outcomes.values[pick_by(outcomes, probs, self._rng.random(1))]
            self.state_rows = self.game.step(self.state_rows, _ONE, taken)
        over = player == TERMINAL
        self._legal: Array = np.zeros(0, np.int64) if over else self.game.actions(self.state_rows).values
        self._numbers = self.move_space.numbers(self._legal)
        if over:
            paid = self.game.returns(self.state_rows)[0].tolist()
            self.rewards = dict(zip(self.agents, paid, strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = f"seat_{player}"
        self._accumulate_rewards()

    def moves(self) -> Array:
        """Return the legal moves of the agent to act, [m] of the game's actions; see `move_numbers`."""
        return self._legal

    def move_numbers(self) -> NDArray[np.int64]:
        """Return the action that stands for each of `moves()`, [m] int64."""
        return self._numbers

    def move_words(self) -> dict[int, str]:
        """Return the legal moves in the game's words, by the action that stands for each."""
        words = (self.game.action_text(self.state_rows[0], move) for move in self._legal)
        return dict(zip(self._numbers.tolist(), words, strict=True))

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees; mask and moves are empty for an agent that is not to act."""
        seat = int(agent.partition("_")[2])
        acts = agent == self.agent_selection and not self.terminations.get(agent, True)
        mask = np.zeros(self.move_space.size, np.int8)
        seen = {"observation": self.view.of(self.state_rows, seat, acts), "action_mask": mask}
        if self.move_space.width:
            seen["moves"] = np.zeros((self.move_space.size, self.move_space.width), self.move_space.dtype)
        if acts:
            mask[self._numbers] = 1
            if self.move_space.width:
                # listed moves stand in front, in their order
                seen["moves"][: len(self._legal)] = self.move_space.rows(self.state_rows, seat, self._legal)
        return seen

    def step(self, action: int | None) -> None:
        """Let the agent whose turn it is take a legal action.

        Raises GameError, and changes nothing, at any other.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        places = np.flatnonzero(self._numbers == -1 if action is None else self._numbers == int(action))
        if len(places) != 1:
            raise GameError(
                f"{self.game.name}: an action must be one that the mask allows; got {action!r} from {agent}; "
                f"take one of the {len(self._numbers)} in move_numbers()"
            )
        move = self._legal[places]
        if self.render_mode is not None:
            self._last = f"{agent}: {self.game.action_text(self.state_rows[0], move[0])}"
        self.state_rows = self.game.step(self.state_rows, _ONE, move)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._await()

    def render(self) -> str | None:
        """Return the history in words, what is hidden included, in render mode "ansi"."""
        if self.render_mode is None:
            return None
        said = self.game.state_text(self.state_rows[0])
        return f"{said}\n{self._last}" if self._last else said

    def close(self) -> None:
        """Nothing is left open."""
