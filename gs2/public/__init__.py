"""Search at a public state of a factored game: vectors over private states where `gs2.search` lists histories."""
