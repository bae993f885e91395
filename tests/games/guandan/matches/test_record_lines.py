"""Lines of a record: every event and header is read back as it was written; what is neither is refused."""

from __future__ import annotations

import json

import pytest

from games.game import GameError
from games.guandan.matches.events import Dealt
from games.guandan.matches.match import Match
from games.guandan.matches.record_lines import check_header, event_line, header_line, parse_event
from games.guandan.views.narration import random_match


def test_every_event_of_a_match_reads_back_as_it_was_written() -> None:
    kinds, level = set(), None
    for _, events in random_match(4, rounds=6, canonical=True):
        for event in events:
            if isinstance(event, Dealt):
                level = event.level
            line = event_line(event, 0 if level is None else level)
            fields = json.loads(line)
            kinds.add(next(iter(fields)))
            assert event_line(parse_event(fields, level), 0 if level is None else level) == line
    assert {"deal", "lead", "play", "round", "tribute", "back"} <= kinds


def test_a_header_is_read_and_one_with_a_field_missing_is_refused() -> None:
    header = json.loads(header_line(Match(3), names=["a", "b", "c", "d"], place="here"))
    check_header(header)
    assert header["names"] == ["a", "b", "c", "d"] and header["place"] == "here"
    for name in ("seed", "rules", "levels", "owner", "given", "first"):
        with pytest.raises(GameError, match=f"a header has '{name}', which is missing or wrong"):
            check_header({key: value for key, value in header.items() if key != name})
    with pytest.raises(GameError, match="version 1 of records; got 2"):
        check_header(header | {"version": 2})
