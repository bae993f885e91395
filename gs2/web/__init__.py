"""Games, reviews and searches in a browser: a server for people and agents, and pages that stand alone."""
