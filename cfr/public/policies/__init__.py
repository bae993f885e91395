"""Policies on public trees: looked up, valued, and kept in files."""
