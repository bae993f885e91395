"""Commands that train: GuanDan's network, and a network of any game."""
