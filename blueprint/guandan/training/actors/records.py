"""Records: what a piece came to, as the bytes that travel.

A record holds the index of every move chosen and the target of every decision learned from. Whoever dealt the
piece plays it again by these indices, without a network, and has the same states. A decision takes five bytes
so, and 816 as it is learned from.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from blueprint.game_lockstep import PlayRecord, play_rounds
from blueprint.guandan.play.selfplay import Scratch
from blueprint.guandan.training.actors.pieces import Piece, PlayedPiece
from blueprint.guandan.training.dmc import Samples, outcome_classes
from blueprint.protocol import Decisions
from blueprint.soft_choices import TopChoices
from games.guandan.cards import ACTION
from games.guandan.rounds.round import GuanDan
from games.support.array_types import Array

LARGE = 255
"""Indices from here on take four bytes beside the one that says so."""


class BadRecord(ValueError):
    """Bytes that are no record of the piece that they should be of."""


def pack_record(played: PlayedPiece) -> bytes:
    """Return the record of a piece."""
    samples, choices = played.samples, played.choices
    arrays: dict[str, Array] = {
        "choices": np.minimum(choices, LARGE).astype(np.uint8),
        "large": choices[choices >= LARGE].astype(np.uint32),
        "target": samples.target,
        "steps": np.array([played.steps], np.int64),
        "final": _check(played.final),
    }
    if not played.of.all():
        arrays["of"] = np.packbits(played.of)
    if (samples.share != 1).any():
        arrays["share"] = samples.share
    if played.met is not None:
        arrays |= {"who": played.met[0].astype(np.int16), "payoff": played.met[1].astype(np.float64)}
    if samples.types is not None:
        arrays["types"] = samples.types
    if samples.choices is not None:
        top = samples.choices
        moves = zlib.compress(np.ascontiguousarray(top.actions).tobytes(), 1)
        arrays |= {
            "top.actions": np.frombuffer(moves, np.uint8),
            "top.count": top.count.astype(np.uint8),
            "top.picked": top.picked.astype(np.uint8),
            "top.log_chance": top.log_chance,
        }
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def unpack_record(data: bytes, piece: Piece, scratch: Scratch) -> PlayedPiece:
    """Return what a piece came to, played again by its record.

    Raises BadRecord if the bytes are damaged, or where other rules, another version, have played them.
    """
    try:
        arrays = load(data)
        return _replayed(arrays, piece, scratch)
    except (SafetensorError, KeyError, IndexError, zlib.error) as error:
        raise _bad(piece, f"they are damaged: {error}") from error


def _replayed(arrays: dict[str, Array], piece: Piece, scratch: Scratch) -> PlayedPiece:
    choices = arrays["choices"].astype(np.int64)
    choices[choices == LARGE] = arrays["large"]
    told = _Told(choices)
    record = play_rounds(piece.states(), told, scratch)
    if told.wrong or told.at != len(choices) or _check(record.final) != arrays["final"]:
        raise _bad(piece, "its rounds do not come out so here")
    payoff = GuanDan().returns(record.final)[:, 0]
    n = len(choices)
    of = np.unpackbits(arrays["of"], count=n).astype(bool) if "of" in arrays else np.ones(n, bool)
    met = (arrays["who"].astype(np.int64), arrays["payoff"]) if "who" in arrays else None
    samples = _samples(arrays, record, payoff, of)
    if not len(samples.states) == len(samples.target) == len(samples.share):
        raise _bad(piece, "its targets are of another number of decisions")
    return PlayedPiece(samples, int(arrays["steps"][0]), len(payoff), met, choices, of, record.final)


def _samples(arrays: dict[str, Array], record: PlayRecord, payoff: Array, of: NDArray[np.bool_]) -> Samples:
    whole = bool(of.all())
    states, actions = (x if whole else x[of] for x in (record.states, record.actions))
    rounds, seats = (x if whole else x[of] for x in (record.rounds, record.seats))
    target = arrays["target"]
    share = arrays["share"] if "share" in arrays else np.ones(len(target), np.float32)
    top = None
    if "top.actions" in arrays:
        moves = np.frombuffer(bytearray(zlib.decompress(arrays["top.actions"].tobytes())), ACTION)
        count, picked = (arrays[f"top.{name}"].astype(np.int64) for name in ("count", "picked"))
        top = TopChoices(moves.reshape(len(target), -1), count, picked, arrays["top.log_chance"])
    outcome = outcome_classes(seats, payoff[rounds])
    return Samples(states, actions, outcome, target, share, top, types=arrays.get("types"))


def _check(final: Array) -> NDArray[np.uint32]:
    """Return a checksum of the rounds at their end, [1]."""
    return np.array([zlib.crc32(np.ascontiguousarray(final).tobytes())], np.uint32)


def _bad(piece: Piece, why: str) -> BadRecord:
    return BadRecord(
        f"record: of piece {piece.part} of generation {piece.generation}: {why}; "
        "play with the same gs2 everywhere"
    )


class _Told:
    """An agent that gives the answers of a record."""

    def __init__(self, choices: NDArray[np.int64]) -> None:
        self.choices, self.at, self.wrong = choices, 0, False

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return the next answers; first moves, and `wrong` set, where there are none that fit."""
        found = self.choices[self.at : self.at + len(decisions)]
        self.at += len(decisions)
        if len(found) < len(decisions) or (found >= np.diff(decisions.offsets)).any():
            self.wrong = True
            return np.zeros(len(decisions), np.int64)
        return found
