"""Slow, plain twins of the inputs of climbing games' networks."""
