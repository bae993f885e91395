"""Generative subgame solving over sampled deals: which moves grow, the source of deals, the solution."""
