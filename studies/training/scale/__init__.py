"""What training on a cluster costs and how far one learner goes."""
