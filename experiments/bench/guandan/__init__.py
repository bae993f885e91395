"""Benches of GuanDan's parts: engine, network, agent, Minimum Combination Search."""
