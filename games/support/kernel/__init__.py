"""Functions that Numba compiles: one decorator, and a cache on disk that knows what they are made of."""

from games.support.kernel.decorator import KernelOptions, kernel

__all__ = ["KernelOptions", "kernel"]
