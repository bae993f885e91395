"""GuanDan: learning curves, and matches at random with every invariant checked."""
