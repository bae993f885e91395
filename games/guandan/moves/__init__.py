"""Legal moves: packed hands, the full list, canonical moves, and batches of lists."""
