"""The arena: agents compared on duplicate deals, with intervals and ratings."""
