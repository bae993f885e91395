"""Rule-based agents and the hand searches behind them."""
