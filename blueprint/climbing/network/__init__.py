"""The network of climbing games: a tower for what a seat sees, a head for each move."""
