"""Games as batches of states under pure functions: research games, card games and OpenSpiel's.

What the package exports is in `__init__.pyi`; each name is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
