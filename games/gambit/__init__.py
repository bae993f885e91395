"""Games from files of Gambit's, `.efg` and `.nfg`: read, and played by the contract."""

from games.gambit.file_game import GambitGame, load_gambit

__all__ = ["GambitGame", "load_gambit"]
