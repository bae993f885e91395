"""Tests of tables on disk, and such tables for other tests."""
