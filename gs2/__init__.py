"""Generative subgame solving: knowledge, generation, gadgets, search, agents and the command line."""
