"""A game too large to list, in one file: from nothing to a searched move.

    python examples/large_game.py [DECISIONS]

Poker as von Neumann modelled it: each player gets a number, and the higher one wins. Players in turn raise
the stake, call, or fold. With 2,000 numbers the tree has over fifty million histories.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from games.base import TwoPlayerGame
from games.check import check_game
from games.game import CHANCE, TERMINAL
from games.ragged import Ragged

FOLD, CALL, RAISE = 0, 1, 2
WORDS = ("fold", "call", "raise")
STATE = np.dtype([("number", "u2", 2), ("dealt", "u1"), ("raises", "u1"), ("end", "u1")])
"""number: of each player, 0 until dealt. raises: so far. end: 0 in play, 1 called, 2 folded."""


class NumberPoker(TwoPlayerGame):
    """Numbers from 1 to `numbers`; at most `raises` raises, each of which doubles what is at stake."""

    def __init__(self, numbers: int = 2000, raises: int = 4) -> None:
        self.numbers, self.raises = numbers, raises
        self.name = f"number_poker({numbers},{raises})"
        self.payoff_range = (-(2.0**raises), 2.0**raises)

    def root(self) -> Any:
        return np.zeros(1, STATE)

    def player(self, states: Any) -> Any:
        acting = np.where(states["dealt"] < 2, CHANCE, states["raises"] % 2)
        return np.where(states["end"] > 0, TERMINAL, acting).astype(np.int8)

    def actions(self, states: Any) -> Ragged:
        width = max(3, self.numbers)
        legal = np.zeros((len(states), width), bool)
        acting = self.player(states)
        legal[acting == CHANCE, : self.numbers] = True
        legal[acting >= 0, CALL] = True
        legal[(acting >= 0) & (states["raises"] > 0), FOLD] = True
        legal[(acting >= 0) & (states["raises"] < self.raises), RAISE] = True
        return Ragged.from_counts(legal.sum(1), np.nonzero(legal)[1])

    def chance_probs(self, states: Any, actions: Ragged) -> Any:
        return np.where(self.player(states)[actions.rows] == CHANCE, 1.0 / self.numbers, 1.0)

    def step(self, states: Any, rows: Any, actions: Any) -> Any:
        after = states[rows].copy()
        deal = np.flatnonzero(after["dealt"] < 2)
        after["number"][deal, after["dealt"][deal]] = actions[deal] + 1
        play = after["dealt"] == 2
        after["dealt"][deal] += 1
        after["raises"][play & (actions == RAISE)] += 1
        after["end"][play & (actions == CALL)] = 1
        after["end"][play & (actions == FOLD)] = 2
        return after

    def returns(self, states: Any) -> Any:
        first, second = states["number"][:, 0].astype(int), states["number"][:, 1].astype(int)
        called = np.sign(first - second) * 2.0 ** states["raises"]
        raiser = np.where(states["raises"] % 2 == 1, 1.0, -1.0)  # who raised last wins from one that folds
        gain = np.where(states["end"] == 2, raiser * 2.0 ** (states["raises"].astype(float) - 1), called)
        return np.stack([gain, -gain], axis=1)

    def infoset_key(self, states: Any, player: int) -> Any:
        public = states["dealt"].astype(np.uint64) | states["raises"].astype(np.uint64) << np.uint64(2)
        public |= states["end"].astype(np.uint64) << np.uint64(8)
        return (public | states["number"][:, player].astype(np.uint64) << np.uint64(16))[:, None]

    def features(self, states: Any, player: int) -> Any:
        """What a network sees of an infoset: the number in thermometer code, and the raises."""
        number = states["number"][:, player, None] * 64.0 / self.numbers >= np.arange(1, 65)
        raises = states["raises"][:, None] >= np.arange(1, self.raises + 1)
        return np.concatenate([number, raises, states["dealt"][:, None] == 2], axis=1).astype(np.uint8)

    def action_text(self, state: Any, action: Any) -> str:
        return f"deal {int(action) + 1}" if state["dealt"] < 2 else WORDS[int(action)]

    def state_text(self, state: Any) -> str:
        return f"{state['number'][0]} against {state['number'][1]} {self._line(state)}"

    def infoset_text(self, state: Any, player: int) -> str:
        held = f"holds {state['number'][player]}" if state["number"][player] else "waits"
        return f"P{player} {held} {self._line(state)}"

    def history_in(self, text: str) -> Any:
        """Return a history of the infoset that words name; the other player may hold any number, as 1."""
        read = re.fullmatch(
            r"p([01]) (?:waits|holds (\d+)) \| dealt ([012]) \|((?: raise)*)( call| fold)?", text
        )
        if not read:
            return None
        own = int(read[2] or 1) - 1
        numbers = (own, 0) if read[1] == "0" else (0, own)
        line = [RAISE] * (len(read[4]) // 6) + [WORDS.index(word) for word in (read[5] or "").split()]
        return self.forced(self.root(), *numbers[: int(read[3])], *line)

    def _line(self, state: Any) -> str:
        return f"| dealt {state['dealt']} |{' raise' * state['raises']}{('', ' call', ' fold')[state['end']]}"


def main(decisions: int = 200_000) -> None:
    """Check the game, train a blueprint, search one decision, and play."""
    from blueprint.learning.run import RunLimits
    from blueprint.research.game_training import train_game_network
    from games.infosets.trail import Watcher
    from gs2.play.game_pairs import play_agents
    from gs2.play.search_agent import SearchAgent
    from gs2.search.config.presets import preset
    from gs2.search.refine.at import refine_at

    rng = np.random.default_rng(0)
    check_game(NumberPoker(6, 3), rng)  # a small one is checked whole
    game = NumberPoker()
    check_game(game, rng, max_width=500)
    blueprint = train_game_network(game, rng, RunLimits(decisions=decisions))

    watcher, state = Watcher(game, 1), game.root()
    for choice in (1499, 1499, RAISE):  # both hold 1,500, and player 0 raises
        watcher.see(state)
        state = game.step(state, np.zeros(1, np.int64), np.array([choice]))
    watcher.see(state)
    config = preset("gs2")
    refined = refine_at(game, blueprint, watcher.trail, config, rng)
    legal = game.actions(state)
    before = blueprint.policy(game, state, 1, legal)
    print(game.infoset_text(state[0], 1))
    for action, old, new in zip(legal.values, before, refined, strict=True):
        print(f"  {game.action_text(state[0], action):6} {old:.3f} -> {new:.3f}")

    searching = SearchAgent(game, blueprint, config, name="gs2")
    played = play_agents(game, (searching, blueprint), rng, 50)
    print(f"gs2 against its blueprint: {played.net.mean():+.2f} a game in 50 pairs")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
