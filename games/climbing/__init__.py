"""Climbing games of one deck: play higher of the same kind, or pass, and empty your hand."""
