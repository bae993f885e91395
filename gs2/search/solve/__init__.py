"""Solving a subgame with its gadget."""
