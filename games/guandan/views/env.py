"""A PettingZoo AEC environment over rounds or whole matches (needs the extra `pettingzoo`).

    from games.guandan.views.env import GuanDanEnv

    env = GuanDanEnv()
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        done = terminated or truncated
        env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

An action is an index into the legal moves of the position, which `env.moves()` returns. The same index means
another move elsewhere, so an observation also says what the listed moves are: row i of "moves" describes
move i (see `move_features`), and an agent learns to score rows. `examples/guandan_masked_agent.py` trains
one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from games.game import TERMINAL, GameError
from games.guandan.cards import HAND_SIZE, NUM_RANKS, RANKS, TYPE_NAMES, as_level, hand_text, pack
from games.guandan.matches.events import MatchOver, RoundOver
from games.guandan.matches.match import Match, Pending
from games.guandan.matches.opening import Opening
from games.guandan.notation import action_text
from games.guandan.rounds.round import legal
from games.guandan.rounds.state import NOBODY, STATE
from games.guandan.rules import Rules, as_rules
from games.guandan.views.danzero_features import ACTION_WIDTH, STATE_WIDTH, action_features, state_features
from games.guandan.views.observation import OBSERVATION_WIDTH, observations
from games.support.array_types import Rows

__all__ = ["MOVE_SLICES", "MOVE_WIDTH", "Episode", "GuanDanEnv", "move_features"]

_OBSERVATIONS = {"danzero": (STATE_WIDTH, state_features), "openguandan": (OBSERVATION_WIDTH, observations)}
_STAGES = ("tribute", "back", "play")
CANONICAL_MOVES = 384
"""More than a position has canonical moves: 15 singles, 15 pairs, 13 trips, 12 tubes, 13 * 14 full houses, 13
plates, 10 straights, 7 * 13 bombs, 10 straight flushes, the joker bomb and PASS."""
FULL_MOVES = 1 << 14
"""Well above the longest list seen (5,939 of 27 cards with two wild cards); see `max_moves`."""
_TYPE, _RANK, _SIZE = ACTION_WIDTH, ACTION_WIDTH + len(TYPE_NAMES), ACTION_WIDTH + len(TYPE_NAMES) + 15
MOVE_SLICES = {
    "cards": slice(0, _TYPE),
    "type": slice(_TYPE, _RANK),
    "rank": slice(_RANK, _SIZE),
    "size": slice(_SIZE, _SIZE + 1),
}
"""Where each part of a move lies. cards: counts of the 54 cards, 0..2. type, rank: one-hot; types in the
order of `cards.TYPE_NAMES`, ranks 2..A, then the jokers. size: cards played, 0 for a PASS."""
MOVE_WIDTH = _SIZE + 1


def move_features(actions: Rows) -> NDArray[np.int8]:
    """Return what describes each move, [m, MOVE_WIDTH] int8; parts by name in MOVE_SLICES.

    actions: [m] ACTION.
    """
    out = np.zeros((len(actions), MOVE_WIDTH), np.int8)
    action_features(actions, out=out[:, MOVE_SLICES["cards"]])
    rows = np.arange(len(actions))
    out[rows, _TYPE + actions["type"].astype(np.int64)] = 1
    out[rows, _RANK + actions["rank"].astype(np.int64)] = 1
    out[:, _SIZE] = out[:, MOVE_SLICES["cards"]].sum(1)
    return out


@dataclass(frozen=True)
class Episode:
    """What an environment plays from one reset to the next.

    kind: "round", one round from a fresh deal, or "match", from level 2 to a win beyond A.
    level: of a round, a name or rank code; None to draw one for each episode.
    rules: `Rules`, a preset's name, or a dictionary of switches.
    Raises GameError at a kind, level or rules that do not exist.
    """

    kind: str = "round"
    level: int | str | None = None
    rules: Rules | str | dict[str, object] = "ruling"

    def __post_init__(self) -> None:
        if self.kind not in ("round", "match"):
            raise GameError(f"guandan: episode is one of 'round', 'match'; got {self.kind!r}")
        if self.level is not None:
            as_level(self.level)
        as_rules(self.rules)


class GuanDanEnv(AECEnv):  # type: ignore[misc]  # PettingZoo has no types
    """GuanDan for four agents "seat_0" .. "seat_3"; seats 0 and 2 play against 1 and 3.

    episode: "round", "match", or an `Episode` that says its level or rules too.
    moves: "full" lists every move, "canonical" one of each effect.
    observation: "danzero" (513 numbers, see `features`) or "openguandan" (722, see `observation`).
    max_moves: size of the action space; None for one that is enough.
    render_mode: None or "ansi", text from `render`.

    Observations are dictionaries: "observation", "action_mask" [max_moves] int8, "moves" [max_moves,
    MOVE_WIDTH] int8, the features of the listed moves and zeros behind them, "stage" (0 tribute, 1 return, 2
    play). Mask and moves are zero for an agent that is not to act. A round pays 3, 2 or 1 as
    `GuanDan.returns` says, a match 1 to the winners and -1 to the losers.
    Raises GameError at an option that does not exist.
    """

    metadata = {  # noqa: RUF012 - PettingZoo's interface
        "name": "guandan_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        *,
        episode: Episode | str = "round",
        moves: str = "full",
        observation: str = "danzero",
        max_moves: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        for name, value, choices in (
            ("moves", moves, ("full", "canonical")),
            ("observation", observation, tuple(_OBSERVATIONS)),
            ("render_mode", render_mode, (None, "ansi")),
        ):
            if value not in choices:
                raise GameError(f"guandan: {name} is one of {', '.join(map(repr, choices))}; got {value!r}")
        wanted = episode if isinstance(episode, Episode) else Episode(episode)
        self.episode, self.canonical, self.render_mode = wanted.kind, moves == "canonical", render_mode
        rules = as_rules(wanted.rules)
        self.rules = rules if wanted.kind == "match" else replace(rules, max_rounds=1)
        self._level = None if wanted.level is None else as_level(wanted.level)
        self.max_moves = max_moves or (CANONICAL_MOVES if self.canonical else FULL_MOVES)
        width, self._encode = _OBSERVATIONS[observation]
        self.possible_agents = [f"seat_{seat}" for seat in range(4)]
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(-1, 2, (width,), np.int8),
                    "action_mask": spaces.Box(0, 1, (self.max_moves,), np.int8),
                    "moves": spaces.Box(0, HAND_SIZE, (self.max_moves, MOVE_WIDTH), np.int8),
                    "stage": spaces.Discrete(3),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(self.max_moves) for agent in self.possible_agents
        }
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions; the mask says which are legal."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        seed: of this and all later episodes. options: `levels` and `owner` as of `Match`, `deals` and `first`
            as of `Opening`; others are ignored, as PettingZoo's tests require.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        chosen = {k: v for k, v in (options or {}).items() if k in ("levels", "owner", "deals", "first")}
        if self.episode == "round" and "levels" not in chosen:
            drawn = int(self._rng.integers(NUM_RANKS))
            level = drawn if self._level is None else self._level
            chosen["levels"] = (level, level)
        opening = Opening(chosen.pop("deals", None), chosen.pop("first", None))
        of_match = int(self._rng.integers(0, 2**63))
        self.match = Match(of_match, rules=self.rules, opening=opening, log=False, **chosen)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._last = ""
        self._await()

    def _await(self) -> None:
        """Find out whose turn it is and what may be done."""
        due = self.match.pending()[0]
        if due.stage == "play" and self.canonical:
            due = Pending(due.seat, due.stage, legal(self.match.state, canonical=True)[0])
        if len(due.actions) > self.max_moves:
            raise GameError(
                f"guandan: {len(due.actions)} moves are legal but max_moves is {self.max_moves}; "
                "make the environment with a greater one"
            )
        self._due = due
        self.agent_selection = f"seat_{due.seat}"

    def moves(self) -> Rows:
        """Return the legal moves of the agent to act, [m] ACTION; an action is an index into them."""
        return self._due.actions

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees; mask and moves are empty for an agent that is not to act."""
        seat = int(agent[-1])
        mask = np.zeros(self.max_moves, np.int8)
        moves = np.zeros((self.max_moves, MOVE_WIDTH), np.int8)
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            mask[: len(self._due.actions)] = 1
            moves[: len(self._due.actions)] = move_features(self._due.actions)
        stage = _STAGES.index(self.match.phase) if not self.match.over else 2
        return {
            "observation": self._encode(self._position(), seat)[0],
            "action_mask": mask,
            "moves": moves,
            "stage": stage,
        }

    def _position(self) -> Rows:
        """Return the round as a state; before play, one with the hands as they are and nothing played."""
        match = self.match
        if match.phase in ("play", "over"):
            return match.state
        state = np.zeros(1, STATE)
        hands = match.hands
        state["hand"] = pack(hands)
        state["left"] = np.minimum(hands.sum(1), HAND_SIZE)
        state["level"], state["levels"] = match.level, match.levels
        state["player"], state["leader"], state["order"] = TERMINAL, NOBODY, NOBODY
        state["last"]["type"] = state["trick"]["type"] = 255
        return state

    def step(self, action: int | None) -> None:
        """Let the agent whose turn it is take a legal action, an index into `moves()`.

        Raises GameError, and changes nothing, at any other.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None or not 0 <= int(action) < len(self._due.actions):
            raise GameError(
                f"guandan: an action is an index 0..{len(self._due.actions) - 1} of a legal move; "
                f"got {action!r}"
            )
        move = self._due.actions[int(action)]
        if self.render_mode is not None:
            self._last = f"{agent}: {action_text(move, self.match.level)}"
        events = self.match.apply(self._due.seat, move)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        over = False
        for event in events:
            if isinstance(event, RoundOver) and self.episode == "round":
                self.rewards = {f"seat_{s}": float(event.payoffs[s]) for s in range(4)}
                over = True
            elif isinstance(event, MatchOver) and self.episode == "match":
                if event.winner is not None:
                    self.rewards = {f"seat_{s}": 1.0 if s % 2 == event.winner else -1.0 for s in range(4)}
                over = True
        if over:
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self._await()
        self._accumulate_rewards()

    def render(self) -> str | None:
        """Return the position in words, all hands open, in render mode "ansi"."""
        if self.render_mode is None:
            return None
        hands = self.match.hands
        lines = [f"level {RANKS[self.match.level]}, {self.match.phase}; {self._last}".rstrip("; ")]
        lines += [f"seat_{seat}: {hand_text(hands[seat], self.match.level)}" for seat in range(4)]
        return "\n".join(lines)

    def close(self) -> None:
        """Nothing is left open."""
