"""How networks of GuanDan are taught: what search found, who holds hidden cards, which deals are likely."""
