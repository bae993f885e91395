"""What a table tells of rounds at A, and what its agents are called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gs2.guandan.table.session import Session
from gs2.web.account import RoundEnd, TableAccount
from gs2.web.tables.seat_labels import seat_labels
from tests.web.serving import Server

BROKEN = """
class Broken:
    def act(self, observation):
        raise RuntimeError("no move today")
"""


def random_session(seed: int, games: int) -> list[RoundEnd]:
    """Return the results of games of random choices."""
    account = TableAccount(["a", "b", "c", "d"])
    session = Session(account, games=games, seed=seed)
    account.session = session
    session.begin()
    rng = np.random.default_rng(seed)
    while session.stage != "over":
        seat, due = next(iter(session.pending.items()))
        session.choose(seat, int(rng.integers(len(due.actions))))
    return account.results


def test_failures_at_a_are_told_as_the_results_make_them() -> None:
    failed = dropped = 0
    for seed in range(4):
        fails, levels, owner, game = [0, 0], ["2", "2"], None, 0
        for end in random_session(seed, games=2):
            if end.game != game:
                fails, levels, owner, game = [0, 0], ["2", "2"], None, end.game
            at_a = owner is not None and levels[owner] == "A"
            won = at_a and end.winner == owner and end.gain > 1
            assert end.over == won
            if at_a and not won:
                assert owner is not None and end.failed == owner
                fails[owner] += 1
                assert end.dropped == (fails[owner] == 3)
                fails[owner] %= 3
                failed += 1
                dropped += end.dropped
                assert not end.dropped or end.levels[owner] == "2"
            else:
                assert end.failed is None and not end.dropped
            assert end.fails == fails
            levels, owner = end.levels, end.winner
    assert failed > 5 and dropped > 0


def test_agents_are_called_by_their_names_without_folders() -> None:
    given = [
        "/a/b/s.py:Bot",
        "gs2@/a/net.safetensors",
        "mine:Bot",
        "/a/c/t.py:Bot",
        "/a/d/t.py:Bot",
        "/e/d/t.py:Bot",
    ]
    assert list(seat_labels(given).values()) == [
        "s.py:Bot", "gs2@net.safetensors", "mine:Bot", "c/t.py:Bot", "d/t.py:Bot", "d/t.py:Bot (2)"
    ]  # fmt: skip
    assert seat_labels(["runs/greedy", "random"], ["greedy", "random"]) == {
        "runs/greedy": "runs/greedy",
        "random": "random",
    }


def test_a_page_is_not_told_the_folders_of_this_machine(
    own_server: Callable[..., Server], tmp_path: Path
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    server = own_server("--agent", f"{file}:Broken")
    assert str(tmp_path) not in server.http.get("/api/agents").text
    table, key = server.table(["person", "broken.py:Broken", "greedy", "greedy"], seed=1)
    seat = server.seat(table, key)
    while not seat.state["table"]["failure"]:
        seat.my_turn()
        if seat.state["turn"]["you"]:
            seat.play()
    assert "no move today" in seat.state["table"]["failure"]
    assert str(tmp_path) not in str(seat.state)
    seat.close()
    server.end()
    server.start()
    assert server.seat(table, key).state["table"]["seats"][1]["name"] == "broken.py:Broken"
