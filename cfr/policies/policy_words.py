"""Policies for people and other programs, as JSON that is read without gs2.

{"format": "gs2 policy 1", "game": "leduc_poker", "note": "dcfr, 1000 iterations",
 "tree": "0f3c…", "policy": {"P0 holds Js": {"call": 0.93, "raise": 0.07}, …}}

`tree` is the fingerprint of the game's tree (`FlatTree.digest`); a file may leave it out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cfr.policies.policy import Policy, PolicyError, require_same_tree, tabular_policy, uniform_policy
from cfr.tree import EnumeratedTree, FlatTree, grow, require_states
from games.game import Game
from games.infosets import normal_text, unknown_infoset
from games.support.files import read_text, write_text

FORMAT = "gs2 policy 1"
MOST_TEXT = 1 << 28
"""Bytes of a policy in words that is read: some two million infosets."""


@dataclass(frozen=True)
class PolicyWords:
    """What the slots of a tree are called.

    infosets: [I] the text of each infoset, all different. actions: for each infoset, the texts of its
    actions.
    """

    infosets: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]


def policy_words(game: Game, tree: FlatTree) -> PolicyWords:
    """Return the words of a tree's infosets and actions.

    Raises ValueError if the tree does not hold its states, PolicyError if two infosets have one name.
    """
    tree = require_states(tree, "policy")
    infosets, actions = [], []
    first, slots = tree.infoset_first_node(), tree.slot_actions()
    for number, node in enumerate(first.tolist()):
        state = tree.states[node]
        begin, end = tree.infoset_offset[number : number + 2]
        infosets.append(game.infoset_text(state, int(tree.infoset_player[number])))
        actions.append(tuple(game.action_text(state, action) for action in slots[begin:end]))
    text, times = Counter(infosets).most_common(1)[0] if infosets else ("", 0)
    if times > 1:
        raise PolicyError(
            f'{game.name}: every infoset must have its own name in a JSON policy; "{text}" is that '
            f"of {times}; write a policy that is not JSON"
        )
    return PolicyWords(tuple(infosets), tuple(actions))


def save_policy_json(path: str | Path, policy: Policy, tree: FlatTree, words: PolicyWords) -> None:
    """Write a policy as JSON; the file appears whole or not at all.

    tree: the one that the policy was made on, or another of the game. words: `policy_words` of it.
    """
    if not isinstance(policy, Policy):
        raise PolicyError(
            "save_policy_json: it takes a path, a Policy, its tree and words; got "
            f"{type(policy).__name__} for the policy; write save_policy_json(path, policy, tree, words)"
        )
    probs = policy.on(tree).tolist()
    offset = tree.infoset_offset.tolist()
    table = {
        text: dict(zip(words.actions[i], probs[offset[i] : offset[i + 1]], strict=True))
        for i, text in enumerate(words.infosets)
    }
    whole = {"format": FORMAT, "game": policy.game, "note": policy.note, "tree": tree.digest, "policy": table}
    write_text(path, json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_policy_json(
    path: str | Path, game: Game, tree: FlatTree | None = None, *, whole: bool = True
) -> Policy:
    """Return the policy in a JSON file.

    game: the one that it must belong to. tree: the game's, if it is at hand with its states. whole: or it may
    be a lock, which has any of the infosets, and may be the object "policy" alone.
    The file may come from anywhere: every infoset of the game must be there once, with every action (one that
    is left out has probability 0), and probabilities that sum to 1. Case and spacing matter only
    between words of the game that differ in nothing else.
    Raises PolicyError if it is no such file or another game's; FileNotFoundError if there is none.
    """
    table = _table(path, game, whole)
    if not isinstance(tree, EnumeratedTree):
        tree = grow(game)
    require_same_tree(path, game.name, table.tree, tree)
    words = policy_words(game, tree)
    probs = uniform_policy(tree)
    given, unknown = _named(path, table, words.infosets)
    for number, text in enumerate(words.infosets):
        if text not in given and not whole:
            continue
        if text not in given:
            raise PolicyError(
                f'{path}: a policy must have every infoset of {game.name}; "{text}" is missing; '
                f"it has {len(table):,} of {len(words.infosets):,}"
            )
        row = _row(path, text, given[text], words.actions[number])
        probs[tree.infoset_offset[number] : tree.infoset_offset[number + 1]] = row
    if unknown:
        raise PolicyError(f"{path}: {unknown_infoset(game, unknown[0])}")
    policy = tabular_policy(game.name, tree, probs, str(table.note))
    return policy if whole else policy.only(np.array([text in given for text in words.infosets], bool))


class _Table(dict[str, Any]):
    note = tree = ""


def read_policy_json(path: str | Path, *, lock: bool = False) -> dict[str, Any]:
    """Return what a policy file says, with "game" and "policy". Raises PolicyError if it is none.

    lock: the file may also be the object "policy" alone.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise PolicyError(f'{path}: every name must come once; "{twice}" comes twice')
        return made

    try:
        read = json.loads(read_text(path, most=MOST_TEXT), object_pairs_hook=once)
    except PolicyError:
        raise
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"{path}: a policy must be JSON; it cannot be read as that ({error})") from None
    if lock and isinstance(read, dict) and "format" not in read:
        return {"policy": read}
    if not isinstance(read, dict) or read.get("format") != FORMAT or not isinstance(read.get("policy"), dict):
        raise PolicyError(
            f'{path}: a JSON policy must have "format": "{FORMAT}", a "game" and a "policy"; '
            "make one with `gs2 blueprint GAME -o FILE.json`"
        )
    return read


