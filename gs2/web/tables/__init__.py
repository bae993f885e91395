"""GuanDan tables of the server: their state, what is kept of them on disk, and a browser's connection."""
