"""How exploitable a GuanDan agent is at least: a network trained to beat it, and search that knows it.

    report = exploit_guandan("blueprint", Hunt(minutes=60), Path("runs/responder"))

The trained responder starts from the shipped network and goes on by the trainer of
`blueprint.guandan.training`, with the frozen agent on the other side of every round. An agent that searches
is too slow for that: its responder is trained against its network, and measured against both. Deals of the
measurement are fresh. Both sides of every deal are played, so what the cards gave cancels, and the
responder's mean in levels a round is a lower bound.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from blueprint.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from blueprint.guandan import SHIPPED
from blueprint.guandan.play.quick_agents import RULE_AGENTS
from blueprint.guandan.train_config import TrainConfig
from games.guandan.rounds.round import GuanDan
from games.support.bootstrap import estimate
from games.support.configuration import ConfigError, Configuration, integer, one_of, real
from games.support.files import check_folder, read_text, write_text
from games.support.interruption import Interruption
from games.support.work.where import Place, where_of
from gs2.guandan.agent_families import check_agent, guandan_agent
from gs2.play.agent_names import parse_agent
from gs2.play.arena import Meeting, MeetingResult, play_match
from gs2.play.exploit.bounds import LowerBound, sampled_bound
from gs2.play.exploit.measure import ExploitReport

__all__ = ["RESPONDER", "GuanDanReport", "Hunt", "exploit_guandan", "model_of", "searching_responder"]

METHODS = ("lbr", "trained")
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


@attrs.frozen(slots=False)
class Hunt(Configuration):
    """How a lower bound is looked for.

    method: "lbr", search whose rollouts are played by the agent's own network; "trained"; "both".
    minutes: of training in all, what came before a resume included.
    deals: that the responder is measured on; None for `DEALS`, or `SLOW_DEALS` where somebody searches.
    threads: that play and learn; processes: that measure.
    seed: of everything random.
    """

    label: ClassVar[str] = "exploit"

    method: str = attrs.field(default="both", validator=one_of((*METHODS, "both")))
    minutes: float = attrs.field(default=60.0, validator=real(0, above=True))
    deals: int | None = attrs.field(default=None, validator=integer(2, optional=True))
    threads: int = attrs.field(default=1, validator=integer(1))
    processes: int = attrs.field(default=1, validator=integer(1))
    seed: int = attrs.field(default=0, validator=integer(0, (1 << 62) - 1))


@dataclass(frozen=True)
class GuanDanReport(ExploitReport):
    """What was found about an agent of GuanDan, in levels a round.

    knows: whether the searching responder's rollouts are played by the agent's own network; None without it.
    complete: whether everything that was asked for was done.
    """

    knows: bool | None = None
    complete: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        return {**super().to_json(), "knows": self.knows, "complete": self.complete}


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


def exploit_guandan(
    agent: str,
    config: Hunt,
    directory: Path,
    *,
    tell: Callable[[str], None] = lambda words: None,
    asked: Interruption | None = None,
    on: Place | None = None,
) -> GuanDanReport:
    """Return what responders gain at least against an agent, in levels a round.

    directory: of the run; gets the responder as `last.safetensors`, a line for each generation of training
        and the deals played. The same call goes on from there: training up to `minutes` in all, and the deals
        left.
    tell: called with what is being done. asked: interruption that ends the run with what there is so far.
    on: where the responders are measured, None for `processes` of this machine; they are trained here.
    Raises UnknownAgent for a name that no agent has, ConfigError for the directory of another run, LockHeld
    where another process uses it.
    """
    check_agent(agent)
    model = model_of(agent)
    methods = METHODS if config.method == "both" else (config.method,)
    directory = check_folder(directory)
    told = guandan_agent(model).fingerprint()
    _claim(directory, {"agent": agent, "model": model, "model_is": told, "seed": config.seed})
    place = where_of(config.processes) if on is None else on
    run = _Run(agent, model, config, directory, tell, asked, place)
    bounds: list[LowerBound] = []
    for method in methods:
        if run.stopped:
            break
        name, seconds, notes = run.trained() if method == "trained" else (searching_responder(model), 0.0, {})
        bounds += run.measured(method, name, seconds, notes)
    knows = model not in RULE_AGENTS if "lbr" in methods else None
    found = ("guandan", agent, model, GuanDan.payoff_range, tuple(bounds), None, config)
    return GuanDanReport(*found, knows=knows, complete=not run.stopped)


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


@dataclass(eq=False)
class _Run:
    """A run in its directory: who is told of it, who may end it, and where its deals are played."""

    agent: str
    model: str
    config: Hunt
    directory: Path
    tell: Callable[[str], None]
    asked: Interruption | None
    place: Place

    @property
    def stopped(self) -> bool:
        """Whether it was interrupted."""
        return self.asked is not None and self.asked.stop

    def trained(self) -> tuple[str, float, dict[str, Any]]:
        """Return the responder's name, the seconds of its training in all, and its counters."""
        from blueprint.guandan.training.trainer import Setup, Trainer
        from blueprint.learning.run import RunLimits, RunManner, train

        last = self.directory / "last.safetensors"
        if not last.exists():
            _begin(last)
        seconds = float(read_checkpoint(last, prefix="-")[1]["seconds"])
        left = self.config.minutes - seconds / 60
        if left > 0:
            began = time.monotonic()

            def progress(row: dict[str, Any]) -> None:
                self.tell(f"trained: {row['decisions']:,} decisions, {time.monotonic() - began:.0f} s …")

            train(
                self.directory,
                partial(
                    Trainer.begun,
                    config=RESPONDER.replace(strangers=self.model, seed=self.config.seed),
                    setup=Setup(evaluate_minutes=0.0, threads=self.config.threads),
                ),
                RunLimits(call_minutes=left),
                RunManner(
                    resume=True, every=120.0, keep_every=60.0, progress=progress, interruption=self.asked
                ),
            )
        description = read_checkpoint(last, prefix="-")[1]
        notes = {name: description[name] for name in ("generation", "decisions", "rounds")}
        return str(last), float(description["seconds"]), notes

    def measured(
        self, method: str, responder: str, seconds: float, notes: dict[str, Any]
    ) -> list[LowerBound]:
        """Return what fresh deals say of a responder, against the model and the agent."""
        bounds = []
        seed = (self.config.seed + FRESH) % (1 << 63)
        for opponent in dict.fromkeys((self.model, self.agent)):
            met = [guandan_agent(responder), guandan_agent(opponent)]
            deals = self.config.deals or (DEALS if all(one.is_quick for one in met) else SLOW_DEALS)
            name = f"deals-{met[0].fingerprint()}-{met[1].fingerprint()}.jsonl"

            def progress(result: MeetingResult, met: str = opponent, wanted: int = deals) -> None:
                done = len(result.games.numbers)
                self.tell(f"{method}: {done:,} of {wanted:,} deals against {met} {result.net:+.3f} …")

            found = play_match(
                Meeting("guandan", responder, opponent, deals, seed),
                output=self.directory / name,
                processes=self.place,
                progress=progress,
                stop=(lambda: False) if self.asked is None else self.asked,
            ).games
            if len(found.payoffs) >= 2:
                rng = np.random.default_rng([self.config.seed, FRESH])
                won = estimate(found.won.mean(1), rng)
                told = {**notes, "responder": responder, "won": [won.mean, won.low, won.high]}
                bounds.append(sampled_bound(method, opponent, found.payoffs, rng, seconds, told))
            if self.stopped:
                break
        return bounds


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
