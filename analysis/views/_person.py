"""The panel about one agent: who it is, its ratings, what it heard, and the prompts that it was sent with the replies.

Any name in any view opens it. Prompts come from record and journal (model/sent_requests.py), in a thread of their own, so that
the panel is there at once. Two tabs that look at one run share them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import solara
import solara.lab

from parley.analysis.figures import styles_of_run
from parley.analysis.formatting import format_number
from parley.analysis.provenance import intervention_event
from parley.analysis.sent_prompts import kind_of, missing_reply, persona_texts, sampling_words, when
from parley.analysis.tables import Tables
from parley.analysis.views._chart import Chart, Drawn, Line, Panel, last_round, party_key, rounded, scale_ends
from parley.analysis.views._html import Line as Said
from parley.analysis.views._html import element, line, log
from parley.analysis.views._session import Shown, rooms, surveyed
from parley.analysis.views._words import model_words
from parley.analysis.views.conversation import edges, turn
from parley.analysis.views.interview import Ask
from parley.llm.errors import UserError
from parley.model.titles import seat_label, seat_title

if TYPE_CHECKING:
    from parley.model.sent_requests import Exchange, SentRequests

STYLE = Path(__file__).with_name("person.css")
NO_HEARING = (
    "The record of a debate does not say what an agent heard. Parley finds that in the journal, and this "
    "folder has no journal."
)


@solara.component_vue("person.vue")
def _Head(facts: str, event_shut: Callable[[Any], None]) -> None:
    """facts: JSON of `facts_of`."""


@solara.component_vue("prompts.vue")
def _Prompts(prompts: str, problem: str, reading: bool) -> None:
    """prompts: JSON of a list of `prompt_of`. problem: why there are none. reading: whether they are still being read."""


@solara.component
def Person(shown: Shown) -> None:
    """The panel of the agent that was clicked, if it is open."""
    solara.Style(STYLE)
    person = shown.session.person.value
    if person is None:
        return
    rows = shown.tables.agents
    rows = rows[(rows["room"] == person[0]) & (rows["agent"] == person[1])].to_dict("records")
    if rows:
        body = _Body(shown, rows[0]).key(f"{shown.session.folder} {person}")
        element("aside", body, css="person", role="dialog", **{"aria-label": f"About {rows[0]['name']}"})


@solara.component
def _Body(shown: Shown, row: Mapping[Any, Any]) -> None:
    tables, session, folder = shown.tables, shown.session, shown.session.folder
    room, agent = str(row["room"]), int(row["agent"])
    every = tables.calls
    call_count = int(((every["room"] == room) & (every["agent"].abs() == agent)).sum())
    reading: Any = solara.lab.use_task(
        lambda: read_prompts(str(folder), len(every)), dependencies=[str(folder), call_count]
    )
    prompts: Prompts | None = reading.value or reading.latest
    facts = solara.use_memo(lambda: json.dumps(facts_of(tables, row)), [tables])
    _Head(facts=facts, event_shut=lambda _: session.look_at(None))
    with solara.Column(classes=["inside"], gap="0"):
        chart = solara.use_memo(lambda: rating_chart(tables, row), [tables])
        if chart:
            element("h3", "Ratings")
            Drawn(chart, shown.round, f"Attitude of {row['name']} by round")
        _heard(shown, row, prompts)
        element("h3", "Prompts and replies")
        sent = prompts.sent if prompts else None
        texts = solara.use_memo(lambda: _as_json(sent, room, agent, shown.round), [sent, shown.round, call_count])
        _Prompts(prompts=texts, problem=prompts.problem if prompts else "", reading=prompts is None)
        element("h3", f"Ask {row['name']}")
        Ask(session, tables, agent, alone=True)


@dataclass(frozen=True, eq=False)
class Prompts:
    """The prompts of a run, or why there are none."""

    sent: SentRequests | None
    problem: str = ""


@lru_cache(maxsize=4)
def read_prompts(folder: str, calls: int) -> Prompts:
    """Return the prompts of a run. calls: in its record, so that they are read anew when there are more."""
    from parley.model.sent_requests import sent_requests

    try:
        return Prompts(sent_requests(folder))
    except UserError as error:
        return Prompts(None, str(error))


def facts_of(tables: Tables, row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return who an agent is: name, persona, and a list of facts, each a word and a text."""
    facts = [
        ("Party", seat_title(str(row["party"]), tables.names)),
        ("Seat", seat_label(row, tables.names)),
        ("Room", rooms(tables)[str(row["room"])]),
        ("Model", model_words(str(row["llm"])) if row["llm"] else ""),
        *_traits(tables, row),
    ]
    text = persona_texts(tables).get(row["persona"], "")
    return {"name": str(row["name"]), "persona": text, "facts": [[word, fact] for word, fact in facts if fact]}


def _traits(tables: Tables, row: Mapping[Any, Any]) -> list[tuple[str, str]]:
    """Return role, traits and confirmation bias of an agent that has any."""
    mine = tables.characters
    mine = mine[(mine["room"] == row["room"]) & (mine["agent"] == row["agent"])]
    agent_columns = {"room", *tables.agents.columns}
    return [
        (str(name).replace("_", " ").capitalize(), str(value))
        for name, value in (mine.iloc[0].items() if len(mine) else ())
        if name not in agent_columns and pd.notna(value) and value not in ("", False)
    ]


