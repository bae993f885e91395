"""The outcome of a search in a form that explains itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gs2.search.config.search import SearchConfig


@dataclass(frozen=True)
class SampleSize:
    """How much was drawn for a search in a game that cannot be listed.

    histories: of the infoset. opponents: infosets of the opponent that these belong to. drawn: histories of
    all of these together. effective: effective sample size of the histories of the infoset, by the reach of
    chance and the opponent. complete: whether nothing was left to draw, and the search is exact. games: how
    many were played to the end from each history at the depth limit; 0 where leaves are valued otherwise.
    """

    histories: int
    opponents: int
    drawn: int
    effective: float
    complete: bool
    games: int = 0


@dataclass(frozen=True)
class ActionRow:
    """One action of the infoset.

    blueprint, refined: its probability before and after. q: its value to the player when both go on as
    before, in payoffs; None for one that was not searched, as `branches` and `gap` may leave some out.
    error: standard error of q, in payoffs, as far as histories were drawn and games played out; None where q
    hangs on no luck.
    """

    action: str
    blueprint: float
    refined: float
    q: float | None
    error: float | None = None


@dataclass(frozen=True)
class HistoryRow:
    """One history considered.

    history: in words, hidden information included. opponent_infoset: an `InfosetRow.number`.
    reach: probability that chance and the player lead there, as a share of all considered.
    opponent_reach: the opponent's own part of reaching it, under the blueprint.
    alternative: alternative value of the opponent's infoset, in payoffs to the opponent.
    generated: chosen by the generator. kept: in the subgame, chosen or completing an opponent infoset.
    frozen: in the subgame, with the player's decisions following its old strategy.
    summary: in the subgame, with the opponent's decisions following its best response.
    """

    history: str
    opponent_infoset: int
    reach: float
    opponent_reach: float
    alternative: float
    generated: bool
    kept: bool
    frozen: bool
    summary: bool


@dataclass(frozen=True)
class InfosetRow:
    """One opponent infoset among the histories considered.

    number: what `HistoryRow.opponent_infoset` refers to. alternative: its alternative value.
    solved: its value against the refined strategy, as the subgame sees it. margin: how much the opponent
        lost by that, alternative - solved. Both None where it was not in the subgame.
    """

    number: int
    infoset: str
    alternative: float
    solved: float | None
    margin: float | None


@dataclass(frozen=True)
class SearchResult:
    """The refined strategy at one infoset, and how it was found.

    game, infoset, player: where. text fields are in the game's words.
    actions: the refined beside the blueprint strategy, action by action.
    value, blueprint_value: to the player at the infoset, refined and not, if both go on by the blueprint;
        where actions were not searched, of what is played among the others.
    histories, opponents: what was considered, kept and worth; of many, those kept come first and the rest
        is cut at `SearchOptions.listed`. histories_considered, histories_generated,
        histories_kept, opponents_kept: full numbers of histories, and of opponent infosets in the subgame.
    nodes, decisions, infosets: size of the subgame with its gadget (nodes; decision nodes; infosets).
    iterations: run by the solver; gap: exploitability of the solution within the gadget, in payoffs.
    cut_off: what was left out or cut short, and why, one sentence each.
    kept_refined: False if `probs` are the old strategy because nothing better was certified.
    anchor: weight of the refined strategy in `refined`; 1 if it stands alone.
    seconds: wall-clock time of each stage.
    config: the configuration that was used.
    slots, probs: [s] int64 and float64, every slot of the full tree that the search replaces (which of them
        says `config.safety.scope`) and its refined probability; a certificate speaks of all of them together.
        Where histories are sampled, slots of the tree that was grown below them.
    sampled: how much was drawn; None where the game was listed.
    value_error, blueprint_value_error: standard errors of the two values, as `ActionRow.error`.
    seats: in a game of more than two, those that decide; the others play the blueprint.
    """

    game: str
    infoset: str
    player: int
    actions: tuple[ActionRow, ...]
    value: float
    blueprint_value: float
    histories: tuple[HistoryRow, ...]
    opponents: tuple[InfosetRow, ...]
    histories_considered: int
    histories_generated: int
    histories_kept: int
    opponents_kept: int
    nodes: int
    decisions: int
    infosets: int
    iterations: int
    gap: float
    cut_off: tuple[str, ...]
    kept_refined: bool
    anchor: float
    seconds: dict[str, float]
    config: SearchConfig = field(repr=False)
    slots: NDArray[np.int64] = field(repr=False, compare=False)
    probs: NDArray[np.float64] = field(repr=False, compare=False)
    sampled: SampleSize | None = None
    value_error: float | None = None
    blueprint_value_error: float | None = None
    seats: tuple[int, ...] | None = None

    @property
    def refined(self) -> dict[str, float]:
        """Return the refined probability of each action, by its text."""
        return {row.action: row.refined for row in self.actions}

    @property
    def blueprint(self) -> dict[str, float]:
        """Return the blueprint probability of each action, by its text."""
        return {row.action: row.blueprint for row in self.actions}

    @property
    def margins(self) -> list[float]:
        """Return the margin of each opponent infoset in the subgame, in payoffs."""
        return [row.margin for row in self.opponents if row.margin is not None]

    def to_json(self) -> dict[str, Any]:
        """Return everything but the slots as plain dictionaries, lists, numbers and strings."""
        plain = asdict(replace(self, slots=np.zeros(0, np.int64), probs=np.zeros(0)))
        del plain["slots"], plain["probs"]
        plain["config"] = self.config.to_json()
        return plain
