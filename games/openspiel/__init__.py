"""OpenSpiel's two-player games under our protocol."""
