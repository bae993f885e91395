"""Reviews: a recorded match, every decision in it judged by search from what its seat knew."""
