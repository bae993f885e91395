"""Rounds of any game in words: written while agents meet, read back and replayed."""
