"""The subgame below the histories kept: cutting, growing, leaves."""
