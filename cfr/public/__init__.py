"""Vector-form CFR on public trees: the tree, the kernels, the solver, its saved runs and its policies."""
