"""Tabular policies and their files."""
