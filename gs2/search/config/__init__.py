"""What a search does: the stages, the whole of them, and the methods of the literature by name."""
