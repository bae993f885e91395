"""What a game brings beside its rules, by the game's name; a part is imported when it is first asked for.

agents: its own, a function from a name to the `NamedAgent` (`blueprint.agent_name`). contest: what agents
meet in, called with the terms of a match (`gs2.play.arena.GameContest`). solve: methods and examples of
its own (`gs2.commands.solve.OwnSolving`). terms: options of its matches, a module with OPTIONS,
AGENTS and `chosen` (`gs2.commands.compare_agents`). exploit: how responders of its own are found
(`gs2.play.exploit.Hunt`). training: of its network (`gs2.commands.training.learners.GameLearner`).
environment: what its positions and listed moves look like, `views` and `moves` (`gs2.environments`). teacher:
the rule agent that guides the first training of a network, and may be seated. face: how its cards look in the
browser (`gs2.web.games.card_face.Face`). play: what is played at its tables there, where that is its own
(`gs2.web.tables.table.Play`). review: how its records are read and judged
(`gs2.review.reviewing.GameReviewing`). words: returns a move of a review as players say it.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

FIRST = "guandan"
"""The game of commands, and of tables in the browser, where none is named."""

WINGS = {
    "guandan": {
        "agents": "gs2.guandan.agent_families:guandan_agent",
        "contest": "gs2.guandan.contest:GuanDanContest",
        "solve": "gs2.commands.guandan.guandan_solve:",
        "terms": "gs2.commands.guandan.options:",
        "exploit": "gs2.guandan.best_responder:GuanDanHunt",
        "training": "gs2.commands.guandan.train_guandan:GUANDAN",
        "environment": "games.guandan.views.features:ROWS",
        "play": "gs2.web.guandan.match_play:MatchPlay",
        "review": "gs2.guandan.review.match_review:MatchReview",
        "words": "gs2.guandan.review.match_review:move_words",
    },
    "guandan_match": {
        "environment": "games.guandan.views.features:ROWS",
        "review": "gs2.guandan.review.match_review:MatchReview",
    },
    "doudizhu": {
        "teacher": "gs2.play.shedding:SHEDDING",
        "face": "gs2.web.games.doudizhu_face:DouDizhuFace",
    },
    "big2": {
        "teacher": "gs2.play.big2_shedding:BIG2_SHEDDING",
        "face": "gs2.web.games.big2_face:Big2Face",
    },
}
ANY = {"review": "gs2.review.game_review:GameReview"}
"""Parts of the games that register none."""
OWN_COMMANDS = {
    "guandan": (
        "gs2.commands.guandan.rounds",
        "guandan",
        "Replay records of GuanDan; grow, distil and teach networks.",
    ),
    "serve": ("gs2.commands.guandan.serving", "serve", "Serve GuanDan tables to clients over WebSockets."),
    "play": (
        "gs2.commands.guandan.playing",
        "play",
        "Play GuanDan in the terminal, or seat agents at a server.",
    ),
}
"""Commands of one game alone, by name: module, attribute, and the line that `gs2 --help` shows for it."""


TITLES = {"guandan": "GuanDan", "doudizhu": "DouDiZhu", "big2": "Big2"}
"""Games by the names that people write, where those are not their strings."""


def games_with(part: str) -> dict[str, str]:
    """Return, by game, where a part lies that games register: MODULE:NAME each."""
    return {game: parts[part] for game, parts in WINGS.items() if part in parts}


def own_part(game: str, part: str) -> Any | None:
    """Return a part that a game registers, or that any has; None if there is none. game: its string."""
    where = WINGS.get(game.partition("(")[0], {}).get(part, ANY.get(part))
    return None if where is None else resolve_name(where)


def own_parts(part: str) -> list[Any]:
    """Return what every game registers as a part of this name."""
    return [resolve_name(where) for where in games_with(part).values()]
