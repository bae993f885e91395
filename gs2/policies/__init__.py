"""Strategies by name, as tables on a tree, and by Monte Carlo."""
