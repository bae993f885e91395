"""Measured tables, plots and benchmarks."""
