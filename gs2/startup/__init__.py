"""What happens before a command runs and where its errors end."""
