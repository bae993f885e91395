"""How exploitable a GuanDan agent is at least: a network trained to beat it, and search that knows it.

    manner = HuntManner(Path("runs/responder"))
    report = exploit_game(load_game("guandan"), "blueprint", ExploitConfig(minutes=60), manner)

The trained responder starts from the shipped network and goes on by the trainer of
`blueprint.guandan.training`, with the frozen agent on the other side of every round. An agent that searches
is too slow for that: its responder is trained against its network, and measured against both. Deals of the
measurement are fresh. Both sides of every deal are played, so what the cards gave cancels, and the
responder's mean in levels a round is a lower bound.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.play.quick_agents import RULE_AGENTS
from blueprint.guandan.train_config import TrainConfig
from games.support.bootstrap import estimate
from games.support.configuration import ConfigError
from games.support.files import check_folder, read_text, write_text
from games.support.work.executor import available_cores
from games.support.work.where import where_of
from gs2.guandan.agent_families import check_agent, guandan_agent
from gs2.play.agent_names import parse_agent
from gs2.play.arena import Meeting, MeetingResult, contest_of, play_match
from gs2.play.exploit import ExploitReport, Hunt, LowerBound
from gs2.play.game_pairs import PlayedGames

DEALS, SLOW_DEALS = 500, 100
"""Deals by default, each played from both sides; fewer where somebody searches."""
FRESH = 0xF5E50000
"""Added to the seed of the deals that measure, so that they are not those of any usual match."""
RESPONDER = TrainConfig(
    rounds=512,
    batch=2048,
    learning_rate=2e-4,
    halving=2e7,
    epsilon=0.01,
    temperature=0.03,
    cooling=1e14,
    trace=0.95,
    focus=3.0,
    average=0.2,
    strangers_share=1.0,
    strangers="blueprint",
)
"""Training of the responder: small generations and steps, since minutes must suffice and it starts strong."""


def model_of(agent: str) -> str:
    """Return the name of the quick agent that a responder is trained against.

    That is the agent itself if it answers at once, the network of one that searches, and `blueprint` for
    anybody else's.
    """
    spec = parse_agent(agent)
    if agent in RULE_AGENTS or agent == "blueprint" or (spec.name == spec.text and spec.file):
        return agent
    return str(spec.file) if spec.file is not None else "blueprint"


def searching_responder(model: str) -> str:
    """Return the name of the agent that searches with rollouts by a network, the model's if it is one."""
    network = "" if model in (*RULE_AGENTS, "blueprint") else f"@{model}"
    return f"gs2:method=rollout{network}"


