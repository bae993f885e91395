"""Blueprints: Q-functions and policies that say which roots, which branches and what leaves are worth."""
