"""`gs2 solve`: a strategy refined at one infoset, of any game."""
