"""Parts of training that every kind of network shares: the run, the trainer and the learner."""
