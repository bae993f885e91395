"""Programs that each served one measurement, named in README.md; run from a checkout, not installed."""
