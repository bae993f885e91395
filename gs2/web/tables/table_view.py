"""A table as the list of tables shows it, as plain data."""

from __future__ import annotations

from typing import Any

from gs2.web.tables.table import Table

__all__ = ["table_row"]


def table_row(table: Table[Any]) -> dict[str, Any]:
    """Return one line of the list of tables; seats in the order of the setup."""
    return {
        "id": table.setup.id,
        "game": table.setup.game,
        "seats": [
            {"name": name or None, "kind": sitter.kind}
            for name, sitter in zip(table.play.names, table.sitters, strict=True)
        ],
        "over": table.play.over,
        "created": table.setup.created,
        **table.play.standing,
    }
