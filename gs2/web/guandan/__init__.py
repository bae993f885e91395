"""GuanDan in the browser: matches at tables of people and agents."""
