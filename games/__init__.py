"""Games as batches of states under pure functions: the research games, GuanDan and OpenSpiel's."""

from games.game import CHANCE, TERMINAL, Game, GameError, Infoset
from games.ragged import Ragged

__all__ = ["CHANCE", "TERMINAL", "Game", "GameError", "Infoset", "Ragged"]
