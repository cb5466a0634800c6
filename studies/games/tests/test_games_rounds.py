"""People play games: what each is asked and shown, what a round pays, how a negotiation ends, and how a run resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each
from standins import Scrambled

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Event
from parley.model.files import RECORD
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.games.events import Expected, Moved, Settled
from parley.studies.games.rules import (
    Play,
    ending,
    package_points,
    round_points,
    selfish_package,
    selfish_points,
    summary_outcome,
)

GAMES = ("trust_game", "prisoners_dilemma", "public_goods", "negotiation")


def game(name: str, **settings: object) -> Scenario:
    return load_preset(name, {"repetitions": 2, "rounds": 3, "llm": "oracle"} | settings)


def record(scenario: Scenario, backend: Any = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()
    return list(recorder.events)


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def playing(**values: str) -> tuple[Fake, list[Request]]:
    """A backend that answers each kind of move with a fixed text, and expectations with 5; and all that it was asked."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return values[request.facts["move"]] if request.purpose == "move" else "5"

    return Fake(answer), asked


PAID = [
    ("trust", [4, 5], [12, 6]),
    ("trust", [0, None], [10, 0]),
    ("trust", [4, None], [None, None]),
    ("trust", [None, None], [None, None]),
    ("prisoners", [10, 10], [3, 3]),
    ("prisoners", [10, 0], [0, 5]),
    ("prisoners", [0, 0], [1, 1]),
    ("public_goods", [10, 0, 0, 10], [8, 18, 18, 8]),
]


@check_each(("name", "moves", "points"), PAID)
def test_rounds_pay_by_hand(name: str, moves: list[float | None], points: list[float | None]) -> None:
    """A missing move makes the round unknown, and never counts as 0."""
    assert round_points(name, moves) == pytest.approx(points)


def test_selfish_players_by_hand() -> None:
    """Of packages that leave the other 3 or more, the first player likes (high price, middle date) best: 7 and 3."""
    assert package_points(8) == (7, 3)
    assert (selfish_package(0), selfish_package(1)) == (8, 4)
    assert [selfish_points(name, 4) for name in ("trust", "prisoners", "public_goods", "negotiation")] == [
        10,
        2,
        40,
        10,
    ]


def test_endings_by_hand() -> None:
    offer = Play(1, 1, "offer", 7)
    assert ending([offer, Play(1, 2, "response", 1)], False) == ("agreement", 7)
    assert ending([offer, Play(1, 2, "response", 2)], False) == ("", None)
    assert ending([offer, Play(1, 2, "response", 2)], True) == ("authority", None)
    assert ending([offer, Play(1, 2, "response", 3)], False) == ("walked away", None)
    assert ending([offer, Play(1, 2, "response", None)], False) == ("", None)
    trust = [Play(1, 1, "sent", 5), Play(1, 2, "returned", 2), Play(2, 1, "sent", 0), Play(2, 2, "returned", None)]
    assert summary_outcome("trust", trust) == "trust abused"
    assert summary_outcome("trust", [trust[0], Play(1, 2, "returned", None)]) == ""
    assert summary_outcome("prisoners", [Play(1, 1, "choice", 10), Play(1, 2, "choice", None)]) == ""


def test_expectations_come_before_any_move_and_moves_are_shown() -> None:
    """The second player reads what the first one sent; in the next round both read the round before. Nothing is read early."""
    backend, asked = playing(sent="4", returned="5")
    events = record(game("trust_game", repetitions=1, rounds=2, horizon="1,2,9"), backend)
    purposes = [request.purpose for request in asked]
    assert purposes == ["expectation"] * 8 + ["move"] * 4  # two people, two rounds of the horizon, self and other
    texts = ["\n".join(message.content for message in request.messages) for request in asked]
    assert not any("sent 4 points" in text for text in texts[:9])
    assert "sent 4 points, so you now have 12" in texts[9]
    assert "Round 1:" in texts[10]
    assert "returned 5 of every 10 points" in texts[10]
    assert all("The number of rounds is 2" in text for text in texts)
    assert [(one.about, one.move, one.ahead) for one in of(Expected, events)][:4] == [
        ("self", "sent", 1), ("self", "returned", 1), ("other", "returned", 1), ("other", "sent", 1)
    ]  # fmt: skip
    assert [one.points for one in of(Settled, events)] == [(12, 6)] * 2


def test_conditions_change_only_their_words() -> None:
    """An unannounced end hides the number of rounds; an imposed belief is read by its player alone."""
    backend, asked = playing(sent="4", returned="5")
    record(game("trust_game", repetitions=1, rounds=2, end="unannounced", beliefs="imposed", imposed=8), backend)
    openings = ["\n".join(message.content for message in request.messages) for request in asked]
    assert all("No player knows after which round" in text for text in openings)
    assert sum("who sends about 8" in text for text in openings) == len(openings) / 2
    assert not any("who sends about 8" in text and "who returns about 8" in text for text in openings)
    backend, asked = playing(sent="4", returned="5")
    record(game("trust_game", repetitions=1, rounds=2, beliefs="none"), backend)
    assert {request.purpose for request in asked} == {"move"}