class GuanDanHunt(Hunt):
    """The responders to one agent of GuanDan, by their names, in the folder of a run.

    It gets the responder as `last.safetensors`, a line for each generation of training and the deals played.
    The same call goes on from there: training up to `minutes` in all, and the deals left.
    """

    keeps_run = True
    minutes = 60.0
    fresh = FRESH

    def _loaded(self) -> tuple[str, str]:
        if self.config.exact or self.config.method == "best":
            asked = "--exact" if self.config.exact else "--method best"
            raise ConfigError(f"exploit: {asked} needs a game with a tree; GuanDan has none; leave it out")
        contest_of(self.game)  # the deals are those of matches, whose form of the game it has to be
        check_agent(self.name)
        self.where = "guandan"
        model = model_of(self.name)
        return self.name, self.name if model == self.name else model

    @property
    def methods(self) -> tuple[str, ...]:
        return ("lbr", "trained") if self.config.method == "both" else (self.config.method,)

    def called(self, opponent: str) -> str:
        return opponent

    def report(self) -> ExploitReport:
        """Return what the responders gain, in levels a round.

        Raises ConfigError for the folder of another run, LockHeld where another process uses it.
        """
        with ExitStack() as stack:
            output = self.manner.output
            self.folder = check_folder(output or stack.enter_context(TemporaryDirectory()))
            told = guandan_agent(self.model).fingerprint()
            about = {"agent": self.agent, "model": self.model, "model_is": told, "seed": self.config.seed}
            _claim(self.folder, about)
            bounds = self.played_bounds()
        knows = self.model not in RULE_AGENTS if "lbr" in self.methods else None
        notes = {"knows": knows, "complete": not self.stopped}
        return self.reported(bounds, notes=notes, words=self._words(bounds, knows))

    def _words(self, bounds: list[LowerBound], knows: bool | None) -> tuple[str, ...]:
        lines = []
        for bound in bounds:
            decisions, won = bound.notes.get("decisions"), bound.notes["won"][0]
            trained = "" if decisions is None else f", trained on {decisions:,} decisions"
            lines.append(f"{bound.method} wins {100 * won:.1f} % of rounds against {bound.against}{trained}.")
        if self.model != self.agent:
            lines.append(f"Responders know {self.model}, which answers at once, in place of {self.agent}.")
        if knows is False:
            lines.append(f"Rollouts of lbr are played by the shipped network: {self.model} has none.")
        output = self.manner.output
        if output is not None:
            last = output / "last.safetensors"
            words = f"; the responder is {last}, which gs2 match plays" if last.exists() else ""
            lines.append(f"The run is in {output}: more --minutes or --games continue from there{words}.")
        return tuple(lines)

    def responder(self, method: str) -> tuple[str, float, dict[str, Any]]:
        """Return the responder's name, the seconds of its training in all, and its counters."""
        if method == "lbr":
            return searching_responder(self.model), 0.0, {}
        from blueprint.guandan.training.trainer import Trainer
        from blueprint.learning.run import RunLimits, RunManner, train
        from blueprint.learning.self_play import Setup

        last, cores = self.folder / "last.safetensors", available_cores()
        if not last.exists():
            _begin(last)
        seconds = float(read_checkpoint(last, prefix="-")[1]["seconds"])
        left = self.config.minutes - seconds / 60
        if left > 0:
            began = time.monotonic()

            def progress(row: dict[str, Any]) -> None:
                self.manner.tell(
                    f"trained: {row['decisions']:,} decisions, {time.monotonic() - began:.0f} s …"
                )

            train(
                self.folder,
                partial(
                    Trainer.begun,
                    config=RESPONDER.replace(strangers=self.model, seed=self.config.seed),
                    setup=Setup(evaluate_minutes=0.0, threads=cores),
                ),
                RunLimits(call_minutes=left),
                RunManner(
                    resume=True,
                    every=120.0,
                    keep_every=60.0,
                    progress=progress,
                    interruption=self.manner.asked,
                ),
            )
        description = read_checkpoint(last, prefix="-")[1]
        notes = {name: description[name] for name in ("generation", "decisions", "rounds")}
        return str(last), float(description["seconds"]), {**notes, "threads": cores}

    def play(self, method: str, responder: str, opponent: str) -> PlayedGames:
        met = [guandan_agent(responder), guandan_agent(opponent)]
        deals = self.config.games or (DEALS if all(one.is_quick for one in met) else SLOW_DEALS)
        name = f"deals-{met[0].fingerprint()}-{met[1].fingerprint()}.jsonl"

        def progress(result: MeetingResult) -> None:
            done = len(result.games.numbers)
            self.manner.tell(f"{method}: {done:,} of {deals:,} deals against {opponent} {result.net:+.3f} …")

        return play_match(
            Meeting("guandan", responder, opponent, deals, (self.config.seed + FRESH) % (1 << 63)),
            output=self.folder / name,
            processes=where_of(available_cores()) if self.manner.on is None else self.manner.on,
            progress=progress,
            stop=self.manner.asked or (lambda: False),
        ).games

    def notes_of(self, responder: str, played: PlayedGames, rng: np.random.Generator) -> dict[str, Any]:
        """Return the responder's name, and its share of rounds won with its interval."""
        won = estimate(played.won.mean(1), rng)
        return {"responder": responder, "won": [won.mean, won.low, won.high]}


def _claim(directory: Path, words: dict[str, Any]) -> None:
    """Write what a run is about into its directory. Raises ConfigError where it is about something else."""
    path = directory / "exploit.json"
    if not path.exists():
        if (directory / "last.safetensors").exists():
            raise ConfigError(
                f"exploit: {directory} must be empty or hold a run of gs2 exploit; it holds a network"
            )
        write_text(path, json.dumps(words, indent=1) + "\n")
        return
    try:
        found = json.loads(read_text(path))
    except ValueError:
        found = None
    if found != words:
        raise ConfigError(
            f"exploit: {directory} must be empty or hold a run against {words['agent']} with seed "
            f"{words['seed']}; it holds {found}; name another directory"
        )


def _begin(last: Path) -> None:
    """Write the responder that training begins with: the shipped network, with counters at zero.

    Raises CheckpointError if no network comes with this installation.
    """
    if not SHIPPED.is_file():
        raise CheckpointError(
            "checkpoint: this installation contains no network to start from; give a checkpoint"
        )
    tensors, description = read_checkpoint(SHIPPED)
    for word in ("export", "gate"):
        description.pop(word, None)
    counters = {"generation": 0, "decisions": 0, "rounds": 0, "seconds": 0.0, "evaluation": {}}
    write_checkpoint(last, tensors, {**description, **counters})
