"""Seats in games of the `Game` protocol: what the browser is shown of a round, and who else plays it."""
