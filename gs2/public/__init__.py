"""Search at public states of factored games: vectors over private states in place of listed histories."""
