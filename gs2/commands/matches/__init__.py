"""Commands that play matches: between GuanDan agents, and between agents of any game."""
