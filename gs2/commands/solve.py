"""`gs2 solve`: refine a strategy at one infoset, and say how and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import click

from gs2.commands.common import (
    COUNT,
    FINITE,
    GAME,
    NEW_FILE,
    POSITIVE,
    SEED,
    CountType,
    bold,
    held_new,
    html_option,
    lock_options,
    memory_option,
    number,
    number_table,
    policy_file,
    print_json,
    stdout,
)
from gs2.commands.progress import working

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from blueprint.protocol import Blueprint
    from cfr.tree import FlatTree
    from games.game import Game, Infoset
    from games.infosets.factored import FactoredGame
    from gs2.policies.runs import LockChoice
    from gs2.search.config.search import SearchConfig
    from gs2.search.public_source import PublicBlueprint
    from gs2.search.result import SampleSize, SearchResult

EXAMPLE_GAME = "leduc_poker"
EXAMPLE_INFOSET = "P1 holds Ks | raise"
MANY_ROWS = 1_000_000
WHOLE_GAME = ("opponent_best_response", "replaced")
"""What is told of the whole game, where it is listed."""
LOOKED_AT = 100_000
"""Histories among which the first infoset is looked for before one is drawn."""


class OwnSolving(Protocol):
    """Methods and examples that a game brings to `gs2 solve`, registered in `gs2.wings`.

    methods: its methods by name, each a configuration with `to_json`; the first is the usual one.
    """

    methods: Mapping[str, Any]

    def examples(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the example infosets by name, each with a `title`."""
        ...

    def infoset(self, text: str | None) -> str:
        """Return the words of an infoset: those of a file or an example, the first if None, or as given."""
        ...

    def solve(self, method: str, text: str | None, changes: Mapping[str, Any], **asked: Any) -> None:
        """Search by one of `methods`, NAME[:FIELD=VALUE,…], and print what was asked for.

        changes: of the method's fields. asked: blueprint, None for the usual one; seed; rows, the most of a
        table; page, a file to write, None for none; as_json, whether the whole result is printed as JSON.
        """
        ...


