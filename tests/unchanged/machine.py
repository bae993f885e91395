"""What floating-point results depend on: the processor and the libraries that multiply."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform

from blueprint.layers.bfloat import native_half

LIBRARIES = ("numpy", "numba", "llvmlite", "scipy", "torch")
KIND = ("machine", "cpu", "features", "half")


def machine() -> dict[str, str]:
    """Return what tells this machine's arithmetic: processor, its features (a hash), bfloat16, libraries.

    half: how batches of the network are multiplied: "bfloat16" where the processor has tiles (AMX).
    """
    from llvmlite import binding

    features = sorted(name for name, there in binding.get_host_cpu_features().items() if there)
    tag = {
        "machine": platform.machine(),
        "cpu": binding.get_host_cpu_name(),
        "features": hashlib.sha256(" ".join(features).encode()).hexdigest()[:12],
        "half": "bfloat16" if native_half() else "single",
    }
    return tag | {name: importlib.metadata.version(name) for name in LIBRARIES}


def same_machine(recorded: dict[str, str], today: dict[str, str]) -> bool:
    """Return whether floating-point results can be expected to agree to the bit."""
    return recorded == today
