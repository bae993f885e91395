"""Generative subgame solving: knowledge, generation, gadgets, search, agents and the command line.

What the package exports is in `__init__.pyi`; each name is imported on first use.
"""

import lazy_loader

from gs2.startup.shadow import check_packages

check_packages()  # before the first import of another package of ours

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
