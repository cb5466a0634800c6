"""Ask an agent during a run: it answers from its own memory, and the run does not change."""

from __future__ import annotations

import solara

from parley.analysis.formatting import seat_label
from parley.analysis.tables import Tables
from parley.analysis.views._html import Select, element
from parley.analysis.views._session import Shown, rooms

ORDER = 7
TITLE = "Interview"
REASONS = {
    "unknown_ask": "The rule-based speaker can only answer questions about the debate's topic. Choose another model to ask this.",
    "no_such_agent": "There is no such agent in this run.",
    "stand_in": "A surrogate plays this agent. It has no model that could answer.",
}
"""Why an agent gives no answer, in words."""


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    rows = shown.tables.agents.to_dict("records")
    titles = rooms(shown.tables)
    agents = {f"{row['name']}, {seat_label(row)}, {titles[row['room']]} ({row['agent']})": row["agent"] for row in rows}
    names = {row["agent"]: row["name"] for row in rows}
    title, question = solara.use_reactive(next(iter(agents))), solara.use_reactive("")
    Select("Agent", list(agents), title)
    solara.InputText("Question", question, continuous_update=True)

    def ask() -> None:
        shown.session.interview(agents[title.value], question.value)

    live = shown.session.live
    able = live is not None and live.alive
    solara.Button("Ask", ask, disabled=not (able and question.value.strip()))
    between = (
        "The agent answers between two rounds. The agent will not remember the question or its answer, and "
        "neither is recorded."
    )
    element(
        "p",
        between
        if able
        else "Agents of a run that was stopped, or loaded from a folder, cannot answer. Start a new run, or resume an "
        "unfinished one.",
    )
    for interview in shown.session.interviews:
        reason = REASONS.get(interview.reason or "", f"No answer: {interview.reason}.")
        reply = interview.reply if interview.reply is not None else reason
        agent = element("strong", f"To {names.get(interview.agent, interview.agent)}: ")
        element("p", agent, element("span", interview.question))
        element("p", element("span", reply), css="turn other")
