"""The prompts of one agent as text: what each asked for, its messages, the reply, and the probabilities of the answers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.agents.persona import all_personas
from parley.analysis.formatting import REFERENCE, count_phrase
from parley.analysis.tables import Tables
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Request
from parley.model import events
from parley.model.events import Called
from parley.model.recorder import read_lines, to_line
from parley.model.scenario_run import record_of
from parley.model.sent_requests import Exchange, SentRequests
from parley.model.titles import seat_label

KINDS = {
    "speech": "line in the debate", "survey": "survey question", "questionnaire": "questionnaire", "summary": "summary of memory",
    "bdi": "private note", "latent": "private note", "bounded": "private note", "reflection": "reflection",
    "importance": "weight of a memory", "statement": "statement of the mediator", "ranking": "predicted ranking",
    "critique": "critique", "check": "fact check",
}  # fmt: skip
"""What a request asks for, by its purpose."""
DRAWN = "This answer was drawn from the answers of similar agents. No model was asked."
LOST = "This prompt cannot be shown: prompts, personas or topics of this version of Parley differ from the run's."
MOST_NAMED = 8
Row = Mapping[Any, Any]


def kind_of(call: Called) -> str:
    """Return what a call asked for: `survey question`."""
    kind = KINDS.get(call.purpose, call.purpose.replace("_", " "))
    return f"{kind}, of the representative" if call.agent < 0 else kind


def when(round_: int) -> str:
    """Return the round in words."""
    return f"round {round_}" if round_ else "before the debate"


def sampling_words(request: Request) -> str:
    """Return how the reply was drawn: `temperature 1, at most 120 tokens, seed 17`."""
    temperature, most, top_p, stop, min_p, top_k = request.sampling
    parts = [f"temperature {temperature:g}", f"at most {most} tokens", *([f"top_p {top_p:g}"] if top_p != 1 else [])]
    parts += [f"{name} {value:g}" for name, value in (("min_p", min_p), ("top_k", top_k)) if value]
    return ", ".join([*parts, *([f"stops at {', '.join(map(repr, stop))}"] if stop else []), f"seed {request.seed}"])


def missing_reply(exchange: Exchange) -> str:
    """Return why there is no text of a reply; empty where there is one."""
    if exchange.request is None:
        return LOST
    if exchange.reply is None:
        return DRAWN if exchange.call.notes.get("drawn") else "The journal has no reply to this prompt."
    if failure := exchange.reply.failure:
        return f"No reply: {failure.name}{f' ({failure.detail})' if failure.detail else ''}"
    return ""


def persona_texts(tables: Tables) -> dict[str, str]:
    """Return the text of each persona by its name; empty where its set is not on this machine."""
    try:
        folder = tables.personas
        parties = tables.agents["party"].unique()
        return {person.id: person.backstory for party in parties for person in all_personas(party, folder)}
    except UserError:
        return {}


def find_agent(tables: Tables, who: str, room: str = "") -> dict[Any, Any]:
    """Return the row of an agent, by its name or its number. Errors: UserError where there is none, or more than one."""
    rows = tables.agents.to_dict("records")
    room = room and room_called(room, rows)
    here = [row for row in rows if not room or row["room"] == room]
    fits = [row for row in here if who.lower() in (str(row["name"]).lower(), str(row["agent"]))]
    if not fits:
        raise unknown_name("agent", who, {str(row["name"]) for row in here})
    if len(fits) > 1:
        named = [
            f"--agent {row['agent']} ({seat_label(row, tables.names)}, {row['room']})" for row in fits[:MOST_NAMED]
        ]
        more = f" and {len(fits) - MOST_NAMED} more" if len(fits) > MOST_NAMED else ""
        raise UserError(
            f"{count_phrase(len(fits), 'agent')} are called {who}: add --room NAME, or give a number: {', '.join(named)}{more}"
        )
    return dict(fits[0])


def room_called(name: str, rows: Sequence[Row]) -> str:
    """Return the id of a room by that id or by the number in the transcript. Errors: UserError for none, and for several."""
    numbers = {str(row["room"]): f"{row['repetition'] + 1}" for row in rows}
    if name in numbers:
        return name
    fits = [room for room, number in numbers.items() if number == name.lower().removeprefix("room").strip()]
    if not fits:
        raise unknown_name("room", name, [*numbers, *numbers.values()])
    debates = [room for room in fits if f"/{REFERENCE} " not in room] or fits
    if len(debates) > 1:
        named = ", ".join(f"--room {shlex.quote(room)}" for room in debates[:MOST_NAMED])
        raise UserError(f"{len(debates)} topics or groups have a room {name}: write one of {named}")
    return debates[0]


def prompts_text(tables: Tables, sent: SentRequests, row: Row) -> Iterator[str]:
    """Yield who an agent is, then every prompt that it was sent, its reply, and the probabilities of the answers."""
    exchanges = sent.of(str(row["room"]), int(row["agent"]))
    yield f"{row['name']}, {seat_label(row, tables.names)}, agent {row['agent']} in {row['room']}, {row['llm']}"
    if text := persona_texts(tables).get(row["persona"]):
        yield text
    yield count_phrase(len(exchanges), "prompt")
    for number, exchange in enumerate(exchanges, 1):
        yield f"\n=== {number} of {len(exchanges)}: {kind_of(exchange.call)}, {when(exchange.call.round)} ==="
        yield from _exchange_lines(exchange)


def _exchange_lines(exchange: Exchange) -> Iterator[str]:
    if request := exchange.request:
        yield f"({sampling_words(request)})"
        for message in request.messages:
            yield f"[{message.role}]\n{message.content}"
        if request.answer_prefix:
            yield f"[the reply begins with]\n{request.answer_prefix}"
    reply = exchange.reply
    if reply and reply.thinking:
        yield f"[reasoning]\n{reply.thinking}"
    yield f"[reply]\n{missing_reply(exchange) or (reply.text if reply else '')}"
    if reply and reply.answers:
        yield f"[probabilities of the answers]\n{', '.join(_shares(reply.answers))}"


def _shares(answers: Mapping[str, float]) -> Sequence[str]:
    return [f"{answer}: {share:.1%}" for answer, share in answers.items()]


OWN = (
    events.Seated,
    events.Consented,
    events.Occupied,
    events.Utterance,
    events.Rated,
    events.Balloted,
    events.Voted,
    events.Answered,
)
"""What a person says, answers and agrees to. What a mediator predicts of the person is not the person's."""


