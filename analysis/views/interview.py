"""Ask an agent during a run: it answers from its own memory, and the run does not change."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import solara

from parley.analysis.tables import Tables
from parley.analysis.views._finder import finder
from parley.analysis.views._html import Look
from parley.analysis.views._session import Session, Shown, debates
from parley.model.titles import seat_label

if TYPE_CHECKING:
    from parley.model.interactive_run import Interview

ORDER = 7
TITLE = "Interview"
REASONS = {
    "unknown_ask": "The rule-based speaker can only answer questions about the debate's topic. Choose another model to ask this.",
    "no_such_agent": "There is no such agent in this run.",
    "stand_in": "A surrogate plays this agent. This agent has no model that could answer.",
}
"""Why an agent gives no answer, in words."""
ABLE = (
    "The agent answers between two rounds. The agent will not remember the question or its answer, and neither "
    "is recorded."
)
UNABLE = "Agents of a run that was stopped, or loaded from a folder, cannot answer. Start a new run, or resume an unfinished one."


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    rows, titles = shown.tables.agents.to_dict("records"), debates(shown.tables)
    place = {room: number for number, room in enumerate(titles)}
    rows = sorted(rows, key=lambda row: place[row["room"]])
    where = {room: f", {title}" if len(titles) > 1 else "" for room, title in titles.items()}
    agents = {
        f"{row['agent']} {row['room']}": f"{row['name']}, {seat_label(row, shown.tables.names)}{where[row['room']]}"
        for row in rows
    }
    chosen = solara.use_reactive(next(iter(agents)))
    finder("Agent", agents, chosen.value, chosen.set)
    number = chosen.value.partition(" ")[0]
    Ask(shown.session, shown.tables, int(number))


@solara.component_vue("ask.vue")
def _Ask(name: str, able: bool, note: str, questions: str, event_ask: Callable[[str], None], event_look: Look) -> None:
    """questions: JSON of the questions with their answers or their state. able: whether agents can answer now."""


@solara.component
def Ask(session: Session, tables: Tables, agent: int, alone: bool = False) -> None:
    """A field for a question to an agent, and the questions so far. alone: those to this agent only."""
    session.seen.get()
    live = session.live
    able = live is not None and live.alive
    people = {row["agent"]: row for row in tables.agents.to_dict("records")}
    questions = [
        question_state(interview, people, able)
        for interview in (*session.interviews, *session.pending)
        if not alone or interview.agent == agent
    ]
    _Ask(
        name=str(people[agent]["name"]),
        able=able,
        note=ABLE if able else UNABLE,
        questions=json.dumps(questions[::-1]),
        event_ask=lambda question: session.interview(agent, question),
        event_look=session.look_at,
    )


def question_state(interview: Interview, people: dict[int, dict[Any, Any]], going: bool) -> dict[str, Any]:
    """Return a question with its answer, or with what it waits for. waited: seconds since the model was asked."""
    row = people.get(interview.agent, {"name": f"agent {interview.agent}", "room": ""})
    state = {"name": str(row["name"]), "person": [row["room"], interview.agent], "question": interview.question}
    if interview.reply is not None:
        return state | {"reply": interview.reply}
    if interview.reason is not None:
        return state | {"note": REASONS.get(interview.reason, f"No answer: {interview.reason}.")}
    if not going:
        return state | {"note": "This question was not answered: the run was stopped before."}
    if interview.sent is None:
        return state | {"note": "This question waits for the end of the round, and for the questions before it."}
    return state | {"waited": round(time.monotonic() - interview.sent, 1)}
