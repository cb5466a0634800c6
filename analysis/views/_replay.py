"""The clock of the page: play, speed and rounds (transport.vue), and what a live run waits for.

The clock runs in the browser, in `window.parleyClock`. A moment is a number: 2 is after round 2, and 2.5 is in the middle of
round 3. Charts, networks and conversations get the whole run once and follow the clock without the server. The server gets the
round when the clock has come to rest, for the views that are tables.
"""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING, Any

import solara

from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._session import Session
from parley.llm.backends import needs_qualification

if TYPE_CHECKING:
    from parley.analysis.tables import Tables

LINE, SHORTEST, LONGEST = 1.2, 2.0, 8.0
"""Seconds of a line in a replay at speed 1, and the least and most seconds of a round."""
LOOK = 0.3
"""Seconds between two looks at the requests under way."""
LISTED = 50
"""Requests under way that the page lists."""
PURPOSES = {"speech": "a line", "survey": "a survey question"}


@solara.component_vue("waiting.vue")
def _Waiting(pending: str) -> None:
    """pending: JSON of what is waited for, each with a name, what it is, and the seconds so far."""


@solara.component
def Waiting(session: Session) -> None:
    """Show which agents a live run is waiting for, and since when."""
    pending, last_seen = solara.use_reactive("[]"), solara.use_memo(list[Any], [])

    def look() -> None:
        now, what = waited_for(session)
        if now != last_seen:
            last_seen[:] = now
            pending.set(json.dumps(what))

    use_repeated(LOOK, look)
    _Waiting(pending=pending.value)


def waited_for(session: Session) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return what the run is waiting for, longest first: what tells one list from another, and the list."""
    live = session.live
    if live is None or live.phase != "running":
        return [], []
    if not live.events:
        name = opening(live.scenario.models.llm, live.checks)
        what = {"id": 0, "name": name, "what": "test", "seconds": live.seconds}
        return ["opening"], [what]
    tables = session.tables
    names = dict(zip(tables.agents["agent"], tables.agents["name"], strict=True)) if tables is not None else {}
    pending = sorted(live.waiting(), key=lambda wait: -wait.seconds)[:LISTED]
    return [wait.id for wait in pending], [
        {
            "id": wait.id,
            "name": str(names.get(wait.agent, "a reply")),
            "what": PURPOSES.get(wait.purpose, wait.purpose),
            "seconds": round(wait.seconds, 1),
        }
        for wait in pending
    ]


def opening(llm: str, checks: bool) -> str:
    """Return what a run is waiting for before its first event. checks: whether new models are checked first.

    >>> opening("oracle", True), opening("openai:llama3", False)
    ('the run to begin', 'the model to say what it can do')
    """
    if not needs_qualification(llm):
        return "the run to begin"
    return "this model's answers to the check" if checks else "the model to say what it can do"


def moment(round_: int, place: int = 1, count: int = 0) -> float:
    """Return when something happens that has this place among the `count` turns of a round; without turns, at its end.

    >>> moment(3), moment(1, 1, 3)
    (3.0, 0.25)
    """
    return round_ - 1 + place / (count + 1)


def seconds_of_a_round(tables: Tables) -> float:
    """Return how long a round lasts at speed 1, by the lines that a room has in a round."""
    turns = tables.utterances[tables.utterances["round"] > 0].groupby(["room", "round"]).size()
    return min(LONGEST, max(SHORTEST, LINE * median(turns))) if len(turns) else SHORTEST
