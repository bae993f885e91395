"""Certificates where nothing is exact: paired gains by rollouts, and what they prove."""
