"""Blueprints: Q-functions and policies that tell a search which histories, moves and leaf values to use.

What the package exports is in `__init__.pyi`; each name is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
