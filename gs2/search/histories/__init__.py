"""The histories of a search: what is known, which are considered, what they are worth."""
