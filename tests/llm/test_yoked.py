"""A partner that says what was said elsewhere: as late, by the same party, on the same topic, never in the same room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from data_checks import check_each

from parley.llm.backends import open_spec
from parley.llm.backends.yoked import Speaker, Yoked
from parley.llm.errors import UserError
from parley.llm.request import Message, Request, Sampling

OPENING = "This is a debate about gun violence. You are Ann; the others are Bob and Eve. Speak only for yourself."
SPEAKERS = [
    Speaker("gun violence", "democrat", ("Ann", "Bob", "Eve"), ("Own one.", "Own two.")),
    Speaker("gun violence", "democrat", ("Cem", "Bob", "Dan"), ("Early.", "Late.")),
    Speaker("gun violence", "republican", ("Cem", "Bob", "Dan"), ("Other party.",)),
    Speaker("violence", "democrat", ("Cem", "Bob", "Dan"), ("Other topic.",)),
]


def asked(turn: int = 0, voice: str = "democrat", opening: str = OPENING, **options: object) -> Request:
    own = [message for _ in range(turn) for message in (Message("user", "Go on."), Message("assistant", "Mine."))]
    return Request((Message("system", "You."), Message("user", opening), *own), Sampling(), 7, voice=voice, **options)  # type: ignore[arg-type]


def said(request: Request, speakers: list[Speaker] = SPEAKERS) -> str | None:
    return Yoked(speakers).complete([request])[0].text


def test_a_line_comes_from_another_room_as_late_in_it() -> None:
    assert said(asked(0)) == "Early."
    assert said(asked(1)) == "Late."


def test_the_seed_decides_which_room() -> None:
    """Drawn by name: the same request has the same line, and over seeds every room has its turn."""
    speakers = [Speaker("gun violence", "democrat", ("Cem", str(number)), (str(number),)) for number in range(4)]
    found = set()
    for seed in range(40):
        request = asked()
        request.seed = seed
        assert said(request, speakers) == said(request, speakers)
        found.add(said(request, speakers))
    assert found == {"0", "1", "2", "3"}


@check_each(
    "request_",
    [asked(2), asked(voice="default"), asked(opening="This is a debate about racism. You are Ann.")],
    ids=["late", "party", "topic"],
)
def test_where_nothing_fits_nothing_is_made_up(request_: Request) -> None:
    (reply,) = Yoked(SPEAKERS).complete([request_])
    assert reply.failure is not None
    assert reply.failure.name == "no_line"


def test_it_has_no_opinions() -> None:
    (reply,) = Yoked(SPEAKERS).complete([asked(answers=("0", "1"), purpose="survey")])
    assert reply.failure is not None
    assert reply.failure.name == "unscripted"


def test_a_numbered_seat_is_of_its_party() -> None:
    assert said(asked(voice="democrat 2")) == "Early."


def test_a_file_that_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "lines.json").write_text(json.dumps([{"topic": "x"}]))
    for spec in ("yoked", "yoked:no/such/file", f"yoked:{tmp_path / 'lines.json'}"):
        with pytest.raises(UserError, match="yoked needs a file"):
            open_spec(spec)
