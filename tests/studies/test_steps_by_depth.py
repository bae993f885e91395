"""A step kept in one third of a game alone: what it leaves, and that the rows are continued."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cfr.best_response import exploitability
from cfr.tree import grow
from games.registry import load_game
from gs2.policies.policy_spec import policy_from_spec
from gs2.search.config.presets import preset
from gs2.search.context import SearchContext
from gs2.search.refine.whole import refine_both
from studies.steps_by_depth import decisions_before, main


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "goofspiel(cards=3)"])
def test_a_third_holds_the_infosets_of_as_many_decisions(name):
    tree = grow(load_game(name))
    depth = decisions_before(tree)
    for infoset in np.random.default_rng(0).choice(tree.n_infosets, 5):
        found = []
        for node in np.flatnonzero(tree.infoset == infoset):
            above, count = int(tree.parent[node]), 0
            while above >= 0:
                count, above = count + int(tree.player[above] >= 0), int(tree.parent[above])
            found.append(count)
        assert depth[infoset] == min(found)


def test_thirds_are_measured_alone_and_together_and_once(tmp_path):
    words = ["--game", "kuhn_poker", "--blueprint", "cfr:2", "-o", str(tmp_path)]
    first, again = (CliRunner().invoke(main, words) for _ in range(2))
    assert first.exit_code == again.exit_code == 0, first.output
    assert "cfr:2" in first.output and again.output == ""
    header, row = (json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines())
    game = load_game("kuhn_poker")
    context = SearchContext(game)
    old = policy_from_spec("cfr:2", game, context.tree)
    new = refine_both(context, old, preset("gs2-s")).policy
    assert row["before"] == pytest.approx(exploitability(context.tree, old))
    assert row["all"] == pytest.approx(exploitability(context.tree, new))
    # after none, one and two decisions: a third each
    changed = np.where(np.repeat(decisions_before(context.tree), 2) == 0, new, old)
    assert row["early"] == pytest.approx(exploitability(context.tree, changed))
    assert header["game"] == game.name
