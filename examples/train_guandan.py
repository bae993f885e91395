"""Train a GuanDan network from nothing by self-play, and see what it wins against simple agents.

    python examples/train_guandan.py runs/mine --minutes 20

The folder can be trained on later: run the same command again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from blueprint import NetworkConfig, TrainConfig
from blueprint.guandan.training.trainer import Trainer
from blueprint.learning.run import RunLimits, RunManner, train
from blueprint.learning.self_play import Setup


def main(folder: Path, minutes: float = 20.0, rounds: int = 100, small: bool = False) -> dict[str, float]:
    """Return the results of the trained network on `rounds` deals against the random and the greedy agent.

    small: a tiny network and few rounds a generation, to see that everything works.
    """
    sizes = NetworkConfig(state=16, blocks=1, action=16, critic=16) if small else NetworkConfig()
    config = TrainConfig(rounds=4, batch=64) if small else TrainConfig()
    network = None if (folder / "last.safetensors").exists() else sizes
    trainer = train(
        folder,
        lambda path: Trainer.begun(path, network, config, Setup(evaluate_minutes=0)),
        RunLimits(call_minutes=minutes),
        RunManner(
            resume=True,
            progress=lambda row: print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True),
        ),
    )
    results = trainer.evaluate(("random", "greedy"), rounds)
    print(results)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train a GuanDan network by self-play.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=100, help="deals of the evaluation at the end")
    parser.add_argument("--small", action="store_true", help="a tiny network, to try it out")
    options = parser.parse_args()
    main(options.folder, options.minutes, options.rounds, options.small)
