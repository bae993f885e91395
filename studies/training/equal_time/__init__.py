"""Recipes at equal processor time: turns, games, curves, ladders, and when a rule agent is passed."""
