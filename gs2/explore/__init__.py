"""Searches of research games as data for pictures, and the pages that show them."""
