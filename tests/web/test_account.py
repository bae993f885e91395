"""What a table tells of rounds at A."""

from __future__ import annotations

from typing import Any

import numpy as np

from games.guandan.cards import RANKS
from gs2.guandan.table.session import Session
from gs2.web.guandan.match_play import TableAccount
from tests.patience import amount


def random_session(seed: int, games: int) -> list[dict[str, Any]]:
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
    for seed in range(amount(4, 2)):
        fails, levels, owner, game = [0, 0], ["2", "2"], None, 0
        for end in random_session(seed, games=2):
            if end["game"] != game:
                fails, levels, owner, game = [0, 0], ["2", "2"], None, end["game"]
            at_a = owner is not None and levels[owner] == "A"
            won = at_a and end["winner"] == owner and end["gain"] > 1
            assert end["over"] == won
            if at_a and not won:
                assert owner is not None and end["failed"] == owner
                fails[owner] += 1
                assert end["dropped"] == (fails[owner] == 3)
                fails[owner] %= 3
                failed += 1
                dropped += end["dropped"]
                assert not end["dropped"] or end["levels"][owner] == "2"
            else:
                assert end["failed"] is None and not end["dropped"]
            assert end["fails"] == fails
            assert end["rise"] == RANKS.index(end["levels"][end["winner"]]) - RANKS.index(
                levels[end["winner"]]
            )
            levels, owner = end["levels"], end["winner"]
    assert failed > 5 and dropped > 0
