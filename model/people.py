"""People in a run: which seats are people, and the consent that comes before the first question.

A person is a seat whose model is `person` (llm/backends/person). Its requests, its journal and its record are those of any agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.society import Society
from parley.llm.backends import is_person, split_spec
from parley.llm.driver import Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.purposes import CONSENT
from parley.llm.request import Message, Request, Sampling
from parley.model.events import Consented, Event
from parley.model.room import NO_CONSENT, RoomState, record_call

if TYPE_CHECKING:
    from parley.model.scenario import Scenario

SEAT = "seat"
"""The folder of prompts for people."""
PAGE = "page"


def people_of(voices: Mapping[str, str]) -> frozenset[str]:
    """Return the voices behind which a person is."""
    return frozenset(voice for voice, spec in voices.items() if is_person(spec))


def people_in_page(voices: Mapping[str, str]) -> bool:
    """Return whether a person answers in the page."""
    return any(is_person(spec) and split_spec(spec).options.get("at") == PAGE for spec in voices.values())


def check_people(scenario: Scenario) -> Iterator[str]:
    """Yield what does not fit people, and what to set instead."""
    if is_person(scenario.models.llm):
        yield (
            "a person sits in one seat and cannot speak for all agents: write --llm SEAT=person, and --llm "
            "MODEL for the other seats"
        )
        return
    people, speech = people_of(scenario.llm_by_party), scenario.speech
    if not people:
        return
    labels = [label for group in scenario.groups for label in group.labels]
    if wrong := sorted(people - set(labels)):
        yield (
            f"llms: {wrong[0]} does not name a single seat: write SEAT=person with one of the seats "
            f"{', '.join(dict.fromkeys(labels))}"
        )
    topics = scenario.subject.episodes if scenario.subject.questions else len(scenario.subject.topic)
    if (rooms := len(scenario.groups) * scenario.repetitions * topics) > 1 or scenario.people.reference:
        what = f"this run has {rooms} rooms" if rooms > 1 else "this run also asks people outside of the debate"
        yield (
            f"a person can sit in one room, and {what}: set repetitions=1, episodes=1, one topic, reference= (empty), and a size "
            "that the parties share evenly"
        )
    if speech.think != "none" or speech.plan or speech.memory.startswith(("summary", "retrieve")):
        yield "a person has its own memory and thoughts: set memory=whole, think=none and plan=0"
    places = [split_spec(scenario.llm_by_party[voice]).options.get("at", "terminal") for voice in people]
    if shared := next((at for at in places if at != PAGE and places.count(at) > 1), ""):
        yield f"only one person can sit at {shared}: seat the other people in the page, with --llm SEAT=person,at=page"


def consent_text(spec: str, society: Society) -> str:
    """Return the consent text of a person: the file that its spec names, or that of the language. Errors: UserError."""
    if not (file := split_spec(spec).options.get("consent", "")):
        return society.language.prompt(f"{SEAT}/consent").text.strip()
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the consent text {file}: {error}") from error
    if not text:
        raise UserError(f"the consent text {file} is empty: write what people agree to, or leave out consent")
    return text


def ask_consent(room: RoomState, voices: Mapping[str, str]) -> Conversation[list[Event]]:
    """Ask every person of a room to agree to take part. Who does not agree is asked nothing more: the seat stays empty."""
    events: list[Event] = []
    members = {number: member for number, member in room.members.items() if member.voice in room.context.people}
    requests: list[Request] = []
    for number, member in members.items():
        language, text = member.topic.language, consent_text(voices[member.voice], member.topic.society)
        answers = language.words("consent_yes"), language.words("consent_no")
        request_fields = (Message("user", text),), Sampling(0.0, 20), room.seed(number, CONSENT), answers, CONSENT
        requests.append(Request(*request_fields, voice=member.voice))
    replies = yield from ask_all(requests)
    for (number, member), request, reply in zip(members.items(), requests, replies, strict=True):
        agreed = None if reply.text not in request.answers else reply.text == request.answers[0]
        reason = None if agreed is not None else reply.failure.name if reply.failure else "unreadable"
        events.append(Consented(room.id, 0, 0, number, request.messages[0].content, agreed, reason))
        if not agreed:
            member.absent, member.why_absent = True, NO_CONSENT
        record_call(events, room, number, request, reply)
    return events
