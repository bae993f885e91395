"""The agent that searches at GuanDan."""
