"""The server: its addresses, and what each answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from gs2.guandan.review.review_presets import review_preset
from gs2.web.answers import Answer, NoSuch, answering, json_answer, name_in, object_of
from gs2.web.games.game_dialect import GameDialect
from gs2.web.games.game_play import GamePlay
from gs2.web.games.game_tables import GameTables
from gs2.web.games.seat_view import table_line
from gs2.web.guandan.match_dialect import MatchDialect
from gs2.web.guandan.match_play import MatchPlay
from gs2.web.guandan.match_state import table_row
from gs2.web.guandan.match_tables import MatchTables
from gs2.web.guard import Guard
from gs2.web.house import House
from gs2.web.pages import STATIC, index_page
from gs2.web.tables.table import P, Refused, Table
from gs2.web.tables.table_socket import Dialect, TableSocket

__all__ = ["make_app"]

SOLVE = "gs2.explore.requests:solve_request"
UNASKED = {"solve": 20.0, "review": 300.0}
"""Seconds that a job goes on while no page asks about it; one may leave a review and come back to it."""


class _Site:
    """The endpoints, around what they share."""

    def __init__(self, house: House, cache: Path | None) -> None:
        self.house, self.cache = house, cache

    async def _table(self, request: Request | WebSocket) -> Table[MatchPlay]:
        return await self.house.table(request.path_params["id"], MatchPlay)

    async def index(self, request: Request) -> Response:
        return HTMLResponse(index_page())

    async def agents(self, request: Request) -> Response:
        found = [{"name": name, "about": about} for name, about in self.house.matches.agents.items()]
        return json_answer({"agents": found})

    async def offers(self, request: Request) -> Response:
        return json_answer({"games": self.house.games.offers()})

    async def sit(self, request: Request) -> Response:
        data = await object_of(request)
        wanted, name = data.get("seat"), name_in(data)
        if wanted is not None and not _is_one_of(range(4), wanted):
            raise Refused("wrong", f"a seat is 0..3; got {wanted!r:.40}")
        seat, key = (await self._table(request)).sit(name, wanted)
        return json_answer({"seat": seat, "key": key}, 201)

    async def record(self, request: Request) -> Response:
        table = await self._table(request)
        game = request.query_params.get("game", "")
        games = len(table.play.account.games)
        if game and not (game.isdecimal() and 1 <= int(game) <= games):
            raise Refused("wrong", f"a game is 1..{games}; got {game[:20]!r}")
        if table.people and not table.play.over:
            raise Refused("closed", "the record shows every hand; it is available once the last game is over")
        return _download(table, table.play.account.record(int(game) - 1 if game else None))

    async def game_record(self, request: Request) -> Response:
        table = await self.house.table(request.path_params["id"], GamePlay)
        # rounds that are over hide nothing any more; the one in play is not among them
        return _download(table, table.play.record())

    async def review_table(self, request: Request) -> Response:
        table = await self._table(request)
        data = await object_of(request)
        results, games = table.play.account.results, len(table.play.account.games)
        game = data.get("game", results[-1].game if results else games)
        if not _is_one_of(range(1, games + 1), game):
            raise Refused("wrong", f"a game is 1..{games}; got {game!r:.40}")
        text = table.play.account.record(game - 1)
        if table.people and not table.play.over:
            if all(end.game != game for end in results):
                told = f"of game {game} none is yet" if results else "none is yet"
                raise Refused("closed", f"a review shows every hand of rounds that are over; {told}")
            text = _finished_rounds(text)
        return self._review(text, f"table {table.setup.id}", data.get("preset", "fast"))

    async def review(self, request: Request) -> Response:
        name = request.query_params.get("name", "record")[:80]
        preset = request.query_params.get("preset", "fast")
        try:
            text = (await request.body()).decode()
        except UnicodeDecodeError as error:
            raise Refused("wrong", f"a record is UTF-8 text; {error}") from None
        return self._review(text, name, preset)

    def _review(self, text: str, name: str, preset: Any) -> Response:
        if not isinstance(preset, str):
            raise Refused("wrong", f"a preset is a name; got {preset!r:.40}")
        review_preset(preset)
        return self._job("review", "gs2.guandan.review.reviewing:review_text", text, name, preset, self.cache)

    async def solve(self, request: Request) -> Response:
        return self._job("solve", SOLVE, await object_of(request))

    def _job(self, kind: str, function: str, *arguments: Any) -> Response:
        """Return a new job, about which the page asks from now on."""
        job = self.house.jobs.start(kind, function, *arguments, unasked=UNASKED[kind])
        return json_answer(job.to_json(), 202)

    async def games(self, request: Request) -> Response:
        return await self._ask(request, "gs2.explore.requests:explorable_games")

    async def infosets(self, request: Request) -> Response:
        words = request.query_params
        most = words.get("most", "200")
        if not most.isdecimal() or len(most) > 9:
            raise Refused("wrong", f"most is a whole number; got {most[:20]!r}")
        wanted = (request.path_params["game"], words.get("grep", ""), int(most))
        return await self._ask(request, "gs2.explore.requests:infoset_names", *wanted)

    async def _ask(self, request: Request, function: str, *arguments: Any) -> Response:
        """Return a quick answer of the worker that solves, which keeps the games' trees.

        The job ends with its client: where the connection is gone, nobody reads the answer.
        """
        jobs = self.house.jobs
        job = jobs.start("solve", function, *arguments)
        ended, gone = asyncio.ensure_future(jobs.ended(job)), asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({ended, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            gone.cancel()
            jobs.cancel(job)  # nothing where it has ended
        if job.status != "done":
            raise Refused("wrong", job.error or job.status)
        return json_answer(job.result)

    async def job(self, request: Request) -> Response:
        found = self.house.jobs.jobs.get(request.path_params["id"])
        if found is None:
            raise NoSuch("this job does not exist; request it again")
        if request.method == "DELETE":
            self.house.jobs.cancel(found)
        self.house.jobs.ask(found)
        return json_answer(found.to_json())


def _routes(
    house: House,
    path: str,
    kind: MatchTables | GameTables,
    play: type[P],
    dialect: Dialect[P],
    row: Callable[[Table[P]], dict[str, Any]],
) -> list[BaseRoute]:
    """Return the routes that tables of each kind have: their list, a new one, and connections.

    path: of the kind, behind /api/ and /ws/. row: makes a line of the list.
    """

    async def tables(request: Request) -> Response:
        return json_answer({"tables": [row(table) for table in house.newest(play)]})

    async def create(request: Request) -> Response:
        data = await object_of(request)
        return json_answer(await house.create(kind, data, name_in(data)), 201)

    async def connect(socket: WebSocket) -> None:
        try:
            table = await house.table(socket.path_params["id"], play)
        except NoSuch:
            await socket.close(4404, "no such table")
        except Refused as error:
            await socket.close(1013, str(error))  # try again later
        else:
            await TableSocket(table, socket, dialect).run()

    return [
        Route(f"/api/{path}", answering(tables), methods=["GET"]),
        Route(f"/api/{path}", answering(create), methods=["POST"]),
        WebSocketRoute(f"/ws/{path}/{{id}}", connect),
    ]


def _download(table: Table[Any], text: str) -> Response:
    name = f'attachment; filename="gs2-{table.setup.id}.jsonl"'
    return PlainTextResponse(text, headers={"content-disposition": name})


async def _gone(request: Request) -> None:
    """Wait until a client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _is_one_of(numbers: range, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in numbers


def _finished_rounds(text: str) -> str:
    """Return a record without the round in play: its hands are not yet for everybody."""
    lines = text.splitlines(keepends=True)
    if not lines[-1].startswith('{"payoffs"'):
        lines = lines[: max(k for k, line in enumerate(lines) if line.startswith('{"chance"'))]
    return "".join(lines)


def make_app(
    house: House, *, token: str | None = None, cache: Path | None = None
) -> Callable[..., Awaitable[None]]:
    """Return the server as an ASGI application.

    house: its tables; they are opened and closed with the server. token: what visitors must show,
    None on loopback. cache: folder for reviews, None for none.
    """
    site = _Site(house, cache)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await house.open()
        try:
            yield
        finally:
            house.close()

    def route(path: str, answer: Answer, *methods: str) -> Route:
        return Route(path, answering(answer), methods=list(methods))

    app = Starlette(
        routes=[
            route("/", site.index, "GET"),
            Mount("/static", StaticFiles(directory=STATIC)),
            route("/api/agents", site.agents, "GET"),
            *_routes(house, "tables", house.matches, MatchPlay, MatchDialect(house.matches), table_row),
            *_routes(house, "game-tables", house.games, GamePlay, GameDialect(house.games), table_line),
            route("/api/game-tables/offers", site.offers, "GET"),
            route("/api/game-tables/{id}/record", site.game_record, "GET"),
            route("/api/tables/{id}/seat", site.sit, "POST"),
            route("/api/tables/{id}/record", site.record, "GET"),
            route("/api/tables/{id}/review", site.review_table, "POST"),
            route("/api/reviews", site.review, "POST"),
            route("/api/solve", site.solve, "POST"),
            route("/api/games", site.games, "GET"),
            route("/api/games/{game:path}/infosets", site.infosets, "GET"),
            route("/api/jobs/{id}", site.job, "GET", "DELETE"),
        ],
        lifespan=lifespan,
    )
    return Guard(app, token=token)
