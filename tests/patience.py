"""How long a test waits for an event: so long that only one that never comes takes it."""

PATIENCE = 900.0
"""Seconds. Kernels may have to be compiled first, beside other tests, on a busy machine."""
