"""Who plays the games that training learns from: threads of this process, or actors on other machines."""
