"""Names of OpenSpiel's games read back with every parameter, and policies know their games by them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from cfr.policies.policy import PolicyError, load_policy, save_policy, tabular_policy
from cfr.policies.policy_words import load_policy_json, policy_words, save_policy_json
from cfr.tree import grow
from games import GameError, load_game
from games.openspiel.direct import openspiel_game
from games.openspiel.expansion import game_name, load_parameters, read_parameters
from gs2.policies.policy_spec import policy_from_spec
from tests.games.openspiel.efg import efg_of, saved
from tests.games.random_games import RandomGame
from tests.patience import amount

pytest.importorskip("pyspiel")

FLAT = (
    "kuhn_poker",
    "leduc_poker(suit_isomorphism=true)",
    "liars_dice(numdice=2,dice_sides=2)",
    "goofspiel(imp_info=True,num_cards=3,points_order=ascending)",
    "universal_poker(numRounds=1,blind=1 1,firstPlayer=1,numRanks=3,numSuits=2,numBoardCards=0,raiseSize=1)",
    "nim(pile_sizes=1;2)",
    "python_kuhn_poker",
)
NUMBERS = (0.25, 0.1, 1e-7, 0.123456789012345)


def nested(rng: np.random.Generator, folder: Path) -> str:
    """Return the string of a random game within games, with spaces here and there."""
    text = str(rng.choice([*FLAT, f"nfg_game(filename={rps(folder)})", "efg"]))
    if text == "efg":
        made = RandomGame(int(rng.integers(1000)), public=True, most=40)
        text = saved(efg_of(made)[0], folder).partition(":")[2]
    for _ in range(int(rng.integers(3))):
        space = " " * int(rng.integers(2))
        outer = str(rng.choice(["misere", "restricted_nash_response", "add_noise"]))
        more = {
            "misere": "",
            "restricted_nash_response": f",p={rng.choice(NUMBERS)},{space}fixed_player={rng.integers(2)}",
            "add_noise": f",epsilon={rng.choice(NUMBERS)},{space}seed={rng.integers(9)}",
        }[outer]
        text = f"{outer}({space}game={text}{more})"
    return text


def rps(folder: Path, payoff: int = 1) -> Path:
    """Write rock, paper, scissors, in which the first player's win by rock pays `payoff`; return the file."""
    path = folder / "rps.nfg"
    path.write_text(
        f'NFG 1 R "rps" {{ "A" "B" }} {{ 3 3 }}\n\n0 0 1 -1 -1 1 -1 1 0 0 1 -1 {payoff} {-payoff} -1 1 0 0\n'
    )
    return path


def test_names_of_generated_games_keep_every_parameter_and_read_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for _ in range(amount(60, 12)):
        text = nested(rng, tmp_path)
        parameters = read_parameters(text)
        try:
            game = load_parameters(parameters)
        except GameError as refused:  # add_noise of a game with simultaneous moves, among others
            assert text.startswith(("add_noise", "misere", "restricted")), refused
            continue
        name = game_name(game, parameters)
        again = read_parameters(name.removeprefix("openspiel:"))
        assert game_name(load_parameters(again), again) == name
        while parameters:  # every given value is in the name, at its depth
            assert {k: again[k] for k in parameters if k in again and k != "game"} == {
                k: v for k, v in parameters.items() if k in again and k != "game"
            }
            parameters, again = parameters.get("game", {}), again.get("game", {})


@pytest.mark.parametrize(
    "text",
    [
        "turn_based_simultaneous_game(game=nfg_game(filename={rps}))",
        "normal_form_extensive_game(game=restricted_nash_response(game=kuhn_poker(),p=.1))",
        FLAT[4],
    ],
)
def test_games_that_lose_their_parameters_keep_them_here(text: str, tmp_path: Path) -> None:
    game = load_game("openspiel:" + text.format(rps=rps(tmp_path)))
    assert load_game(game.name).name == game.name == pickle.loads(pickle.dumps(game)).name
    policy = tabular_policy(game.name, grow(game))
    handed = policy.to_openspiel()
    assert len(handed.policy_table()) == policy.n_infosets
    assert openspiel_game(game).new_initial_state() is not None
    np.testing.assert_array_equal(policy.from_openspiel(handed, game).probs, policy.probs)


def test_a_policy_is_not_accepted_once_the_games_file_has_changed(tmp_path: Path) -> None:
    name = f"openspiel:nfg_game(filename={rps(tmp_path)})"
    game = load_game(name)
    tree = grow(game)
    npz, words = tmp_path / "p.npz", tmp_path / "p.json"
    policy = tabular_policy(game.name, tree)
    save_policy(npz, policy)
    save_policy_json(words, policy, tree, policy_words(game, tree))
    for path in (npz, words):
        policy_from_spec(str(path), game, tree)
    rps(tmp_path, payoff=2)
    changed = load_game(name)
    other = grow(changed)
    assert changed.name == game.name
    for path in (npz, words):
        with pytest.raises(PolicyError, match="the game has changed since the policy was made"):
            policy_from_spec(str(path), changed, other)
    with pytest.raises(PolicyError, match="the game has changed"):
        policy.on(other, changed.name)
    with pytest.raises(PolicyError, match="the game has changed"):
        policy.to_openspiel()
    rps(tmp_path)
    assert load_policy(npz, game.name, grow(load_game(name))).tree == tree.digest


def test_older_files_without_a_fingerprint_still_load(tmp_path: Path) -> None:
    game = load_game("openspiel:kuhn_poker")
    tree = grow(game)
    policy = tabular_policy(game.name, tree)
    object.__setattr__(policy, "tree", "")
    save_policy(tmp_path / "old.npz", policy)
    assert load_policy(tmp_path / "old.npz", game.name, tree).tree == ""
    save_policy_json(tmp_path / "old.json", policy, tree, policy_words(game, tree))
    text = (tmp_path / "old.json").read_text()
    (tmp_path / "old.json").write_text(text.replace(f' "tree": "{tree.digest}",\n', ""))
    assert tree.digest in text and tree.digest not in (tmp_path / "old.json").read_text()
    assert load_policy_json(tmp_path / "old.json", game, tree).n_infosets == tree.n_infosets
