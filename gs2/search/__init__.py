"""Subgame solving, in the order of a search: histories, generation, subgame, gadget, solve, safety."""
