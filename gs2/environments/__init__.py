"""Games as environments for other programs' learners."""
