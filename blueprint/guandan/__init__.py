"""GuanDan's blueprint: network, play, training, rule-based agents and the arena."""
