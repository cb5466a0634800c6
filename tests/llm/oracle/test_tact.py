"""The planted law of tact: public lines go toward the audience by the points of their frame, and private ratings stay."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.agents.language import load_language
from parley.agents.traits import Traits, role_of
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.laws import Laws
from parley.llm.backends.oracle.speech_laws import FRAMES, public_grade
from parley.llm.errors import UserError


@check_each(
    ("own", "audience", "points", "grade"),
    [
        (8.0, 3.0, 2.0, 6.0),
        (3.0, 8.0, 2.0, 5.0),
        (4.0, 3.0, 2.0, 3.0),  # not past the audience
        (8.0, None, 2.0, 8.0),
        (5.0, 5.0, 2.0, 5.0),
        (9.5, 3.0, -2.0, 10.0),  # away from it, and on the scale
    ],
)
def test_public_grade_by_hand(own: float, audience: float | None, points: float, grade: float) -> None:
    assert public_grade(own, audience, points) == grade


def test_the_option_reads_points_by_frame() -> None:
    """A law that is planted is in the record's header; without one nothing is added to it."""
    assert open_spec("oracle,tact=reward:2+order:-1").identity["tact"] == {"reward": 2.0, "order": -1.0}
    assert "tact" not in open_spec("oracle").identity
    assert Laws().planted() == {}


@check_each(
    ("spec", "words"),
    [
        ("reward", "does not have the form tact=NAME:NUMBER"),
        ("reward:11", "by -10 to 10 points"),
        ("reward:nan", "by -10"),
        ("rewards:2", "unknown frame of tact 'rewards': did you mean reward"),
    ],
)
def test_wrong_points_are_refused(spec: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        open_spec(f"oracle,tact={spec}")


@check_each("code", ["en", "de"])
def test_every_frame_is_a_sentence_of_its_own_with_requests_for_lines_alone(code: str) -> None:
    """A part would stand in the opening, and so in surveys too; the private rating must not have the frame."""
    found = [Traits(role_of(name), language=load_language(code)) for name in FRAMES]
    assert {one.part for one in found} == {""}
    assert len({one.ask for one in found}) == len(FRAMES)
    assert all(one.ask.endswith(".") for one in found)