def rating_chart(tables: Tables, row: Mapping[Any, Any]) -> Chart | None:
    """Return the line of an agent's ratings; None where the run has no attitudes, or the agent has none."""
    if not surveyed(tables):
        return None
    mine = tables.attitudes
    mine = mine[(mine["room"] == row["room"]) & (mine["agent"] == row["agent"])]
    mine = mine[mine["probe"] == tables.header.scenario["probe"]]
    if mine.empty:
        return None
    party, last = str(row["party"]), int(mine["round"].max())
    values = dict(zip(mine["round"], mine["attitude"], strict=True))
    means = [[rounded(values.get(round_)), None, None] for round_ in range(last + 1)]
    acts = tables.interventions[tables.interventions["room"] == row["room"]].to_dict("records")
    seated = tables.agents[tables.agents["room"] == row["room"]].to_dict("records")
    flags = [(int(act["round"]), intervention_event(act, seated).removeprefix("Intervention: ")) for act in acts]
    panel = Panel(tables.title(str(row["topic"])), [Line(party, means)], *scale_ends(tables, str(row["topic"])), flags)
    rows = [
        (party, int(rating["round"]), [int(rating["round"]), rounded(rating["attitude"]), rating["reason"] or ""])
        for rating in mine.to_dict("records")
    ]
    key = party_key(party, str(row["name"]), styles_of_run(tables)[party])
    header = ("round", "attitude", "reason missing")
    caption = f"Attitude of {row['name']}, {seat_label(row, tables.names)}"
    return Chart("lines", f"{row['name']}-ratings", caption, last_round(tables), [key], [panel], header, rows)


def _heard(shown: Shown, row: Mapping[Any, Any], prompts: Prompts | None) -> None:
    """Show what an agent heard, by round, and from whom."""
    if shown.tables.heard.empty and (prompts is None or prompts.sent is None):
        text = "Reading what this agent heard…" if prompts is None else NO_HEARING
        element("p", text, css="soft")
        return
    lines = heard_lines(shown.tables, row, shown.round, prompts.sent if prompts else None)
    many = sum("turn" in heard_line["css"] for heard_line in lines)
    title = f"Heard by {row['name']}: {many:,} line{'s' * (many != 1)}"
    summary = element("summary", element("span", title))
    element("details", summary, log(lines, title, look=shown.session.look_at, empty="No lines so far."), css="heard")


def heard_lines(tables: Tables, row: Mapping[Any, Any], last: int, sent: SentRequests | None) -> list[Said]:
    """Return the lines and interventions that an agent heard, with a heading for each round."""
    room, agent = str(row["room"]), int(row["agent"])
    turns = tables.utterances[(tables.utterances["room"] == room) & (tables.utterances["round"] <= last)]
    rounds: dict[int, list[Said]] = {}
    seated = tables.agents[tables.agents["room"] == room].to_dict("records")
    for act in tables.interventions[tables.interventions["room"] == room].to_dict("records"):
        if act["round"] <= last and agent in json.loads(act["agents"]) and act["text"]:
            rounds.setdefault(act["round"], []).append(line(intervention_event(act, seated), "turn outside"))
    looks, texts = edges(tables), {spoken["iteration"]: spoken for spoken in turns.to_dict("records")}
    for round_, iteration in _turns_heard(tables, room, agent, sent, texts):
        if (spoken := texts.get(iteration)) and round_ <= last:
            again = f", from round {spoken['round']}" if spoken["round"] != round_ else ""
            rounds.setdefault(round_, []).append(turn(spoken, looks[spoken["party"]], tables.names, again))
    return [
        heard_line for round_ in sorted(rounds) for heard_line in (line(f"Round {round_}", tag="h4"), *rounds[round_])
    ]


def _turns_heard(
    tables: Tables, room: str, agent: int, sent: SentRequests | None, texts: Mapping[int, Mapping[Any, Any]]
) -> list[tuple[int, int]]:
    """Return round and iteration of the turns that an agent heard: of a network from the record, else from the replay."""
    mine = tables.heard[(tables.heard["room"] == room) & (tables.heard["agent"] == agent)]
    if len(mine) or sent is None:
        return list(zip(mine["round"].tolist(), mine["iteration"].tolist(), strict=True))
    return [
        (texts[iteration]["round"], iteration) for iteration in sent.heard.get((room, agent), ()) if iteration in texts
    ]


def _as_json(sent: SentRequests | None, room: str, agent: int, last: int) -> str:
    exchanges = sent.of(room, agent) if sent else []
    return json.dumps([prompt_of(exchange) for exchange in exchanges if exchange.call.round <= last])


def prompt_of(exchange: Exchange) -> dict[str, Any]:
    """Return a prompt for the browser: what it asks for, its messages, the reply, and the probabilities of the answers."""
    request, reply = exchange.request, exchange.reply
    messages = [list(message) for message in request.messages] if request else []
    shares = list(reply.answers.items()) if reply and reply.answers else []
    covered = reply.covered if reply else None
    return {
        "kind": kind_of(exchange.call),
        "when": when(exchange.call.round),
        "messages": messages,
        "sampling": sampling_words(request) if request else "",
        "prefix": request.answer_prefix if request else "",
        "thinking": reply.thinking if reply else "",
        "reply": (reply.text or "") if reply else "",
        "missing": missing_reply(exchange),
        "answers": [[answer, round(share, 4)] for answer, share in shares],
        "covered": "" if covered is None else f"{format_number(100 * covered, 1)}%",
    }
