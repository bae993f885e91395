"""Climbing games for up to four seats beside GuanDan: play higher of the same kind, or pass; empty your hand."""
