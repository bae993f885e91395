"""What others see of a round: network inputs, observations, the PettingZoo environment, text."""
