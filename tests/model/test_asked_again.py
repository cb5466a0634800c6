"""A turn whose reply holds no line of its speaker is asked for again, once, as a survey question is."""

from __future__ import annotations

from data_checks import check_each

from parley.llm.backends.fake import Fake
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Called, Event, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import load_preset

REFUSAL = "As an AI language model, I cannot role-play."
LINE = "We must act."


def debate(
    *replies: str | Reply, preset: str = "two_way", other: str = LINE, **settings: object
) -> tuple[list[Event], list[Request]]:
    """The events of one round, and the requests for lines; they get these replies, then LINE. other: the reply to others."""
    asked: list[Request] = []

    def answer(request: Request) -> str | Reply:
        if request.purpose != "speech":
            return other
        asked.append(request)
        return replies[len(asked) - 1] if len(asked) <= len(replies) else LINE

    fixed = {"topic": "racism", "repetitions": 1, "rounds": 1, "survey": "never", "llm": "fake"}
    recorder = MemoryRecorder()
    scenario = load_preset(preset).with_settings({**fixed, **settings})
    DebateModel(scenario, backend=Fake(answer, in_flight=1), recorder=recorder, keep_going=True).run()
    return recorder.events, asked


def turns(events: list[Event]) -> list[Utterance]:
    return [event for event in events if isinstance(event, Utterance)]


@check_each("lost", [" ", REFUSAL, "Complete your next reply."])
@check_each("temperature", [1.0, 0.0])
def test_a_lost_reply_is_asked_for_once_more(lost: str, temperature: float) -> None:
    """The second reply is said, the first one is kept, both calls are in the record, and the second is drawn with a seed of its
    own (a greedy one would be the same again).
    """
    events, asked = debate(lost, temperature=temperature)
    first, second = turns(events)
    assert (first.text, first.reason, first.earlier, second.earlier) == (LINE, None, (lost,), ())
    assert len(asked) == sum(isinstance(event, Called) and event.purpose == "speech" for event in events) == 3
    assert asked[0].messages == asked[1].messages
    assert asked[0].seed != asked[1].seed
    assert asked[1].sampling.temperature == 1.0


def test_a_turn_that_is_lost_twice_is_silent() -> None:
    """It is asked for as often as a rating (`asks`), and the last reason is the reason."""
    events, asked = debate(REFUSAL, " ")
    first, second = turns(events)
    assert (first.text, first.reason, first.earlier, second.text) == (None, "empty", (REFUSAL,), LINE)
    assert len(asked) == 3
    assert len(debate(REFUSAL, asks=1)[1]) == 2


def test_a_failed_call_is_not_asked_for_again() -> None:
    """A server that does not answer has its own rule of repeating; a turn without an answer stays missing."""
    events, asked = debate(Reply.failed("timeout"))
    assert (turns(events)[0].reason, turns(events)[0].earlier, len(asked)) == ("timeout", (), 2)


def test_a_text_on_a_platform_is_asked_for_again() -> None:
    """A post that was lost is asked for with the same feed, which the person has not seen twice."""
    events, asked = debate(REFUSAL, preset="platform", other="post", activation="every", size=4, graph="complete")
    again = [turn for turn in turns(events) if turn.earlier]
    assert [(turn.text, turn.earlier) for turn in again] == [(LINE, (REFUSAL,))]
    assert sum(request.messages == asked[0].messages for request in asked) == 2