def own_lines(folder: Path, seat: str) -> dict[str, Any]:
    """Return the own lines of a seat, in the order of the record, which may be unfinished.

    A critique that a representative wrote has `written_by`. Errors: UserError without a record, or for an unknown seat.
    """
    path = record_of(folder)
    if not path.exists():
        raise UserError(f"{folder} has no record: give the folder of a run")
    record = list(read_lines(path))
    seats = {event.seat: event for event in record if isinstance(event, events.Seated) and event.agent}
    if seat not in seats:
        raise unknown_name("seat", seat, seats)
    return {"seat": seat, "lines": list(_lines(record, seats[seat].agent))}


def own_file(folder: Path, seat: str) -> bytes:
    """Return the own lines of a seat as a JSON file in UTF-8. Errors: as own_lines."""
    return (json.dumps(own_lines(folder, seat), indent=1, ensure_ascii=False) + "\n").encode()


def _lines(record: list[events.Event], agent: int) -> Iterator[dict[str, Any]]:
    represented = {
        (event.room, event.iteration)
        for event in record
        if isinstance(event, events.Represented) and event.agent == agent
    }
    for event in record:
        if isinstance(event, OWN) and event.agent == agent:
            line = json.loads(to_line(event))
            if isinstance(event, events.Utterance) and (event.room, event.iteration) in represented:
                line["written_by"] = "representative"
            yield line
