"""Commands that train a network of any game."""
