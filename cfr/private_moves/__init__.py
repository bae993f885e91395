"""The exact form of games with private moves: infosets listed once, histories never stored."""
