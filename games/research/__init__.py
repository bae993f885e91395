"""The research games: poker, Liar's Dice, Goofspiel."""
