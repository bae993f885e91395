"""Game strings: what they mean, and what is said about those that mean nothing."""

from __future__ import annotations

import pytest

from games import PRESETS, GameError, GameSpec, game_spec, game_specs, load_game, register_game
from games.research.kuhn_poker import KuhnPoker


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("leduc_poker", "leduc_poker"),
        (" Leduc_Poker ( ranks = 4 , suits=3 ) ", "leduc_poker(ranks=4,suits=3)"),
        ("leduc_poker()", "leduc_poker"),
        ("leduc_poker(ranks=3)", "leduc_poker"),
        ("liars_dice(numdice=2,dice_sides=3)", "liars_dice(dice=2,sides=3)"),
        ("liars_dice(wild=FALSE)", "liars_dice(wild=false)"),
        ("liars_dice_6_reset_quantity", "liars_dice(bidding=reset-quantity)"),
        (
            "goofspiel(returns_type=win_loss,num_cards=4,num_turns=4)",
            "goofspiel(cards=4,turns=4,returns=win_loss)",
        ),
    ],
)
def test_game_strings_have_one_canonical_form(text: str, name: str) -> None:
    assert load_game(text).name == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leduk", 'no game is called "leduk"; did you mean leduc_poker.* gs2 games lists them all'),
        ("chess", 'no game is called "chess"; there are kuhn_poker, leduc_poker'),
        ("a.efg", "a.efg: a game of Gambit's must be named as gambit:a.efg"),
        ("", "no game is called"),
        ("leduc_poker(rank=3)", "did you mean ranks"),
        ("leduc_poker(ranks=1)", r"leduc_poker: ranks must be an integer in \[2, 13\]; got 1"),
        ("leduc_poker(ranks=3", "close the bracket"),
        ("leduc_poker(3)", "must look like name=value"),
        ("leduc_poker(ranks=3,ranks=4)", "must be given once"),
        ("leduc_poker(ranks=2,suits=1)", "ranks times suits must be at least 3"),
        ("leduc_poker(raise_sizes=2)", "written like 2/4"),
        ("liars_dice(wild=1)", "wild must be true or false; got '1'"),
        ("liars_dice(bidding=any)", "one of reset-face, reset-quantity; got 'any'"),
        ("liars_dice(dice=2,sides=16)", "dice times sides must be at most 31"),
        ("liars_dice(dice=8,sides=3,numdice=2)", "dice must be given once"),
        ("goofspiel(cards=3,turns=4)", "turns must be at most cards, 3; got 4"),
        ("goofspiel(returns=total_points)", "payoffs must sum to zero"),
        ("liars_dice_6(sides=5)", "a preset takes no parameters"),
    ],
)
def test_bad_game_strings_say_the_rule_and_the_value(text: str, message: str) -> None:
    with pytest.raises(GameError, match=message) as caught:
        load_game(text)
    assert "\n" not in str(caught.value)


def test_only_integers_are_integers() -> None:
    for value in (True, 3.0, "3", None):
        with pytest.raises(GameError, match="ranks must be an integer"):
            game_spec("leduc_poker").make(ranks=value)


def test_specs_describe_every_parameter_and_presets_are_games() -> None:
    for spec in game_specs():
        assert spec.summary
        for parameter in spec.parameters:
            assert parameter.doc
            assert parameter.rule
            assert parameter.parse(spec.name, parameter.format(parameter.default)) == parameter.default
        assert load_game(spec.name).name == spec.make().name
    for preset, text in PRESETS.items():
        assert load_game(preset).name == load_game(text).name


def test_a_registered_game_loads_by_name_and_names_are_taken_once() -> None:
    spec = GameSpec("registered_poker", "a test", KuhnPoker.parameters, KuhnPoker)
    register_game(spec)
    assert load_game("registered_poker(cards=4)").payoff_range == (-2.0, 2.0)
    assert "registered_poker" in [known.name for known in game_specs()]
    for taken in (
        spec,
        GameSpec("leduc_poker", "", (), KuhnPoker),
        GameSpec("liars_dice_6", "", (), KuhnPoker),
    ):
        with pytest.raises(GameError, match="must be new"):
            register_game(taken)
