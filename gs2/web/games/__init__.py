"""What is special about tables of games of the `Game` protocol: rounds, agents, and what a seat is shown."""
