"""GuanDan's own commands: `gs2 serve` and `gs2 play`, `gs2 guandan`, `gs2 review`."""
