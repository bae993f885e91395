"""Payoffs in structured form are what their definition says, pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from games import GameError, load_game
from games.infosets.factored import StructuredGame, check_factored, payoffs_at
from games.infosets.payoff_forms import FormBuilder
from games.research.leduc_poker import LeducPoker
from tests.cfr.public.random_factored import RandomFactored, RandomStructured
from tests.cfr.public.random_forms import random_forms
from tests.games.random_games import broken
from tests.patience import amount
from tests.reference.payoff_pairs import pair_payoffs

EXACT = 1e-12
SEEDS = range(amount(30, 12))


@pytest.mark.parametrize("seed", SEEDS)
def test_payoffs_are_those_of_the_pairs_that_are_left(seed: int) -> None:
    forms, rng = random_forms(seed), np.random.default_rng(seed)
    rows, columns = (rng.random(n) < 0.6 for n in forms.private)
    pairs, wanted = rng.random(forms.private) < 0.5, rng.random(len(forms)) < 0.6
    fewer, masked = forms.kept(rows, columns), forms.masked(pairs, wanted)
    whole = [pair_payoffs(forms, state) for state in range(len(forms))]
    for state, matrix in enumerate(whole):
        assert np.allclose(forms.dense(state), matrix, atol=EXACT)
        for player, paid in ((0, matrix), (1, -matrix.T)):
            reach = rng.random(paid.shape[1]) * (rng.random(paid.shape[1]) < 0.8)
            assert np.allclose(forms.values(state, player, reach), paid @ reach, atol=EXACT)
        assert np.allclose(fewer.dense(state), matrix * np.outer(rows, columns), atol=EXACT)
        assert np.allclose(masked.dense(state), matrix * pairs * wanted[state], atol=EXACT)
    every = np.ones(len(forms), bool)
    possible = sum(np.abs(matrix) for matrix in whole) > 0
    for kept in (possible, np.outer(rows, columns), pairs):
        found = forms.restricted(kept, possible, every)
        # The structure stays where it can.
        product = np.array_equal(kept & possible, np.outer(kept.any(1), kept.any(0)) & possible)
        assert not product or len(found.deal) == len(forms.deal)
        for state, matrix in enumerate(whole):
            assert np.allclose(found.dense(state), matrix * kept, atol=EXACT)
    assert forms.restricted(possible, possible, every) is forms


@pytest.mark.parametrize("seed", range(amount(8, 3)))
def test_random_structured_games_keep_the_contract(seed: int) -> None:
    game = RandomStructured(seed)
    assert isinstance(game, StructuredGame) and not isinstance(RandomFactored(seed), StructuredGame)
    check_factored(game, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda forms: replace(forms, paid=1.01 * forms.paid), "must be the payoffs times deal_weights"),
        (lambda forms: replace(forms, share=0 * forms.share), "must be the payoffs times deal_weights"),
        (lambda forms: replace(forms, strength0=forms.strength0[:, ::-1]), "must be the payoffs"),
        (lambda forms: forms.masked(np.ones(forms.private, bool), np.arange(len(forms)) > 0), "must be the"),
        (lambda forms: FormBuilder((6, 6)).build(len(forms) + 1), r"must be of \d+ states and"),
        (lambda forms: FormBuilder((6, 5)).build(len(forms)), r"must be of \d+ states and"),
    ],
)
def test_forms_that_are_not_the_payoffs_are_refused(change: Callable, rule: str) -> None:
    with pytest.raises(GameError, match=f"payoff_forms {rule}"):
        check_factored(
            broken("payoff_forms", lambda forms, states: change(forms), LeducPoker),
            np.random.default_rng(0),
            width=30,
        )


def test_forms_that_do_not_hold_together_are_refused_in_words() -> None:
    forms = random_forms(3)
    for name, wrong, rule in (
        ("first", forms.first[:, :-1], "first must be"),
        ("share", np.full_like(forms.share, np.nan), "share must be finite"),
        ("deal", forms.deal + 9, r"deal must be in \[0, 4\)"),
        ("order", forms.order - 9, r"order must be in \[-1, 4\)"),
        ("pair", forms.pair + 99, r"pair must be in \[0"),
        ("matrix", forms.matrix + 99, r"matrix must be in \[-1"),
        ("term_offset", forms.term_offset[::-1], "term_offset must rise from 0"),
        ("paid", forms.paid[:-1], "paid must be"),
    ):
        with pytest.raises(GameError, match=rule):
            replace(forms, **{name: wrong})
    with pytest.raises(GameError, match="amounts that differ must have an order"):
        FormBuilder((2, 2)).pay(0, 0, None, (0.0, 1.0, 2.0))
    builder = FormBuilder((2, 2))
    builder.pay(3, builder.deal(np.ones(2), np.ones(2)), None, 1.0)
    with pytest.raises(GameError, match=r"states must be in \[0, 2\)"):
        builder.build(2)


def test_a_large_deck_takes_numbers_in_proportion_to_its_cards() -> None:
    taken = []
    for ranks in (3, 6, 12):
        game = load_game(f"leduc_poker(ranks={ranks},suits=4)")
        assert isinstance(game, StructuredGame)
        root = game.public_root()
        folds = game.step(game.step(root, np.zeros(1, int), np.array([2])), np.zeros(1, int), np.array([0]))
        forms = payoffs_at(game, folds)
        taken.append(len(forms.first.reshape(-1)) + len(forms.share) + len(forms.matrices.reshape(-1)))
    assert taken[1] == 2 * taken[0] and taken[2] == 2 * taken[1]
