"""Infosets by name: listing them level by level, reading one back, and near matches when that fails."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from games.game import CHANCE, TERMINAL, Game, GameError, Infoset
from games.ragged import Ragged
from games.size import infosets_met
from games.support.near import nearest

MAX_STATES = 4_000_000
"""Histories after which a listing gives up: well past the largest research game (1.9 million)."""
MAX_BYTES = 256 << 20
"""Bytes of their states after which it gives up by itself: large states take longer to make."""
MAX_SLOW = 100_000
"""Histories after which it gives up by itself in games that make one state at a time."""
TRIES = 100
"""Plays at random after which a game is taken to have no decision."""


def normal_text(text: str) -> str:
    """Return the text in lower case with single spaces, which is how names of infosets are compared."""
    spaced = re.sub(r"\s*([|,:])\s*", r" \1 ", text)
    return " ".join(spaced.lower().split())


def infoset_at(game: Game, states: np.ndarray, player: int) -> Infoset:
    """Return what `player` knows at one history, given as a batch of one."""
    words = game.infoset_key(states, player)[0]
    return Infoset(player, tuple(int(word) for word in words), game.infoset_text(states[0], player))


def decision_infosets(
    game: Game, *, player: int | None = None, max_states: int | None = None
) -> Iterator[Infoset]:
    """Yield every infoset at which someone decides, shallow ones first, each once.

    player: only this seat's, or everyone's.
    max_states: GameError is raised once more histories than this have been visited; by default what takes
        seconds. The tree is grown one level at a time as infosets are asked for, so the first few are cheap
        where little chance comes before them.
    """
    states = game.root()
    if max_states is None:
        max_states = min(MAX_STATES, MAX_BYTES // states.itemsize)
        if getattr(game, "one_by_one", False):
            max_states = min(max_states, MAX_SLOW)
    seen: set[tuple[int, tuple[int, ...]]] = set()
    visited = 1
    while len(states):
        players = game.player(states)
        for seat in range(game.num_players) if player is None else (player,):
            acting = np.flatnonzero(players == seat)
            if len(acting) == 0:
                continue
            keys, first = np.unique(game.infoset_key(states[acting], seat), axis=0, return_index=True)
            for index in np.argsort(first, kind="stable"):
                name = (seat, tuple(int(word) for word in keys[index]))
                if name not in seen:
                    seen.add(name)
                    row = acting[first[index]]
                    yield Infoset(seat, name[1], game.infoset_text(states[row], seat))
        states = states[players >= CHANCE]
        actions = game.actions(states)
        visited += len(actions.values)
        if visited > max_states:
            raise GameError(
                f"{game.name}: infosets can be listed in games of up to {max_states:,} histories; "
                "this one has more; ask for fewer infosets or a smaller game"
            )
        states = game.step(states, actions.rows, actions.values)


def random_line(game: Game, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, int, Ragged, Any]]:
    """Yield the states of a random play, one row each: with who acts, the actions and the one that is taken.

    At the end, which is yielded last, no action is taken.
    """
    states = game.root()
    while (who := int(game.player(states)[0])) != TERMINAL:
        actions = game.actions(states)
        probs = game.chance_probs(states, actions)
        taken = actions.values[rng.choice(len(probs), p=probs / probs.sum())]
        yield states, who, actions, taken
        states = game.step(states, np.zeros(1, np.int64), taken[None])
    yield states, TERMINAL, game.actions(states), None


def drawn_infoset(game: Game, rng: np.random.Generator) -> Infoset:
    """Return the first infoset at which someone decides in a game played at random.

    Raises GameError if nobody decides in some plays.
    """
    for _ in range(TRIES):
        for state, player, _, _ in random_line(game, rng):
            if player >= 0:
                return infoset_at(game, state, player)
    raise GameError(f"{game.name}: at least one player must decide; none did in {TRIES} plays at random")


def find_infoset(game: Game, text: str) -> Infoset:
    """Return the decision infoset that `text` names, by searching the whole game.

    Case and spacing do not matter. Raises GameError with near matches if there is none. Meant for games
    that cannot read their own texts directly; it costs a walk over the tree.
    """
    wanted = normal_text(text)
    for infoset in decision_infosets(game, max_states=MAX_STATES):
        if normal_text(infoset.text) == wanted:
            return infoset
    raise unknown_infoset(game, text)


def unknown_infoset(game: Game, text: str, *, max_states: int | None = None) -> GameError:
    """Return the error for a text that names no infoset of the game, with the nearest texts that do."""
    wanted = normal_text(text)
    named = re.match(r"p(\d+)\b", wanted)
    player = int(named[1]) if named and int(named[1]) < game.num_players else None
    texts: dict[str, str] = {}
    try:
        for infoset in decision_infosets(game, player=player, max_states=max_states):
            texts[normal_text(infoset.text)] = infoset.text
    except GameError:
        pass  # a game too large to list: the nearest among its shallow infosets still show the form
    if not texts:
        met = infosets_met(game, np.random.default_rng(0), plays=50)
        texts = {normal_text(infoset.text): infoset.text for infoset in met}
    words = set(wanted.split())
    # Comparing letter by letter is slow: only the texts that share the most words come that far.
    alike = heapq.nlargest(200, texts, key=lambda other: _words_shared(words, other))
    closest = nearest(wanted, alike, cutoff=0.4) or list(texts)[:2]
    hints = " or ".join(f'"{texts[match]}"' for match in closest)
    hint = f"did you mean {hints}?" if hints else "nobody decides in this game"
    return GameError(f'{game.name}: no infoset is called "{text.strip()}"; {hint}')


def _words_shared(words: set[str], text: str) -> int:
    """Return how alike two texts are: more words in common, fewer that only one has."""
    others = set(text.split())
    return 3 * len(words & others) - len(words | others)


OTHER_ACTS, ACTS, OVER = range(3)
"""What a player's infoset is: one where somebody else acts, one where it acts, or the end."""


def infoset_line(role: int, known: str, player: int) -> str:
    """Return an infoset in one line of words."""
    ending = {ACTS: "", OTHER_ACTS: " | waiting", OVER: " | over"}[role]
    return f"P{player} {joined_lines(known)}".rstrip() + ending


def joined_lines(text: str) -> str:
    """Return the lines of a text as one line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return "; ".join(line for line in lines if line)


def numbered(texts: Iterable[str]) -> list[str]:
    """Return the texts, those that would be taken for an earlier one with the first free number from #2."""
    counts: dict[str, int] = {}
    distinct = []
    for text in texts:
        word, name = text, normal_text(text)
        while normal_text(word) in counts:
            counts[name] += 1
            word = f"{text} #{counts[name]}"
        counts[normal_text(word)] = 1
        distinct.append(word)
    return distinct
