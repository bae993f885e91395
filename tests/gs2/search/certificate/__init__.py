"""Tests of statistical certificates."""
