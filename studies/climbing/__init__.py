"""Measurements of climbing games: matches with other programs."""
