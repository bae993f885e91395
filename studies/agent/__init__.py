"""Studies of the GuanDan agent."""