def test_players_who_move_at_once_do_not_see_each_other() -> None:
    backend, asked = playing(choice="A")
    record(game("prisoners_dilemma", repetitions=1, rounds=1, beliefs="none"), backend)
    assert all(request.answers == ("A", "B") for request in asked)
    assert not any(
        " chose A" in message.content.replace("one who chose A", "") for one in asked for message in one.messages
    )


def test_missing_moves_are_missing() -> None:
    """An unreadable amount: the other is not asked, and the round has no points. After zero sent there is nothing to return."""
    backend, asked = playing(sent="about 40", returned="5")
    events = record(game("trust_game", repetitions=1, rounds=1, beliefs="none"), backend)
    moves = of(Moved, events)
    assert [one.value for one in moves] == [None, None]
    assert moves[0].reason not in (None, "no_offer")
    assert (moves[1].reason, moves[1].asked) == ("no_offer", 0)
    assert of(Settled, events)[0].points == (None, None)
    assert {request.facts["move"] for request in asked} == {"sent"}
    backend, _ = playing(sent="0", returned="5")
    events = record(game("trust_game", repetitions=1, rounds=1, beliefs="none"), backend)
    assert [one.reason for one in of(Moved, events)] == [None, "nothing_sent"]
    assert of(Settled, events)[0].points == (10, 0)


def test_a_failed_call_has_its_name() -> None:
    backend = Fake(lambda request: Reply.failed("timeout"))
    moves = of(Moved, record(game("public_goods", repetitions=1, rounds=1), backend))
    assert {one.reason for one in moves} == {"timeout"}


@check_each(("response", "outcome", "rounds"), [("1", "agreement", 1), ("3", "walked away", 1), ("2", "authority", 3)])
def test_a_negotiation_ends_once(response: str, outcome: str, rounds: int) -> None:
    """After an ending no one is asked again; the one who refused makes the next offer."""
    backend, asked = playing(offer="7", response=response)
    events = record(game("negotiation", repetitions=1), backend)
    settled = of(Settled, events)
    assert (len(settled), settled[-1].outcome, settled[-1].ended) == (rounds, outcome, True)
    assert len(asked) == 2 * rounds
    offers = [one.agent for one in of(Moved, events) if one.move == "offer"]
    assert len(set(offers)) == min(rounds, 2)


def test_a_bounded_note_is_asked_before_a_move_and_read_in_its_prompt() -> None:
    events = record(game("negotiation", repetitions=1, think="bounded"))
    notes = [event for event in events if event.kind == "private"]
    assert len(notes) == len(of(Moved, events))
    assert all(note.text for note in notes)


@check_each("name", GAMES)
def test_the_same_seed_gives_the_same_record_in_any_order_of_replies(name: str) -> None:
    def answer(request: Request) -> str:
        return request.answers[request.seed % len(request.answers)]

    assert record(game(name), Fake(answer)) == record(game(name), Scrambled(answer, 7))
    assert record(game(name)) == record(game(name))


def test_a_game_in_german_has_german_words() -> None:
    backend, asked = playing(sent="4", returned="5")
    record(game("trust_game", repetitions=1, rounds=2, society="germany"), backend)
    assert all("Punkte" in request.messages[-1].content for request in asked)


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """The same bytes, and nothing is asked twice."""
    scenario, whole, broken = game("trust_game"), tmp_path / "whole", tmp_path / "broken"
    run_scenario(RunSpec(scenario, whole, ()))
    calls = 0

    def kill(_: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_scenario(RunSpec(scenario, broken, ()), kill)
    run_scenario(RunSpec(scenario, broken, ()))
    assert (whole / RECORD).read_bytes() == (broken / RECORD).read_bytes()


REFUSED = [
    ("trust_game", {"size": 3}, "set size=2"),
    ("negotiation", {"beliefs": "elicited"}, "set beliefs=none"),
    ("trust_game", {"horizon": "0"}, "horizon must name rounds"),
    ("trust_game", {"horizon": "3,9", "rounds": 2}, "does not name a round of this game: set horizon=1, or --rounds 3"),
    ("public_goods", {"factor": 4}, "factor must be below size"),
    ("trust_game", {"imposed": 11}, "imposed is 11, but must be between 0 and 10"),
]


@check_each(("name", "settings", "said"), REFUSED)
def test_settings_that_make_no_sense_are_refused_in_one_line(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        game(name, **settings)
