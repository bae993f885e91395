"""Refining: one decision of an agent, or a whole strategy infoset by infoset."""
