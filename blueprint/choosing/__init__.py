"""How one of a row of moves is chosen: softly, among the best few, or in the style of a personality."""
