"""Benches: how fast each part is on this machine."""
