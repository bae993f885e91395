"""Playing any game: agents by name, and matches between them on the same chance."""
