"""Rounds played by agents in batches: deals, self-play, tribute."""
