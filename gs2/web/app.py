"""The server: its addresses, and what each answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from gs2.jobs import JobsFull
from gs2.review.reviewing import reviewing_of
from gs2.web.guard import Guard, TooMuch, too_much
from gs2.web.house import House
from gs2.web.pages import STATIC, index_page
from gs2.web.tables.table import Refused, Table
from gs2.web.tables.table_socket import TableSocket

SOLVE = "gs2.explore.requests:solve_request"
UNASKED = {"solve": 20.0, "review": 300.0}
"""Seconds that a job goes on while no page asks about it; one may leave a review and come back to it."""


Answer = Callable[[Request], Awaitable[Response]]
LONGEST_NAME = 40


def json_answer(data: Any, status: int = 200) -> Response:
    """Return an answer that holds plain data."""
    # NaN is no JSON; nothing of ours should send one
    return Response(json.dumps(data, allow_nan=False), status, media_type="application/json")


def answering(answer: Answer) -> Answer:
    """Return an endpoint whose refusals are answers, in words."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except TooMuch:
            return too_much()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except JobsFull as error:
            return json_answer({"error": str(error), "code": "busy"}, 429)
        except (ValueError, RecursionError) as error:
            code = error.code if isinstance(error, Refused) else "wrong"
            return json_answer({"error": str(error), "code": code}, 404 if code == "missing" else 400)

    return answered


async def object_of(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request's body. Raises Refused at anything else."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        # what a page of another site may send without asking first has another type
        raise Refused("wrong", "send JSON, with content-type: application/json")
    try:
        data = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise Refused("wrong", f"the body is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise Refused("wrong", f"the body is a JSON object; got {type(data).__name__}")
    return data


def name_in(data: dict[str, Any]) -> str:
    """Return the person's name that a request gives. Raises Refused at one that is no name."""
    name = data.get("name", "")
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused("wrong", f"a name is text of at most {LONGEST_NAME} characters")
    return name.strip() or "You"


class _Site:
    """The endpoints, around what they share."""

    def __init__(self, house: House, cache: Path | None) -> None:
        self.house, self.cache = house, cache

    async def _table(self, request: Request | WebSocket) -> Table[Any]:
        return await self.house.table(request.path_params["id"])

    async def index(self, request: Request) -> Response:
        return HTMLResponse(index_page())

    async def offers(self, request: Request) -> Response:
        return json_answer({"games": self.house.offers()})

    async def tables(self, request: Request) -> Response:
        return json_answer({"tables": [table.row() for table in self.house.newest()]})

    async def create(self, request: Request) -> Response:
        data = await object_of(request)
        return json_answer(await self.house.create(data, name_in(data)), 201)

    async def connect(self, socket: WebSocket) -> None:
        try:
            table = await self._table(socket)
        except Refused as error:  # 1013: try again later
            await socket.close(4404 if error.code == "missing" else 1013, str(error))
        else:
            await TableSocket(table, socket).run()

    async def sit(self, request: Request) -> Response:
        data = await object_of(request)
        wanted, name, table = data.get("seat"), name_in(data), await self._table(request)
        seats = len(table.sitters)
        if wanted is not None and (type(wanted) is not int or wanted not in range(seats)):
            raise Refused("wrong", f"a seat is 0..{seats - 1}; got {wanted!r:.40}")
        seat, key = table.sit(name, wanted)
        return json_answer({"seat": seat, "key": key}, 201)

    async def record(self, request: Request) -> Response:
        table = await self._table(request)
        name = f'attachment; filename="gs2-{table.setup.id}.jsonl"'
        text = table.play.record(request.query_params.get("game", ""))
        return PlainTextResponse(text, headers={"content-disposition": name})

    async def review_table(self, request: Request) -> Response:
        table, data = await self._table(request), await object_of(request)
        text = table.play.record_to_review(data)
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
        reviewing_of(text, preset)
        return self._job("review", "gs2.review.reviewing:review_text", text, name, preset, self.cache)

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
            raise Refused("missing", "this job does not exist; request it again")
        if request.method == "DELETE":
            self.house.jobs.cancel(found)
        self.house.jobs.ask(found)
        return json_answer(found.to_json())


async def _gone(request: Request) -> None:
    """Wait until a client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
            route("/api/offers", site.offers, "GET"),
            route("/api/tables", site.tables, "GET"),
            route("/api/tables", site.create, "POST"),
            WebSocketRoute("/ws/tables/{id}", site.connect),
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
