"""Q-networks for the research games, trained by Deep Monte Carlo."""
