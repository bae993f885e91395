"""The engine of CFR: how sequence forms lie in memory, and the kernels that run over them."""
