"""Self-play, learning and runs for climbing games."""
