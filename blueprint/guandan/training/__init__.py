"""Training by Deep Monte Carlo on self-play."""
