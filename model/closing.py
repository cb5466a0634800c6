"""The end of a private deliberation: agreement with every statement of the mediator, and the questionnaire."""

from __future__ import annotations

from parley.agents.participant import Participant, rates
from parley.agents.questionnaire import questionnaire
from parley.llm.driver import Conversation
from parley.llm.request import Reply, Request
from parley.model.events import Answered, Event
from parley.model.room import Desk, RoomState, note
from parley.model.surveys import ask_until, hold_survey


def hold_closing(room: RoomState, round_: int, asks: int, items: bool, desk: Desk) -> Conversation[list[Event]]:
    """Final ratings (1-7) of each statement that there was, then, if `items`, the questionnaire."""
    events: list[Event] = []
    for name, statement in room.statements.items():
        events += yield from hold_survey(room, round_, rates(name, statement), asks, desk)
    if items:
        events += yield from hold_questionnaire(room, round_, asks, desk)
    return events


def hold_questionnaire(room: RoomState, round_: int, asks: int, desk: Desk) -> Conversation[list[Event]]:
    """Every item to every member, all at once; an answer that cannot be read is asked again, up to `asks` times in all."""
    items = {item.name: item for item in questionnaire()}
    members = {number: member for number, member in room.members.items() if isinstance(member, Participant)}
    answered: dict[tuple[int, str], Answered] = {}
    calls: list[Event] = []

    def compose(key: tuple[int, str], attempt: int) -> Request:
        agent, name = key
        return members[agent].compose_item(items[name], room.seed(desk, agent, f"item {name}", attempt), attempt > 0)

    def absorb(key: tuple[int, str], request: Request, reply: Reply) -> bool:
        agent, name = key
        earlier = (*answered[key].earlier, answered[key].raw) if key in answered else ()
        answer = members[agent].absorb_item(reply, items[name])
        told = (*answer, reply.text, len(earlier) + 1, earlier)
        answered[key] = Answered(room.id, round_, agent, name, *told)
        note(calls, room, round_, agent, request, reply, desk)
        return answer.text is not None or reply.failure is not None

    yield from ask_until([(agent, name) for agent in members for name in items], compose, absorb, asks)
    return [*answered.values(), *calls]
