"""Agents for DouDiZhu."""
