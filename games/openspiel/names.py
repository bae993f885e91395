"""Which of OpenSpiel's games is which of ours, for those that both have (extra: `openspiel`)."""

from __future__ import annotations

from typing import Any

from games.game import Game, GameError

__all__ = ["openspiel_actions", "openspiel_game"]


def openspiel_game(game: Game, *, by_strings: bool = False) -> Any:
    """Return OpenSpiel's own game with the same histories, actions, infosets and payoffs, a `pyspiel.Game`.

    For games loaded as `openspiel:…`, and for our Kuhn and Leduc poker, Liar's Dice and Goofspiel under the
    parameters that OpenSpiel has too. Moves at once are made one after the other. Where chance deals several
    cards by one action of ours, it has more histories (`openspiel_actions`).
    by_strings: also require that its information state strings name the infosets, as its policies do.
    Raises GameError if OpenSpiel is not installed or has no such game.
    """
    try:
        import pyspiel
    except ImportError:
        raise GameError(
            f"{game.name}: needs OpenSpiel, which is not installed; pip install 'gs2[openspiel]'"
        ) from None
    from games.openspiel.direct import DirectOpenSpielGame
    from games.openspiel.expansion import OpenSpielGame
    from games.openspiel.poker_game import OpenSpielPoker

    if isinstance(game, OpenSpielGame | DirectOpenSpielGame | OpenSpielPoker):
        if by_strings and game.by_observations:
            raise GameError(
                f"{game.name}: OpenSpiel's policies go by information state strings; this game's infosets "
                "are what its players did and observed; write the policy as JSON"
            )
        return game.openspiel_game()
    name = _name(game)
    if name is None:
        raise GameError(
            f"{game.name}: OpenSpiel must have the same game; it has none with these parameters; choose "
            "kuhn_poker, leduc_poker, liars_dice or goofspiel with parameters that OpenSpiel knows"
        )
    return pyspiel.load_game(name)


def openspiel_actions(game: Game, actions: list[int]) -> list[int]:
    """Return the actions of `openspiel_game(game)` for those that lead to a decision of `game`."""
    from games.openspiel.poker_game import OpenSpielPoker

    return game.openspiel_actions(actions) if isinstance(game, OpenSpielPoker) else actions


def _name(game: Game) -> str | None:
    """Return OpenSpiel's game string for one of our games, or None."""
    from games.research.goofspiel import Goofspiel
    from games.research.kuhn_poker import KuhnPoker
    from games.research.leduc_poker import LeducPoker
    from games.research.liars_dice import LiarsDice

    if isinstance(game, KuhnPoker):
        return "kuhn_poker" if game.name == KuhnPoker().name else None
    if isinstance(game, LeducPoker):
        for same in (False, True):
            if game.name == LeducPoker(suit_isomorphism=same).name:
                return f"leduc_poker(suit_isomorphism={same})"
        return None
    if isinstance(game, LiarsDice):
        if not game.wild:
            return None
        return f"liars_dice(numdice={game.dice},dice_sides={game.sides},bidding_rule={game.bidding})"
    if isinstance(game, Goofspiel):
        if game.turns == game.cards - 1:  # OpenSpiel 2.0.2 plays past the last turn
            return None
        inner = (
            f"goofspiel(imp_info=True,egocentric=False,num_cards={game.cards},num_turns={game.turns},"
            f"points_order={game.points_order},returns_type={game.returns_type})"
        )
        return f"turn_based_simultaneous_game(game={inner})"
    return None
