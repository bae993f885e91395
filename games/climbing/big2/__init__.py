"""Big2: cards as bits of one word, combinations, legal moves and the round, as batched kernels."""
