"""The actor that plays pieces in a process of a cluster.

The class is sent there by value, and imports gs2 only once that machine is known to have the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["PieceActor"]


class PieceActor:
    """Plays pieces, one after another, by the weights that came with them."""

    def begin(
        self,
        refusal: Callable[[], str | None],
        network: str,
        config: str,
        parcels: bytes,
        learner: tuple[str, int],
    ) -> dict[str, Any]:
        """Get ready; return "refused", why this machine must not play or None, and where it is ("place").

        network, config: what is trained, as JSON. parcels: of the members of the league, pickled. learner:
        its machine and niceness; it goes first where it shares that machine with actors.
        """
        import os
        import platform

        found = {"place": f"{platform.node()}, process {os.getpid()}", "refused": refusal()}
        if found["refused"] is None:
            self._prepare(network, config, parcels)
            if learner[0] == platform.node():
                from games.support.work.priority import step_behind

                step_behind(learner[1])
        return found

    def _prepare(self, network: str, config: str, parcels: bytes) -> None:
        import json
        import pickle

        import torch

        from blueprint.guandan.play.selfplay import Scratch
        from blueprint.guandan.train_config import NetworkConfig, TrainConfig
        from blueprint.guandan.training.dmc import Learner
        from games.support.work.carried import unpack_parcels

        unpack_parcels(pickle.loads(parcels))
        torch.set_num_threads(1)
        made = NetworkConfig.from_json(json.loads(network)), TrainConfig.from_json(json.loads(config))
        self.learner = Learner(*made, torch.device("cpu"))
        self.scratch = Scratch()
        self.version = -1
        self.judge: Any = None

    def play(self, piece: Any, version: int, weights: dict[str, Any]) -> bytes:
        """Return the record of a piece, played by these weights.

        version: of the weights; those of the version that is here already are not looked at.
        """
        from blueprint.guandan.training.actors.pieces import PieceGame
        from blueprint.guandan.training.actors.records import pack_record

        if version != self.version:
            self.learner.take_weights(weights)
            self.version, self.judge = version, self.learner.judge()
        game = PieceGame(piece, self.learner, self.judge)
        return pack_record(game.play(self.scratch, lambda: False))
