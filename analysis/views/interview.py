"""Ask an agent in the middle of a run: it answers from its own memory, and the run is not changed."""

from __future__ import annotations

import solara

from parley.analysis.tables import Tables
from parley.analysis.views._html import element
from parley.analysis.views._session import Shown

ORDER = 7
TITLE = "Interview"


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    rows = shown.tables.agents.to_dict("records")
    named = {f"{row['agent']}: {row['name']}, {row['seat']}, {row['room']}": row["agent"] for row in rows}
    who, question = solara.use_reactive(next(iter(named))), solara.use_reactive("")
    solara.Select("Agent", list(named), who)
    solara.InputText("Question", question, continuous_update=True)
    solara.Button(
        "Ask", lambda: shown.session.interview(named[who.value], question.value), disabled=not question.value.strip()
    )
    told = "The agent is asked between two rounds. It remembers neither question nor answer, and the record says nothing of it."
    element("p", told if shown.session.live else "Agents of a loaded run cannot answer: start one.")
    names = {row["agent"]: row["name"] for row in rows}
    for one in shown.session.interviews:
        said = one.reply if one.reply is not None else f"(no answer: {one.reason})"
        asked = element("strong", f"To {names.get(one.agent, one.agent)}: ")
        element("p", asked, element("span", one.question))
        element("p", element("span", said), css="turn other")
