"""Deals of the cards that a seat cannot see: listed, drawn, weighed, kept for later."""
