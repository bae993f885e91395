"""What the GuanDan network learns from search."""
