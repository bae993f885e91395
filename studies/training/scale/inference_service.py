"""One network that answers for many processes, beside one network in each: decisions a second, and memory.

    python -m studies.training.scale.inference_service --players 2,8 --tables 1,16,256 --seconds 10

Players are actors of Ray; each plays so many rounds in lockstep, best moves alone, and asks for a move at
every decision with a choice. Either it has the shipped network itself, or it sends what is asked to one
actor that puts the questions of all players together and answers them by one batch. Both ways play in turns.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import ExitStack
from typing import Any

import click

from gs2.commands.common import COUNT, SEED, print_json
from gs2.commands.groups import run_alone

__all__ = ["inference_service"]

WAIT = 0.002
"""Seconds that the first question of a batch waits for others."""


class Service:
    """Answers the questions of many players by one network, a batch at a time."""

    def __init__(self, players: int) -> None:
        """Take how many may ask at once: with all their questions there, a batch waits no longer."""
        import threading

        import torch

        from blueprint.guandan.network.inference import load_inference

        torch.set_num_threads(1)
        self.network = load_inference(None, critic=False)
        self.players = players
        self.asked: list[Any] = []
        self.batches = self.questions = 0
        self.changed = threading.Condition()
        threading.Thread(target=self._serve, daemon=True).start()

    def choose(self, states: Any, seats: Any, offsets: Any, actions: Any) -> Any:
        """Return the best move of each decision, [n]; states: [n] those asked about."""
        from concurrent.futures import Future

        answer: Future[Any] = Future()
        with self.changed:
            self.asked.append(((states, seats, offsets, actions), answer))
            self.changed.notify_all()
        return answer.result()

    def _serve(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.asked)
                self.changed.wait_for(lambda: len(self.asked) >= self.players, WAIT)
                asked, self.asked = self.asked, []
            try:
                found = self._answered([question for question, _ in asked])
            except BaseException as error:
                for _, answer in asked:
                    answer.set_exception(error)
                continue
            for (_, answer), choice in zip(asked, found, strict=True):
                answer.set_result(choice)

    def _answered(self, questions: list[Any]) -> list[Any]:
        import numpy as np

        from blueprint.protocol import Decisions
        from blueprint.soft_choices import draw_soft
        from blueprint.structured import join
        from games.ragged import Ragged

        counts = np.concatenate([np.diff(offsets) for _, _, offsets, _ in questions])
        states = join([one[0] for one in questions])
        table = Ragged.from_counts(counts, join([one[3] for one in questions]))
        decisions = Decisions.of(states, table, np.concatenate([one[1] for one in questions]))
        scores = self.network.advantages(decisions)
        choice, _ = draw_soft(scores, decisions.offsets, 0.0, 0.0, np.random.default_rng(0))
        self.batches, self.questions = self.batches + 1, self.questions + len(states)
        return np.split(choice, np.cumsum([len(one[0]) for one in questions])[:-1])

    def told(self) -> dict[str, float]:
        """Return its memory in MB, its processor time, and how many batches and decisions it has answered."""
        from studies.training.scale.processes import process_rows

        numbers = {"batches": self.batches, "questions": self.questions}
        return {"mb": process_rows()[0]["private"], "processor": time.process_time()} | numbers


class Player:
    """Plays rounds with a network of its own, or asks a service."""

    def __init__(self, service: Any, seed: int) -> None:
        """Take the service, or None, and the seed of the cards."""
        import numpy as np
        import torch

        from blueprint.guandan.play.quick_agents import load_quick_agent
        from blueprint.guandan.play.selfplay import Scratch

        torch.set_num_threads(1)
        self.rng, self.scratch = np.random.default_rng(seed), Scratch()
        self.agent = self._ask if service is not None else load_quick_agent("blueprint", self.rng)
        self.service = service

    def _ask(self, decisions: Any) -> Any:
        import numpy as np
        import ray

        rows = np.array(decisions.states[decisions.rows])
        told = (rows, decisions.seats.copy(), decisions.offsets.copy(), np.array(decisions.actions))
        return ray.get(self.service.choose.remote(*told))

    def play(self, tables: int, seconds: float) -> dict[str, float]:
        """Return decisions a second, processor time a decision, and this process's memory in MB.

        tables: rounds in lockstep.
        """
        from blueprint.guandan.play.deals import deal_rounds
        from blueprint.guandan.play.selfplay import play_rounds
        from studies.training.scale.processes import process_rows

        begin, busy, decisions = time.perf_counter(), time.process_time(), 0
        while not decisions or time.perf_counter() - begin < seconds:
            rounds = deal_rounds(tables, self.rng, tribute=0.5)
            decisions += play_rounds(rounds, [self.agent], self.scratch, record=False).steps
        took, busy = time.perf_counter() - begin, time.process_time() - busy
        return {
            "pace": decisions / took,
            "decisions": decisions,
            "processor": busy,
            "mb": process_rows()[0]["private"],
        }


@click.command("inference-service")
@click.option("--players", default="2,8", show_default=True, help="Processes that play.")
@click.option("--tables", default="1,16,256", show_default=True, help="Rounds in lockstep, a player.")
@click.option("--turns", type=COUNT, default=3, show_default=True)
@click.option(
    "--seconds", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="Seconds of a turn."
)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def inference_service(
    players: str, tables: str, turns: int, seconds: float, seed: int, as_json: bool
) -> None:
    """Print the pace and the memory of players with a network each and with one for all, in turns."""
    from games.support.work.ray_cluster import import_ray

    rows: list[dict[str, Any]] = []
    os.environ.setdefault("RAY_worker_niceness", "0")  # nobody here is to give way to other programs
    with ExitStack() as stack:
        ray = import_ray()
        options = {
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
            "logging_level": logging.ERROR,
        }
        ray.init("local", num_cpus=2, **options)
        stack.callback(ray.shutdown)
        for number in map(int, players.split(",")):
            company = _Company(ray, number, seed)
            for rounds in map(int, tables.split(",")):
                company.play(rounds, 0.01)  # kernels
                found = [
                    row | {"turn": turn} for turn in range(turns) for row in company.play(rounds, seconds)
                ]
                rows += found
                for way in ("own", "service"):
                    click.echo(_line([row for row in found if row["way"] == way]), err=as_json)
            company.end()
    if as_json:
        print_json(rows)


def _line(rows: list[dict[str, Any]]) -> str:
    pace = sum(row["pace"] for row in rows) / len(rows)
    core = sum(row["decisions"] for row in rows) / sum(row["processor"] for row in rows)
    row = rows[-1]
    return (
        f"{row['players']} players, {row['tables']:3} rounds each, {row['way']:8} {pace:9,.0f} decisions/s, "
        f"{core:9,.0f} a second of processor time, {row['mb']:7,.0f} MB in all, {row['batch']:6.1f} "
        "decisions a batch"
    )


class _Company:
    """Players of both ways, and their service."""

    def __init__(self, ray: Any, number: int, seed: int) -> None:
        self.ray, self.number = ray, number
        made = ray.remote(num_cpus=0)(Player)
        self.service = ray.remote(num_cpus=0, max_concurrency=number + 2)(Service).remote(number)
        self.ways = {
            way: [made.remote(service, seed + k) for k in range(number)]
            for way, service in (("own", None), ("service", self.service))
        }

    def play(self, tables: int, seconds: float) -> list[dict[str, Any]]:
        """Return a row for each way, one after the other."""
        rows = []
        for way, players in self.ways.items():
            before = self.ray.get(self.service.told.remote())
            told = self.ray.get([player.play.remote(tables, seconds) for player in players])
            after = self.ray.get(self.service.told.remote())
            row: dict[str, Any] = {"players": self.number, "tables": tables, "way": way, "batch": 0.0}
            row |= {name: sum(one[name] for one in told) for name in ("pace", "decisions", "processor", "mb")}
            if way == "service":
                row["mb"] += after["mb"]
                row["processor"] += after["processor"] - before["processor"]
                batches = after["batches"] - before["batches"]
                row["batch"] = (after["questions"] - before["questions"]) / max(batches, 1)
            rows.append(row)
        return rows

    def end(self) -> None:
        """End all of them."""
        for actor in (self.service, *self.ways["own"], *self.ways["service"]):
            self.ray.kill(actor)


if __name__ == "__main__":
    run_alone(inference_service)
