"""A chain of survey questions: emotion, then the attitude, then the act, each with the answers before it in the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from data_checks import check_each

from parley.agents.probe import scales
from parley.llm.backends.oracle import open_backend
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Acted, Called, Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset

Small = Callable[..., Scenario]
EMOTION = {"also": "valence,arousal", "chain": "valence,arousal,attitude"}
FEELS, ANSWERED = "Right now you feel ", 'Your last answer to the question "'
STIRRED = re.compile("You are (?:very |rather |neither )?(?:calm|worked up)")


class Watched:
    """The oracle, with all requests that it got. `unreadable`: constructs whose survey gets a reply that cannot be read."""

    in_flight = 0

    def __init__(self, *unreadable: str, society: str = "us"):
        self.oracle, self.requests, self.unreadable = (
            open_backend("", volatility=0.8, society=society),
            list[Request](),
            unreadable,
        )
        self.identity = self.oracle.identity

    def seedless(self, request: Request) -> bool:
        return self.oracle.seedless(request)

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.requests += requests
        replies = self.oracle.complete(requests)
        broken = [one.purpose == "survey" and one.facts.get("construct") in self.unreadable for one in requests]
        return [Reply("I would not know.") if bad else reply for bad, reply in zip(broken, replies, strict=True)]


def medium(**settings: str) -> Scenario:
    fields = {"size": "12", "graph": "blocks,degree=4", "rounds": "2", "repetitions": "1"}
    return load_preset("emotion_spread", fields | settings)


def run(scenario: Scenario, backend: object) -> list[object]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()  # type: ignore[arg-type]
    return recorder.events


def _told(text: str) -> tuple[bool, bool, bool]:
    """Whether a prompt reminds of valence, of arousal, of the attitude."""
    return FEELS in text, STIRRED.search(text) is not None, ANSWERED in text


def _rounds(requests: Sequence[Request]) -> list[list[Request]]:
    """The requests for acts, in a list for each round."""
    rounds: list[list[Request]] = []
    for before, one in pairwise(requests):
        if one.purpose == "act":
            rounds += [[]] if before.purpose == "survey" else []
            rounds[-1].append(one)
    return rounds


def _feels(request: Request) -> str:
    return last(request).split(FEELS)[1].split(".")[0]


def last(request: Request) -> str:
    return request.messages[-1].content


def test_without_a_chain_nothing_is_said_of_emotions(small: Small) -> None:
    """The questions alone change no prompt but their own: every call and every turn stays, and there are no more calls."""
    plain, asked = (run(small(also=also), open_backend("")) for also in ("", "valence,arousal"))
    for kind in (Utterance, Called):
        rest = [one for one in asked if isinstance(one, kind)]
        if kind is Called:
            rest = [one for one in rest if one.key in {other.key for other in plain if isinstance(other, Called)}]
        assert rest == [one for one in plain if isinstance(one, kind)]
    backend = Watched()
    run(small(also="valence,arousal"), backend)
    assert not [one for one in backend.requests if FEELS in last(one) or "state" in one.facts]


def test_emotion_comes_before_the_attitude_and_both_before_the_act() -> None:
    """Each question has the answers before it in its prompt, and every act has all of them, on a platform."""
    backend = Watched()
    run(medium(), backend)
    surveys = [one for one in backend.requests if one.purpose == "survey"]
    order = [one.facts["construct"] for one in surveys[::12]]
    assert order == ["valence", "arousal", "severity"] * 3
    told = {"valence": (False, False, False), "arousal": (True, False, False), "severity": (True, True, False)}
    for one in backend.requests:
        expected = told[one.facts["construct"]] if one.purpose == "survey" else (True, True, True)
        assert _told(last(one)) == expected, last(one)
    assert {one.purpose for one in backend.requests} >= {"survey", "act", "speech"}


def test_the_last_answer_is_told_and_never_an_older_one() -> None:
    """The label in the prompt of an act is the one of the survey just before; an answer that cannot be read is not told."""
    backend = Watched()
    events = run(medium(rounds="3"), backend)
    rated = [one for one in events if isinstance(one, Rated) and one.probe == "valence"]
    labels, (*_, acts) = scales()["valence_1_7"].labels, _rounds(backend.requests)
    latest, oldest = ({one.agent: labels[int(one.rating or 0)] for one in rated if one.round == at} for at in (2, 0))
    acting = [one.agent for one in events if isinstance(one, Acted) and one.round == 3]
    assert len(acting) > 5
    assert latest != oldest
    assert [_feels(one) for one in acts[: len(acting)]] == [latest[agent] for agent in acting]
    missing = Watched("valence")
    events = run(medium(), missing)
    assert {one.reason for one in events if isinstance(one, Rated) and one.probe == "valence"} == {"no_number"}
    assert not [one for one in missing.requests if FEELS in last(one)]
    assert [one for one in missing.requests if STIRRED.search(last(one))]


def test_a_chain_works_at_a_table_and_in_a_network(small: Small) -> None:
    """Agents who debate in turn are reminded before they speak, too; what they remember of the debate is as long as before."""
    for scenario in (
        small(**EMOTION),
        load_preset("network", {"size": "12", "rounds": "1", "repetitions": "1", **EMOTION}),
    ):
        backend = Watched()
        run(scenario, backend)
        spoken = [one for one in backend.requests if one.purpose == "speech"]
        assert spoken
        assert all(last(one).count(FEELS) == 1 for one in spoken)
        assert not [m for one in backend.requests for m in one.messages[:-1] if FEELS in m.content]


def test_a_chain_is_asked_in_german_too() -> None:
    """No English sentence is in a German prompt."""
    backend = Watched(society="germany")
    run(medium(society="germany"), backend)
    assert [one for one in backend.requests if "Gerade fühlst du dich" in last(one) and "Du bist" in last(one)]
    assert not [one for one in backend.requests if FEELS in last(one) or ANSWERED in last(one)]


@check_each(
    "fields,says",
    [
        ({"chain": "valence"}, "which no survey asks: add it to also"),
        ({"also": "valence", "chain": "valence,valence"}, "only once"),
        ({"also": "valence", "chain": "valence", "survey": "ends"}, "set survey=rounds"),
        ({"also": "valence:turns", "chain": "valence:turns"}, "which no survey asks"),
        ({"also": "valence", "chain": "valence", "archetypes": "4"}, "set archetypes=0"),
    ],
)
def test_a_chain_that_cannot_be_is_refused(fields: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        load_preset("two_way", fields)
