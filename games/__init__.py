"""Games as batches of states under pure functions: the research games, GuanDan and OpenSpiel's."""

from typing import TYPE_CHECKING

from games.support.lazy import lazy_exports

if TYPE_CHECKING:
    from games.base import TwoPlayerGame
    from games.check import CheckReport, check_game
    from games.contract import ContractError
    from games.game import CHANCE, TERMINAL, Game, GameError, Infoset
    from games.infosets import decision_infosets
    from games.ragged import Ragged
    from games.registry import (
        PRESETS,
        RESEARCH_GAMES,
        GameSpec,
        game_spec,
        game_specs,
        load_game,
        register_game,
    )

__all__ = [
    "CHANCE",
    "PRESETS",
    "RESEARCH_GAMES",
    "TERMINAL",
    "CheckReport",
    "ContractError",
    "Game",
    "GameError",
    "GameSpec",
    "Infoset",
    "Ragged",
    "TwoPlayerGame",
    "check_game",
    "decision_infosets",
    "game_spec",
    "game_specs",
    "load_game",
    "register_game",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "games.base": ("TwoPlayerGame",),
        "games.check": ("CheckReport", "check_game"),
        "games.contract": ("ContractError",),
        "games.game": ("CHANCE", "TERMINAL", "Game", "GameError", "Infoset"),
        "games.infosets": ("decision_infosets",),
        "games.ragged": ("Ragged",),
        "games.registry": (
            "PRESETS",
            "RESEARCH_GAMES",
            "GameSpec",
            "game_spec",
            "game_specs",
            "load_game",
            "register_game",
        ),
    },
)
