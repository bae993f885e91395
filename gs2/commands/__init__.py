"""The commands behind `gs2`, one file for each group of them; heavy imports happen inside."""
