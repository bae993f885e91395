"""The GuanDan agent: a blueprint refined, decision by decision, by search."""
