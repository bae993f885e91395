"""Gadgets: what stands above a subgame and keeps the opponent in check."""
