"""`gs2 serve` and `gs2 play`: tables for any client, and our agents at other people's tables."""

from gs2.commands.table.playing import play
from gs2.commands.table.serving import serve

__all__ = ["play", "serve"]
