"""Climbing games beside GuanDan: play higher of the same kind, or pass, and empty your hand."""
