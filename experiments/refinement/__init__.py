"""The refinement experiment: every method at every infoset, measured exactly."""
