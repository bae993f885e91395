"""Rules of thumb on hands of climbing games: how few turns shed them, and which moves need not be tried."""
