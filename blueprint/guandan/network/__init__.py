"""GuanDan's network: its inputs, layers, fast inference and files."""
