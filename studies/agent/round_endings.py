"""What agents gain in the last moves of a round of GuanDan: `python -m studies.agent.round_endings AGENT …`

The network plays rounds against itself. Each is taken up where all hands together first hold few cards, with
three seats left or four, and played on twice, with the agent on either side and the network on the other.
What the agent's side gets beyond the network in its place is its gain; agents are compared ending by ending.
"""

from __future__ import annotations

import time

import click
import numpy as np
from numpy.typing import NDArray

from blueprint.game_lockstep import play_rounds
from blueprint.guandan.play.duplicate import duplicate_deals
from blueprint.guandan.play.selfplay import GUANDAN
from blueprint.protocol import Agent, Decisions, shared_out
from blueprint.structured import join
from games.guandan.rounds.round import GuanDan
from games.support.array_types import Array
from games.support.bootstrap import bootstrap_interval
from gs2.commands.common import COUNT, SEED
from gs2.commands.groups import run_alone
from gs2.guandan.agent_families import guandan_agent

_GAME = GuanDan()


class _Watched:
    """An agent that notes the first decision of each round at which all hands hold few cards."""

    def __init__(self, agent: Agent, cards: int) -> None:
        self.agent, self.cards, self.found = agent, cards, dict[int, Array]()

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        here = decisions.states[decisions.rows]
        few = (here["left"].sum(axis=1) <= self.cards) & (np.count_nonzero(here["left"], axis=1) > 2)
        for j in np.flatnonzero(few).tolist():
            self.found.setdefault(int(decisions.rows[j]), here[j : j + 1].copy())
        return self.agent(decisions)


class _Sides:
    """An agent that plays side 0 of the first n rounds and side 1 of the others, against the network."""

    def __init__(self, agent: Agent, network: Agent, n: int) -> None:
        self.agent, self.network, self.n, self.spent = agent, network, n, 0.0

    def __call__(self, decisions: Decisions) -> NDArray[np.int64]:
        others = (decisions.seats & 1) != (decisions.rows >= self.n)
        began = time.process_time()
        found: NDArray[np.int64] = shared_out(decisions, others, (self.agent, self.network))[0]
        self.spent += time.process_time() - began
        return found


def endings(network: Agent, deals: Array, cards: int) -> Array:
    """Return where the network's rounds first have so few cards in all hands, and three or four seats."""
    watched = _Watched(network, cards)
    play_rounds(deals.copy(), watched, GUANDAN, record=False)
    return join([watched.found[row] for row in sorted(watched.found)])


def gains(agent: Agent, network: Agent, states: Array) -> tuple[NDArray[np.float64], float]:
    """Return what an agent's side gains over the network in each ending, [n] levels, and seconds an ending.

    The mean over both sides.
    """
    alone, n = states.copy(), len(states)
    play_rounds(alone, network, GUANDAN, record=False)
    sides, both = _Sides(agent, network, n), join([states, states])
    play_rounds(both, sides, GUANDAN, record=False)
    usual, found = _GAME.returns(alone)[:, 0], _GAME.returns(both)[:, 0]
    return ((found[:n] - usual) - (found[n:] - usual)) / 2, sides.spent / n


@click.command("round-endings")
@click.argument("agents", nargs=-1, required=True)
@click.option("--rounds", type=COUNT, default=1000, show_default=True)
@click.option("--cards", type=COUNT, default=22, show_default=True, help="In all hands, at most.")
@click.option("--seed", type=SEED, default=0, show_default=True)
def round_endings(agents: tuple[str, ...], rounds: int, cards: int, seed: int) -> None:
    """Play the ends of rounds on with each of AGENTS, and compare each with the first."""
    network = guandan_agent("blueprint").load(np.random.default_rng(seed))
    states = endings(network, duplicate_deals(np.arange(rounds), seed), cards)
    first: NDArray[np.float64] | None = None
    for name in agents:
        agent = guandan_agent(name).load(np.random.default_rng(seed))
        gain, seconds = gains(agent, network, states)
        first = gain if first is None else first
        told = []
        for each in (gain, gain - first):
            low, high = bootstrap_interval(each, np.random.default_rng(0))
            told.append(f"{each.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
        gained, more = told
        click.echo(
            f"{name}: {gained} levels, {more} over the first; {len(gain)} endings, {seconds:.3f} s each"
        )


if __name__ == "__main__":
    run_alone(round_endings)
