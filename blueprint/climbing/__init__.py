"""Deep Monte Carlo for climbing games: DouDiZhu and Big2."""
