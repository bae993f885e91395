"""DouDiZhu: one deck, three seats, one landlord against two farmers."""