@click.command
@click.argument("game", type=GAME, default=EXAMPLE_GAME)
@click.option(
    "--infoset",
    "text",
    metavar="TEXT",
    help="The infoset, as `gs2 infosets` names it; at a game with examples also a file or an example's name.",
)
@click.option("--positions", is_flag=True, help="List the game's example infosets and exit.")
@click.option(
    "--blueprint",
    "spec",
    help="Strategy to refine: a file of `gs2 blueprint` or of a network, VARIANT:ITERATIONS, noise:EPSILON, "
    "dmc:GAMES, network:DECISIONS or uniform.  [default: cfr:100; the shipped network of a game that has "
    "one; cfr:10 in phantom games]",
)
@click.option(
    "--method",
    help="Search method, NAME or NAME:FIELD=VALUE,…; --methods lists the names.  [default: gs2+; a faster "
    "one in large games]",
)
@click.option("--methods", is_flag=True, help="List the game's methods and exit.")
@click.option("-k", "k", type=COUNT, help="Number of histories to keep.  [default: the method's]")
@click.option(
    "--generator",
    help="Choice of the histories: all, random, diverse, clusters, strata, belief or FILE.py:NAME.",
)
@click.option("--gadget", help="Gadget: unsafe, resolve, maxmargin, reach-maxmargin, path or FILE.py:NAME.")
@click.option("--order", type=COUNT, help="Order of the knowledge set to consider.")
@click.option(
    "--source", help="Source of the histories: enumerated, sampled, or auto, which samples large games."
)
@click.option("--samples", type=COUNT, help="Most histories of the infoset to draw, if they are drawn.")
@click.option("--companions", type=CountType(0), help="Most histories of each opponent infoset to draw.")
@click.option("--depth", type=COUNT, help="Decisions below a history before a leaf value is used.")
@click.option(
    "--leaf",
    help="Leaf values at the depth limit: exact, value, rollout, continuations, multi-valued, play-on, or "
    "FILE.py:NAME.",
)
@click.option("--iterations", type=COUNT, help="CFR iterations on the subgame.")
@click.option(
    "--warm-start",
    type=FINITE,
    help="Start CFR at the blueprint, with this many iterations' worth of regrets.",
)
@click.option("--variant", help="CFR variant on the subgame.")
@click.option("--solver", help="Solver of the subgame: cfr, lp, anchored or mirror-descent.")
@click.option(
    "--entry-floor", type=FINITE, help="Probability that the opponent is forced to enter the gadget."
)
@click.option(
    "--anchor", type=FINITE, help="Weight of the refined strategy when it is mixed with the blueprint."
)
@click.option(
    "--certificate",
    help="Check of the solution before it is kept: none, keep all; margin, all if no opponent infoset gains; "
    "anchored, the largest share that lets none gain; shared, the same divided among searches of one level; "
    "path, the largest share that lets the opponent gain nothing in the whole game; statistical, all if "
    "paired games prove a gain.",
)
@click.option("--seconds", "time_limit", type=POSITIVE, help="Time limit in seconds.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of every random choice.")
@click.option(
    "-o",
    "--output",
    type=NEW_FILE,
    callback=policy_file,
    help="Write the whole refined strategy to a new policy file, or as JSON if the name ends in .json.",
)
@lock_options
@html_option("what the search saw, its histories and the game's tree")
@click.option("--rows", type=COUNT, default=6, show_default=True, help="Rows shown of each table.")
@click.option("--all-rows", is_flag=True, help="Show every history and opponent infoset.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
def solve(
    game: Game,
    text: str | None,
    spec: str | None,
    method: str | None,
    positions: bool,
    methods: bool,
    seed: int,
    output: Path | None,
    lock: LockChoice | None,
    page: Path | None,
    rows: int | None,
    all_rows: bool,
    as_json: bool,
    **changes: Any,
) -> None:
    """Refine a strategy at one infoset of GAME (leduc_poker if none is given) by subgame solving.

    Without --infoset it is the first of the game; where chance deals too much before it, one is drawn.
    With no options: player 1 of Leduc poker holds a king and faces a raise, the blueprint is CFR after 100
    iterations, and generative subgame solving (GS2+) refines it.

    A game may have methods and example infosets of its own: see --methods and --positions. Its first
    method is then the default.

    If a game is too large to list, the search draws histories of the infoset. The method is then gs2 by
    default, or rollout with the shipped network; --depth keeps gs2+. The blueprint must be a file, but not
    JSON, the game's shipped network, or uniform.
    A policy on a public tree (`gs2 blueprint --form public`) is searched on that tree, unless --source or
    --output is given. So is a named blueprint such as cfr:100 if only the public tree fits.

    --lock searches the locked game, in which chance plays the fixed part.
    """
    from gs2.wings import own_part

    own: OwnSolving | None = own_part(game.name, "solve")
    if positions:
        _list_positions(game, own, as_json)
        return
    if methods:
        _list_methods(own, as_json)
        return
    usual = "gs2+" if own is None else next(iter(own.methods))
    named, method = method is not None, usual if method is None else method
    rows = None if all_rows else rows
    given = {field: value for field, value in changes.items() if value is not None}
    name = method.partition(":")[0].strip()
    if own is not None and name in own.methods:
        if output is not None or lock is not None:
            raise click.UsageError(f"--output and --lock need a method of every game; got {method}")
        asked = {"blueprint": spec, "seed": seed, "rows": rows or MANY_ROWS, "page": page, "as_json": as_json}
        own.solve(method, text, given, **asked)
        return
    if own is not None:
        from games.support.near import near
        from gs2.play.search_agent import search_names

        hint = near(name, own.methods, "")
        if hint and name not in search_names():
            raise click.UsageError(f"no method is called {name!r}; {hint}")
        text = own.infoset(text)
    import numpy as np

    from cfr.policies.lock import LockedGame, LockedTree
    from cfr.sequence_form import sequence_form
    from cfr.tree import grow
    from games.support.configuration import ConfigError
    from games.support.spec import split_spec
    from gs2.explore.prepared_games import PreparedGame
    from gs2.explore.solve_picture import search_game, solve_picture, write_explore_page
    from gs2.parts import check_leaf_of
    from gs2.play.search_agent import named_search
    from gs2.policies.policy_spec import is_computed_there, stored_form
    from gs2.search.config.search import check_listed
    from gs2.search.context import MAX_LISTED, SearchOptions
    from gs2.search.explain import listed_context, solve_infoset

    config = named_search(method, label="method", **given)
    check_leaf_of(config, game)
    original, fixed = game, None if lock is None else lock.read(game)
    if fixed is not None:
        game = LockedGame(game, fixed)
    infoset = _example_infoset(game, seed) if text is None else game.parse_infoset(text)
    options = SearchOptions(listed=None if all_rows else MAX_LISTED)
    public = output is None and lock is None and changes["source"] is None and _is_public(config)
    usual_spec = "cfr:100" if own is None else "network"
    asked_spec = usual_spec if spec is None else spec
    on_tree = public and stored_form(asked_spec) == "public"
    context = None
    if not on_tree and game.num_players == 2:
        with working(f"growing {game.name} …"):
            context = listed_context(game, config)
        on_tree = (
            context is None and public and is_computed_there(game, asked_spec) and asked_spec != "uniform"
        )
    if context is None and not on_tree:
        asked_spec = drawn_default(game) if spec is None else spec
        if not named and not {"depth", "leaf", "source"} & given.keys():
            from blueprint.networks import shipped_file

            shipped = asked_spec == "network" and shipped_file(game.name) is not None
            config = named_search("rollout" if shipped else "gs2", label="method", **given)
    spec = asked_spec
    told = (*given, *split_spec(method)[1])
    searched = None
    if context is None:
        if output is not None:
            raise ConfigError(
                "output holds a strategy of the whole game, which is not listed where histories are drawn or "
                f"more than two seats play; got {output}; use --json for the infoset's"
            )
        blueprint: Blueprint | PublicBlueprint
        if on_tree:
            blueprint, where = _public_blueprint(game, spec), " on the public tree"
        else:
            blueprint, where = _drawn_blueprint(game, spec, config, seed), ""
            config = config.replace(source="sampled") if game.num_players == 2 else config
        with working(f"solving by {config.name}{where} …"):
            result = solve_infoset(game, blueprint, infoset, config, np.random.default_rng(seed), options)
        if result.sampled is None and not on_tree:  # a small game of many seats
            check_listed(told, game.name)
    else:
        if output is not None:
            held_new(output)
        check_listed(told, game.name)
        infoset_number = context.infoset_number(infoset)  # before anything that takes long
        with working(f"computing the blueprint {spec} …"):
            prepared = PreparedGame(game, context, sequence_form(context.tree, game))
            strategy = prepared.strategy(spec)
        with working(f"solving by {config.name} …"):
            rng = np.random.default_rng(seed)
            searched = search_game(prepared, strategy, infoset_number, config, rng, options)
        result = searched.result
        if output is not None:
            note = f"{spec} refined by {config.name} at {result.infoset}"
            if fixed is None:
                _write(output, game, context.tree, searched.refined, note)
            else:
                locked = LockedTree(grow(original), fixed)
                _write(output, original, locked.original, locked.whole(searched.refined), note)
    if page is not None:
        picture = solve_picture(result, searched, blueprint_spec=spec, seed=seed)
        write_explore_page(page, picture, f"{picture['infoset']} · {picture['game']}")
    whole = {} if searched is None else {name: searched.whole_game[name] for name in WHOLE_GAME}
    if as_json:
        print_json({**result.to_json(), "blueprint_spec": spec, "seed": seed, **whole})
    else:
        print_result(result, whole.get("opponent_best_response"), whole.get("replaced", 0), rows)


def _is_public(config: SearchConfig) -> bool:
    """Return whether a search can be made on a public tree."""
    from gs2.search.public_source import PublicSearchError, check_public

    with suppress(PublicSearchError):
        check_public(config)
        return True
    return False


def _public_blueprint(game: Game, spec: str) -> PublicBlueprint:
    """Return a policy on the public tree, stored or computed now."""
    from cfr.public.policies.policy_file import open_public_policy
    from gs2.policies.policy_spec import computed_policy, stored_form
    from gs2.search.public_source import PublicBlueprint

    with working(f"growing the public tree of {game.name} …") as tell:
        if stored_form(spec) == "public":
            return PublicBlueprint(open_public_policy(spec, game))
        return PublicBlueprint(computed_policy(spec, cast("FactoredGame", game), tell))


def _drawn_blueprint(game: Game, spec: str, config: SearchConfig, seed: int) -> Blueprint:
    """Return the strategy that a text names: any if the game can be listed, else one without a tree."""
    from gs2.play.agent_names import blueprint_named, load_searched
    from gs2.search.config.search import SearchConfig
    from gs2.search.explain import listed_context

    with working(f"computing the blueprint {spec} …") as tell:
        if game.num_players == 2:
            drawn = config.histories.source == "sampled"  # or it was found out already that it is not listed
            if not drawn or listed_context(game, SearchConfig()) is None:
                return blueprint_named(spec, game, tell)
        return load_searched(game, spec, seed=seed)


def drawn_default(game: Game) -> str:
    """Return the blueprint of a game whose histories are drawn, where none is named."""
    from blueprint.networks import shipped_file
    from gs2.policies.policy_spec import is_computed_privately

    if shipped_file(game.name) is not None:
        return "network"
    return "cfr:10" if is_computed_privately(game, "cfr:10") else "cfr:100"


def _write(output: Path, game: Game, tree: FlatTree, probs: NDArray[np.float64], note: str) -> None:
    from cfr.policies.policy import save_policy, tabular_policy
    from cfr.policies.policy_words import policy_words, save_policy_json

    policy = tabular_policy(game.name, tree, probs, note)
    if output.suffix == ".json":
        save_policy_json(output, policy, tree, policy_words(game, tree))
    else:
        save_policy(output, policy)


def _example_infoset(game: Game, seed: int) -> Infoset:
    """Return an infoset to start with: the first, or the first that a drawn game of a large one comes to."""
    import numpy as np

    from games.game import GameError
    from games.infosets import decision_infosets, drawn_infoset

    if game.name == EXAMPLE_GAME:
        return game.parse_infoset(EXAMPLE_INFOSET)
    try:
        for first in decision_infosets(game, max_states=LOOKED_AT):
            return first
    except GameError:
        return drawn_infoset(game, np.random.default_rng(seed))
    raise click.UsageError(
        f"{game.name}: at least one player must have a decision in a game to solve; none has"
    )


def _list_positions(game: Game, own: OwnSolving | None, as_json: bool) -> None:
    if own is None:
        raise click.UsageError(
            f"--positions needs a game that comes with examples; {game.name} has none; see gs2 infosets"
        )
    examples = own.examples()
    if as_json:
        print_json(examples)
        return
    for name, example in examples.items():
        stdout().print(bold(f"{name:14}"), example["title"])


def _list_methods(own: OwnSolving | None, as_json: bool) -> None:
    from gs2.search.config.presets import PRESET_NOTES, PRESETS

    found = {} if own is None else dict(own.methods)
    if as_json:
        print_json({name: config.to_json() for name, config in (PRESETS | found).items()})
        return
    table = number_table("method", "what it does", words=2)
    for name in dict.fromkeys((*found, *PRESETS)):
        table.add_row(name, "the game's own" if name in found else PRESET_NOTES[name])
    table.add_row("J-klss", "order-J knowledge, for any J >= 1")
    stdout().print(table)


ROUNDING = 1e-9
"""Payoffs below this are taken for errors of rounding."""


def print_result(
    result: SearchResult, best: Sequence[float] | None, replaced: int, limit: int | None
) -> None:
    """Print a search result as tables.

    best: the opponent's best-response value in the whole game against the blueprint, and against it with all
    that the search replaces. replaced: at how many infosets. limit: most rows of a table; None shows all.
    """
    out = stdout()

    config = result.config
    out.print(bold(result.game), f"  {result.infoset}   player {result.player} to act\n")
    actions = number_table("action", "blueprint", "refined", "", "value")
    for row in result.actions:
        change = row.refined - row.blueprint
        actions.add_row(
            row.action,
            f"{row.blueprint:.4f}",
            bold(f"{row.refined:.4f}"),
            f"{change:+.4f}" if abs(change) >= 5e-5 else "",
            "–" if row.q is None else _payoff(row.q) + _error(row.error),
        )
    out.print(actions)
    out.print(
        "value of the infoset if both go on by the blueprint: "
        f"{_payoff(result.blueprint_value)}{_error(result.blueprint_value_error)} before, "
        f"{_payoff(result.value)}{_error(result.value_error)} after"
        f"{'; ± one standard error' * (result.value_error is not None)}\n",
        style="dim",
    )

    out.print(
        bold("Histories:"),
        f"{result.histories_considered:,} considered, "
        f"{result.histories_generated:,} generated, {result.histories_kept:,} kept",
    )
    histories = number_table("history", "reach", "opponent's", "alternative", "kept")
    for told in sorted(result.histories, key=lambda told: (not told.generated, not told.kept))[:limit]:
        how = "generated" if told.generated else "completes" if told.kept else ""
        histories.add_row(
            told.history,
            f"{told.reach:.4f}",
            f"{told.opponent_reach:.4f}",
            _payoff(told.alternative),
            how + (", frozen" if told.frozen else ""),
        )
    out.print(histories)
    _print_rest(result.histories_considered, limit)

    if result.margins:
        words = "value to the opponent, before (alternative) and after"
        out.print(bold("\nOpponent infosets:"), words)
        opponents = number_table("infoset", "alternative", "solved", "margin")
        there = [row for row in result.opponents if row.margin is not None]
        for seen in there[:limit]:
            assert seen.solved is not None and seen.margin is not None
            opponents.add_row(
                seen.infoset, _payoff(seen.alternative), _payoff(seen.solved), _payoff(seen.margin)
            )
        out.print(opponents)
        _print_rest(result.opponents_kept, limit)

    if config.solve.solver == "mirror-descent":
        out.print(bold("\nStep:"), _step_words(result, config))
    else:
        out.print(
            bold("\nSubgame:"),
            f"{result.nodes:,} nodes, {result.infosets:,} infosets; "
            f"{config.name} by {config.gadget.kind} gadget, {config.solve.algorithm}, "
            f"{result.iterations} iterations, gap {number(result.gap, 6)}",
        )
    if 0 < result.anchor < 1:
        out.print(f"anchored: {result.anchor:.2f} of the subgame's strategy, the rest the blueprint's")
    for note in result.cut_off:
        out.print(f"- {note}")
    if best is not None:
        covers = "this infoset" if replaced == 1 else f"the {replaced} infosets that this search covers"
        before, after, gain = (_payoff(value, 6) for value in (best[0], best[1], best[1] - best[0]))
        out.print(
            bold("Whole game:"),
            f"the opponent's best response wins {before} against the blueprint, "
            f"{after} with {covers} refined ({gain})",
        )
    elif result.sampled is not None:
        _print_sample(result.sampled, result.config)
    elif result.seats is not None:
        who = " and ".join(map(str, result.seats))
        out.print(bold("Deciding seats:"), f"{who}; the others play the blueprint")
    else:
        out.print(bold("Public tree:"), "every pair of private states counts, and values are exact")
    times = "  ".join(f"{stage} {1000 * seconds:.1f}" for stage, seconds in result.seconds.items())
    out.print(f"milliseconds: {times}", style="dim")


def _step_words(result: SearchResult, config: SearchConfig) -> str:
    """Return what a step that solves no subgame does, in words."""
    depth = config.subgame.depth
    if result.sampled is not None and depth is not None:
        how = f"values by {config.subgame.leaf} after {depth} action" + "s" * (depth > 1)
    elif config.solve.robust:
        how = "gains against three answers of the opponent"
    else:
        how = "against the opponent's own step" if config.solve.extragradient else "no answer of the opponent"
    return f"{config.name}, one of mirror descent, no subgame; {how}"


def _payoff(value: float, digits: int = 4) -> str:
    """Return a payoff, or a difference of two, in words; what rounding leaves of nothing is nothing."""
    return number(0.0 if abs(value) < ROUNDING else value, digits, sign="+")


def _error(error: float | None) -> str:
    """Return what stands behind a payoff that hangs on luck."""
    return "" if error is None else f" ± {error:.4f}"


def _print_sample(size: SampleSize, config: SearchConfig) -> None:
    """Say how much of the game a result speaks for."""
    drawn = (
        f"{size.histories:,} histories of the infoset (effective {size.effective:.1f}) at {size.opponents:,} "
        f"opponent infosets, {size.drawn:,} histories of these"
        f"{f', {size.games:,} games played from each leaf' * (size.games > 0)}"
    )
    if size.complete:
        words = "all there are, so that values are exact up to the depth and the leaves"
    elif config.safety.certificate == "none":
        words = "nothing is certified; another seed draws others, and shows how far the answer hangs on them"
    elif config.safety.certificate == "statistical":
        words = (
            f"games from histories drawn anew judge the answer, against {config.safety.against}; what other "
            "opponents gain is not known"
        )
    else:
        words = "none of the opponent infosets drawn gains; of others it is only likely"
    stdout().print(bold("Sample:"), f"{drawn}; {words}")


def _print_rest(total: int, limit: int | None) -> None:
    if limit is not None and total > limit:
        stdout().print(f"… and {total - limit:,} more; --all-rows shows them", style="dim")
