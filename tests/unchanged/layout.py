"""The names that the comparison needs, where they stand today and where they stood before the move.

The check uses today's names alone. The older table is there to record from a checkout of the older commit.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Layout", "layout", "use_checkout"]


@dataclass(frozen=True)
class Layout:
    """Functions and classes of the project by the role they play here."""

    deal_rounds: Callable[..., Any]
    card_choice: Callable[..., Any]
    legal: Callable[..., Any]
    advance: Callable[..., Any]
    action_text: Callable[..., str]
    decisions: Callable[..., Any]
    load_agent: Callable[..., Any]
    load_inference: Callable[..., Any]
    network_tribute: Callable[..., Any]
    native_half: Callable[[], bool]
    match: Callable[..., Any]
    header_line: Callable[..., str]
    event_line: Callable[..., str]
    matches: Callable[..., Any]
    simulate_matches: Callable[..., Any]
    trainer: Any
    train_config: Callable[..., Any]
    cell: Callable[..., Any]
    run_cell: Callable[..., Any]
    play_rounds: Callable[..., Any]
    scratch: Callable[..., Any]
    load_game: Callable[..., Any]
    grow: Callable[..., Any]
    sequence_form: Callable[..., Any]
    solve: Callable[..., Any]


BEFORE = {
    "deal_rounds": "blueprint.deals:deal_rounds",
    "card_choice": "blueprint.deals:card_choice",
    "legal": "games.guandan.round:legal",
    "advance": "games.guandan.round:advance",
    "action_text": "games.guandan.notation:action_text",
    "decisions": "blueprint.selfplay:Decisions",
    "load_agent": "gs2.guandan.agents:load_agent",
    "load_inference": "blueprint.inference:load_inference",
    "network_tribute": "blueprint.tribute:NetworkTribute",
    "native_half": "blueprint.bfloat:native_half",
    "match": "games.guandan.match:Match",
    "header_line": "games.guandan.record:header_line",
    "event_line": "games.guandan.record:event_line",
    "matches": "games.guandan.matches:Matches",
    "simulate_matches": "experiments.guandan.simulate:simulate_matches",
    "trainer": "blueprint.train:Trainer",
    "train_config": "blueprint.config:TrainConfig",
    "cell": "experiments.grid:Cell",
    "run_cell": "experiments.refine:run_cell",
    "play_rounds": "blueprint.selfplay:play_rounds",
    "scratch": "blueprint.selfplay:Scratch",
    "load_game": "games.registry:load_game",
    "grow": "cfr.tree:grow",
    "sequence_form": "cfr.sequence_form:sequence_form",
    "solve": "cfr.solver:solve",
}
"""Where the same things stood at the commit before the move."""


def use_checkout(root: Path) -> None:
    """Let the packages of the project come from the checkout `root`; call it before anything else here."""
    sys.path.insert(0, str(root.resolve()))
    importlib.invalidate_caches()


def _today() -> Layout:
    from blueprint.guandan.chooser import Decisions
    from blueprint.guandan.network.inference import load_inference
    from blueprint.guandan.play.deals import card_choice, deal_rounds
    from blueprint.guandan.play.network_tribute import NetworkTribute
    from blueprint.guandan.play.selfplay import Scratch, play_rounds
    from blueprint.guandan.train_config import TrainConfig
    from blueprint.guandan.training.trainer import Trainer
    from blueprint.layers.bfloat import native_half
    from cfr.sequence_form import sequence_form
    from cfr.solver import solve
    from cfr.tree import grow
    from experiments.guandan.simulate import simulate_matches
    from experiments.refinement.grid import Cell
    from experiments.refinement.run import run_cell
    from games.guandan.matches.lockstep import Matches
    from games.guandan.matches.match import Match
    from games.guandan.notation import action_text
    from games.guandan.rounds.round import advance, legal
    from games.registry import load_game
    from gs2.guandan.agent_families import load_batched_agent
    from tests.games.guandan.matches.old_lines import event_line, header_line

    return Layout(
        deal_rounds=deal_rounds,
        card_choice=card_choice,
        legal=legal,
        advance=advance,
        action_text=action_text,
        decisions=Decisions,
        load_agent=load_batched_agent,
        load_inference=load_inference,
        network_tribute=NetworkTribute,
        native_half=native_half,
        match=Match,
        header_line=header_line,
        event_line=event_line,
        matches=Matches,
        simulate_matches=simulate_matches,
        trainer=Trainer,
        train_config=TrainConfig,
        cell=Cell,
        run_cell=run_cell,
        play_rounds=play_rounds,
        scratch=Scratch,
        load_game=load_game,
        grow=grow,
        sequence_form=sequence_form,
        solve=solve,
    )


def _before() -> Layout:
    parts = {}
    for name, place in BEFORE.items():
        module, _, attribute = place.partition(":")
        parts[name] = getattr(importlib.import_module(module), attribute)
    return Layout(**parts)


@cache
def layout() -> Layout:
    """Return the names as the checkout in use has them."""
    games = importlib.import_module("games.guandan")
    folder = Path(str(games.__file__)).parent
    return _before() if (folder / "round.py").is_file() else _today()
