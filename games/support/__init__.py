"""What every package shares about the world outside: files, locks on outputs, signals. No games in here."""
