"""Reviews: recorded games, every decision with what a search says of it."""
