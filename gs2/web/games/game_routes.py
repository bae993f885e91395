"""The addresses of games: what there is to play, tables, and their records."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from gs2.web.answers import Answer, NoSuch, answering, json_answer, name_in, object_of
from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_socket import GameSocket
from gs2.web.games.seat_view import table_line
from gs2.web.house import House
from gs2.web.tables.table import Refused

__all__ = ["game_routes"]


def game_routes(house: House) -> list[BaseRoute]:
    """Return the routes of a house of games."""
    site = _GameSite(house)

    def route(path: str, answer: Answer, *methods: str) -> Route:
        return Route(path, answering(answer), methods=list(methods))

    return [
        route("/api/game-tables/offers", site.offers, "GET"),
        route("/api/game-tables", site.tables, "GET"),
        route("/api/game-tables", site.create, "POST"),
        route("/api/game-tables/{id}/record", site.record, "GET"),
        WebSocketRoute("/ws/game-tables/{id}", site.socket),
    ]


class _GameSite:
    """The endpoints, around what they share."""

    def __init__(self, house: House) -> None:
        self.house = house

    async def offers(self, request: Request) -> Response:
        return json_answer({"games": self.house.games.offers()})

    async def tables(self, request: Request) -> Response:
        return json_answer({"tables": [table_line(table) for table in self.house.newest(GamePlay)]})

    async def create(self, request: Request) -> Response:
        data = await object_of(request)
        made = await self.house.create(self.house.games, data, name_in(data))
        return json_answer({"id": made["id"], "key": made["key"]}, 201)

    async def record(self, request: Request) -> Response:
        table = await self.house.table(request.path_params["id"], GamePlay)
        # rounds that are over hide nothing any more; the one in play is not among them
        name = f'attachment; filename="gs2-{table.setup.id}.jsonl"'
        return PlainTextResponse(table.play.record(), headers={"content-disposition": name})

    async def socket(self, socket: WebSocket) -> None:
        try:
            table = await self.house.table(socket.path_params["id"], GamePlay)
        except NoSuch:
            await socket.close(4404, "no such table")
            return
        except Refused as error:
            await socket.close(1013, str(error))  # try again later
            return
        await GameSocket(self.house, table, socket).run()
