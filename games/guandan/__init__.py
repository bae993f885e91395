"""GuanDan: cards, combinations, legal moves and the round, as batched kernels."""
