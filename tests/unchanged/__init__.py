"""What must stay equal while the source moves: recorded results of one commit, computed again at another."""
