"""What every address of the server answers with: JSON, and refusals in words."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from gs2.jobs import JobsFull
from gs2.web.guard import TooMuch, too_much
from gs2.web.tables.table import Refused

__all__ = ["Answer", "NoSuch", "answering", "json_answer", "name_in", "object_of"]

Answer = Callable[[Request], Awaitable[Response]]

LONGEST_NAME = 40


class NoSuch(LookupError):
    """Something that is asked for is not there."""


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
        except NoSuch as error:
            return json_answer({"error": error.args[0], "code": "missing"}, 404)
        except JobsFull as error:
            return json_answer({"error": str(error), "code": "busy"}, 429)
        except Refused as error:
            return json_answer({"error": str(error), "code": error.code}, 400)
        except (ValueError, RecursionError) as error:
            return json_answer({"error": str(error), "code": "wrong"}, 400)

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
