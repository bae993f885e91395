"""Whole matches: tribute, promotion, many in lockstep, one at a table, events and records."""
