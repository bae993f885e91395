"""One round: its state as a row, the game of it, random play, positions as JSON, determinization."""
