"""Commands about matches: play, rate, replay and review."""
