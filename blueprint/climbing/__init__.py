"""Deep Monte Carlo for climbing games, whose moves are inputs of the network."""
