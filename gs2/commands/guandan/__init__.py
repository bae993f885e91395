"""GuanDan's own commands: `gs2 serve` and `gs2 play`, `gs2 guandan`, `gs2 review`."""

from gs2.commands.guandan.playing import play
from gs2.commands.guandan.serving import serve

__all__ = ["play", "serve"]
