"""The result file of two GuanDan agents: one row for each deal or whole game."""

from __future__ import annotations

from typing import Any

from games.support.json_rows import JsonRows, Row

__all__ = ["FORMAT", "ResultsFile", "ResultsFileError"]

FORMAT = "gs2-match-1"


class ResultsFileError(ValueError):
    """A file that holds the results of something else."""


class ResultsFile(JsonRows):
    """Rows of results, each of a deal or a game; the header says who plays on which cards."""

    FORMAT, SOURCE, ROW, FAULT = FORMAT, "gs2 match", "the result of a deal or game", ResultsFileError

    def differences(self, found: Row) -> list[str]:
        """Return the fields that differ; agents do by their fingerprints, wherever their files lie."""
        return [
            name
            for name in super().differences(found)
            if name not in ("a", "b") or _fingerprint(found.get(name)) != _fingerprint(self.header.get(name))
        ]

    def is_row(self, row: Row) -> bool:
        """Return whether a row is the result of a deal or of a whole game."""
        if "deal" in row:
            return _numbers([row["deal"]], 1) and _numbers(row.get("payoffs"), 2, -3, 3)
        rest = _numbers(row.get("rounds"), 2) and _numbers(row.get("score"), 2, 0, 1, whole=False)
        return rest and _numbers([row.get("game")], 1)

    def key(self, row: Row) -> tuple[str, int]:
        """Return which deal or game a row is of."""
        return ("deal", row["deal"]) if "deal" in row else ("game", row["game"])


def _fingerprint(agent: Any) -> Any:
    """Return the fingerprint of an agent as a header has it, (name, fingerprint)."""
    return agent[1] if isinstance(agent, list) and len(agent) == 2 else None


def _numbers(values: Any, count: int, low: float = 0, high: float = 1 << 53, *, whole: bool = True) -> bool:
    kinds = int if whole else int | float
    return (
        isinstance(values, list)
        and len(values) == count
        and all(isinstance(v, kinds) and not isinstance(v, bool) and low <= v <= high for v in values)
    )
