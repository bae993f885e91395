"""Clients and people at the table."""
