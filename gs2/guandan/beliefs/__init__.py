"""What an agent believes of hidden hands."""
