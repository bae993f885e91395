"""What strangers may not do: other sites, other names, wrong tokens, nonsense, and too much of anything."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gs2.web.guard import Guard
from tests.patience import PATIENCE, SHARED, amount
from tests.web.serving import Server

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PATHS = ("/", "/api/tables", "/api/offers", "/static/base.css", "/api/jobs/x", "/api/games")


def test_pages_of_other_sites_and_other_names_for_this_machine_reach_nothing(server: Server) -> None:
    table, _ = server.table(["random"] * 4, pace=10)
    line = f"{server.url.replace('http', 'ws')}/ws/tables/{table}"
    for origin in ("http://evil.example", "null", "https://127.0.0.1:1", "http://[", "file://"):
        for path in PATHS:
            assert server.http.get(path, headers={"origin": origin}).status_code == 403, (origin, path)
        made = server.http.post("/api/tables", json={"seats": ["random"] * 4}, headers={"origin": origin})
        assert made.status_code == 403
        with pytest.raises(InvalidStatus) as refused:
            connect(line, additional_headers={"Origin": origin})
        assert refused.value.response.status_code == 403
    with connect(line, additional_headers={"Origin": server.url}) as own:
        assert own.recv(10), "its own page is let in"
    for host in ("evil.example", "127.0.0.1.evil.example", "", "[", "169.254.1.1:8642"):
        for path in PATHS:
            assert server.http.get(path, headers={"host": host}).status_code in (400, 403), (host, path)


@settings(max_examples=amount(100), deadline=None)
@given(
    path=st.sampled_from([*PATHS, "/api/games/leduc_poker/infosets", "/ws/tables/x"]),
    site=st.sampled_from(["cross-site", "same-site", "same-origin", "none", "Cross-Site", "else"])
    | st.none(),
    mode=st.sampled_from(["navigate", "no-cors", "cors", "websocket"]) | st.none(),
    dest=st.sampled_from(["document", "iframe", "image", "empty"]) | st.none(),
    method=st.sampled_from(["GET", "POST", "DELETE"]),
)
def test_a_browser_that_names_another_site_starts_nothing(
    path: str, site: str | None, mode: str | None, dest: str | None, method: str
) -> None:
    reached = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["type"])
        if scope["type"] == "http":
            await PlainTextResponse("welcome")(scope, receive, send)

    said = {"site": site, "mode": mode, "dest": dest}
    headers = {"host": "localhost", **{f"sec-fetch-{name}": value for name, value in said.items() if value}}
    links = (method, path, mode, dest) == ("GET", "/", "navigate", "document")
    let_in = site in (None, "none", "same-origin") or links

    async def visit() -> None:
        guard = Guard(app, token=None)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(guard), base_url="http://localhost"
        ) as browser:
            answer = await browser.request(method, path, headers=headers)
        assert (answer.status_code, bool(reached)) == ((200, True) if let_in else (403, False))
        reached.clear()
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        await guard({"type": "websocket", "path": path, "headers": raw}, lambda: asyncio.sleep(0), keep)  # type: ignore[arg-type, return-value]
        assert bool(reached) == (site in (None, "none", "same-origin")) == (not sent)

    asyncio.run(visit())


def test_a_form_of_another_site_cannot_open_a_table(server: Server) -> None:
    before = len(server.get("/api/tables")["tables"])
    body = json.dumps({"seats": ["random"] * 4})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = server.http.post("/api/tables", content=body, headers={"content-type": kind})
        assert answer.status_code == 400 and "content-type" in answer.json()["error"]
    assert len(server.get("/api/tables")["tables"]) == before


OTHERS = st.one_of(
    st.text(st.characters(codec="latin-1", exclude_characters=";\r\n\0"), max_size=30),
    st.sampled_from(['prefs={"dark":true}', "theme=a b", "a[b]=1", "=x", "x", 'q="a\\"b', "gs2_token=wrong"]),
    st.builds("{}={}".format, st.text("ab[]{}(), @/", max_size=8), JSON.map(json.dumps)),
).filter(lambda text: not text.strip().startswith("gs2_token=s3"))
"""Cookies that other servers of this host have set."""


@settings(max_examples=amount(60), deadline=None)
@given(before=st.lists(OTHERS, max_size=3), after=st.lists(OTHERS, max_size=3), token=st.text(max_size=9))
def test_cookies_of_others_neither_let_in_nor_lock_out(
    before: list[str], after: list[str], token: str
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("welcome")(scope, receive, send)

    async def visit() -> None:
        guard = httpx.ASGITransport(Guard(app, token=f"s3{token}"))
        async with httpx.AsyncClient(transport=guard, base_url="http://here") as browser:
            welcome = await browser.get("/", params={"token": f"s3{token}"})
            ours = welcome.headers["set-cookie"].partition(";")[0]
            browser.cookies.clear()
            for mine, status in ([ours], 200), (["gs2_token=s"], 401), ([], 401):
                line = "; ".join([*before, *mine, *after]).encode("latin-1")
                answer = await browser.get("/", headers={"cookie": line})
                assert answer.status_code == status, line

    asyncio.run(visit())


def test_paths_lead_nowhere_else(server: Server) -> None:
    host = "127.0.0.1"
    for path in (
        "/static/../pages.py",
        "/static/..%2fpages.py",
        "/static/%2e%2e/%2e%2e/cli.py",
        "/static//etc/passwd",
        "/static/..%5c..%5cpages.py",
        "/static/%00",
        "/api/tables/..%2f..%2fetc%2fpasswd/record",
    ):
        with socket.create_connection((host, server.port), timeout=PATIENCE) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda line=line: line.recv(65536), b""))
        assert re.match(rb"HTTP/1.1 (400|403|404|405) ", answer), (path, answer[:80])
        assert b"import" not in answer and b"root:" not in answer, path


@settings(max_examples=amount(60), deadline=None, suppress_health_check=SHARED)
@given(data=JSON)
def test_nonsense_is_answered_in_words(server: Server, data: object) -> None:
    for path in ("/api/tables", "/api/tables/none/seat", "/api/solve"):
        answer = server.http.post(path, json=data)
        assert answer.status_code in (202, 400, 404), (path, answer.text)
        if answer.status_code != 202:
            assert answer.json()["error"]
    endless = b'{"seats":["random","random","random","random"],"pace":NaN}'
    for body in (json.dumps(data).encode()[:-1], b"\xff\xfe", b"[" * 100_000, endless):
        answer = server.http.post("/api/tables", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (201, 400), answer.text


TABLES: dict[str, dict[str, Any]] = {
    "guandan": {"seats": ["random"] * 4, "games": 1, "seed": 1, "pace": 10, "name": "Ann"},
    "kuhn_poker": {
        "seats": ["person", "random"],
        "options": {},
        "seed": 1,
        "pace": 0,
        "rotate": False,
        "name": "Ann",
    },
}


@settings(max_examples=amount(80), deadline=None, suppress_health_check=SHARED)
@given(
    asked=st.sampled_from([(game, field) for game in TABLES for field in ("game", *TABLES[game])]),
    value=JSON,
)
def test_tables_that_cannot_be_are_refused_in_words(
    server: Server, asked: tuple[str, str], value: object
) -> None:
    game, field = asked
    answer = server.http.post("/api/tables", json={"game": game, **TABLES[game], field: value})
    assert answer.status_code in (201, 400), answer.text
    if answer.status_code == 400:
        assert answer.json()["error"]
    else:
        assert field not in ("seats", "game")


WORDS = ("play", "select", "hint", "undo", "next", "pace", "open", "suggest", "pass", "round")
FIELDS = ("index", "cards", "version", "pace", "paused", "id", "open", "seat", "agent")


@settings(max_examples=amount(40), deadline=None, suppress_health_check=SHARED)
@given(
    messages=st.lists(
        st.text(max_size=60)
        | JSON.map(json.dumps)
        | st.fixed_dictionaries({"type": st.sampled_from(WORDS)}, optional=dict.fromkeys(FIELDS, JSON)).map(
            json.dumps
        ),
        min_size=1,
        max_size=12,
    )
)
@pytest.mark.parametrize(("game", "agents"), [("guandan", 3), ("doudizhu", 2)])
def test_malformed_messages_hurt_nobody(server: Server, game: str, agents: int, messages: list[str]) -> None:
    table = server.table(["person", *["random"] * agents], game=game, seed=1)
    seat = server.seat(*table)
    with suppress(ConnectionClosed):
        for message in messages:
            seat.line.send(message)
        seat.line.send(b"\x00\x01")
        while True:
            seat.hear(10)
    again = server.seat(*table)
    seats, you = again.state["table"]["seats"], again.state["table"]["you"]
    assert seats[you]["kind"] == "person"
    again.close()


def test_whoever_talks_too_much_is_cut_off(server: Server) -> None:
    table, key = server.table(["person", "random", "random", "random"], seed=1)
    seat = server.seat(table, key)
    for _ in range(30):
        seat.line.send("nonsense")
    with pytest.raises(ConnectionClosed):
        for _ in range(60):
            seat.hear(10)
    seat = server.seat(table, key)
    seat.line.send("x" * 200_000)
    with pytest.raises(ConnectionClosed):
        for _ in range(60):
            seat.hear(10)
    assert server.seat(table, key).state["table"]["you"] == 0


@pytest.mark.parametrize("declared", [True, False])
def test_a_record_of_a_hundred_megabytes_is_refused(server: Server, declared: bool) -> None:
    chunk = b'{"play":[0,["PASS","PASS","PASS"]]}\n' * 30_000

    def chunks() -> Iterator[bytes]:
        for _ in range(100 * (1 << 20) // len(chunk)):
            yield chunk

    headers = {"content-length": str(100 * (1 << 20) // len(chunk) * len(chunk))} if declared else {}
    try:
        answer = server.http.post("/api/reviews", content=chunks(), headers=headers, timeout=PATIENCE)
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        answer = None  # it came before all was sent, and the line was cut
    assert server.get("/api/offers")["games"], "the server goes on"
    assert answer is None or (answer.status_code == 413 and "8 MiB" in answer.text)


def test_the_page_runs_nothing_but_its_own_files(server: Server) -> None:
    page = server.http.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    inline = re.findall(r"<script(?![^>]*src)[^>]*>(.*?)</script>", page.text, re.S)
    assert len(inline) == 1, "the import map, whose hash the policy names"
    import hashlib

    digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    for header in ("x-content-type-options", "referrer-policy"):
        assert header in page.headers
