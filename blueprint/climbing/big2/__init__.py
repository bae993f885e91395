"""Big2 for networks whose inputs are moves: what they see, and how many turns a hand takes to shed."""
