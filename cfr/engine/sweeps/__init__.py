"""The sweeps of CFR over a layout: down with a policy, up with payoffs."""
