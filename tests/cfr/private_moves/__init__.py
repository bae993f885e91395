"""Tests of vector-form CFR on public trees."""
