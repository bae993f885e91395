"""Commands about matches: play, rate and replay."""