def _table(path: str | Path, game: Game, whole: bool) -> _Table:
    """Return the file's entries by infoset."""
    read = read_policy_json(path, lock=not whole)
    if read.get("game", None if whole else game.name) != game.name:
        raise PolicyError(
            f"{path}: the policy must belong to {game.name}; it is for {read.get('game')}; "
            f"make one with `gs2 blueprint '{game.name}'`"
        )
    table = _Table(read["policy"])
    table.note, table.tree = read.get("note", ""), str(read.get("tree", ""))
    return table


def _named(
    path: str | Path, entries: dict[str, Any], words: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the entries by the game's words, all different, that their names mean; and names of none.

    A name means the word that it is to the letter, else the only one that differs in case and spacing alone.
    """
    exact, alike = set(words), Counter(map(normal_text, words))
    normal = {normal_text(word): word for word in words}
    found: dict[str, Any] = {}
    unknown = []
    for name, value in entries.items():
        same = normal_text(name)
        word = name if name in exact else normal[same] if alike[same] == 1 else None
        if word is None:
            unknown.append(name)
        elif word in found:
            raise PolicyError(f'{path}: every name must come once; "{word}" comes twice, spelt in two ways')
        else:
            found[word] = value
    return found, unknown


def _row(path: str | Path, text: str, row: Any, actions: tuple[str, ...]) -> list[float]:
    """Return the probabilities of an infoset's actions, in the game's order."""
    if not isinstance(row, dict):
        raise PolicyError(f'{path}: "{text}" must have an object of actions; got {row!r}')
    given, unknown = _named(path, row, actions)
    if unknown:
        raise PolicyError(f'{path}: "{text}" has no action "{unknown[0]}"; it has {", ".join(actions)}')
    for action, value in given.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1 + 1e-6:
            raise PolicyError(f'{path}: probabilities must be in [0, 1]; "{text}", "{action}" has {value!r}')
    probs = [float(given.get(action, 0.0)) for action in actions]
    if abs(sum(probs) - 1) > 1e-6:
        raise PolicyError(
            f'{path}: probabilities of an infoset must sum to 1; "{text}" sums to {sum(probs):g}'
        )
    return probs
