"""Flat game trees, counterfactual-regret solvers, exact references and tabular policies."""
