"""Tables of the server, of any game: who sits there, what is kept on disk, and a browser's connection."""
