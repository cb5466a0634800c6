"""The page: a first screen, the form of a new run, the table of runs, and a run with its views. A run never blocks it.

The address says what is shown: `/?run=runs/a`, `/?scenario=network`, `/?runs`, `/?new`, or the first screen. So a reload, a
second tab and the button Back find it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import solara
import solara.lab

from parley.analysis.views._address import place_of
from parley.analysis.views._form import NewRun, draft_of, start, wanted
from parley.analysis.views._gallery import FirstScreen
from parley.analysis.views._html import element
from parley.analysis.views._plan import plan_of
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._replay import Waiting
from parley.analysis.views._runs import ROOT
from parley.analysis.views._session import Session, Shown

if TYPE_CHECKING:
    from parley.analysis.tables import Tables

STYLE = Path(__file__).with_name("style.css")
REFRESH = 0.25
"""Seconds between two looks at a run under way."""
START = "three_way"
DRAWN = threading.Event()
"""Set when a browser shows a first page."""
PLACES = {"": "Start", "?new": "New run", "?runs": "Your runs"}


@solara.component_vue("scheme.vue")
def Scheme(event_shown: Callable[[object], None]) -> None:
    """Light or dark, as the browser is set (Solara's `auto` leaves out the root of its page). Also language and finger zoom.

    event_shown is called once the browser has drawn the page.
    """


@solara.component_vue("connection.vue")
def Connection(command: str) -> None:
    """What to do when the server has stopped. command: that starts it again."""


@solara.component_vue("places.vue")
def Places(places: list[list[str]], here: str, event_go: Callable[[str], None]) -> None:
    """The places of the page. here: the one that is shown."""


@solara.component
def Page() -> None:
    session = solara.use_memo(Session, [])
    router = solara.use_router()
    search = router.search or ""

    def go(place: str) -> None:
        session.error = ""
        router.push(f"/{place}")

    use_repeated(REFRESH, lambda: session.seen.set(session.version))
    solara.use_memo(lambda: _arrive(session, search), [search])
    solara.Title("Parley")
    solara.Style(STYLE)
    Scheme(event_shown=lambda _: DRAWN.set())
    Connection(command="python run.py --ui")
    here = _place(search)
    Places(places=[[place, name] for place, name in PLACES.items()], here=here, event_go=go)
    with solara.Column(classes=["page"]):
        if here != "?run":
            Problem(session)
        Body(session, here, go)


@solara.component
def Body(session: Session, here: str, go: Callable[[str], None]) -> None:
    """The place that the address names."""
    router = solara.use_router()
    if here == "?run" and session.is_run:
        from parley.analysis.views._header import RunHeader

        RunHeader(session, go)
        Waiting(session)
        Views(session)
    elif here == "?run":
        from parley.analysis.views._study import StudyPage

        Problem(session)
        if not session.error:
            StudyPage(session.folder or ROOT, go)
    elif here == "?runs":
        from parley.analysis.views._run_table import YourRuns

        YourRuns(session, go)
    elif here == "?new":
        NewRun(session, go)
    elif here == "?branch":
        from parley.analysis.views._branch import NewBranch

        NewBranch(session, router.search or "", go)
    elif here == "?compare":
        from parley.analysis.views._comparison import ComparedRuns

        ComparedRuns(router.search or "")
    elif here == "?audit":
        from parley.analysis.views._measure import NewAudit

        NewAudit(router.search or "", go)
    else:
        FirstScreen(session, go, lambda name: _start_at_once(session, name, go))


@solara.component
def Problem(session: Session) -> None:
    """What went wrong with the last thing that was wanted."""
    session.seen.get()
    if session.error:
        element("p", element("bdi", session.error), css="wrong", role="alert")


@solara.component
def Views(session: Session) -> None:
    from parley.analysis.views import tabs
    from parley.analysis.views._header import rounds_so_far
    from parley.analysis.views._person import Person

    session.seen.get()
    tables = session.tables
    if tables is None or tables.agents.empty:  # a record has its header before its seats
        return
    rounds, last = rounds_so_far(tables), session.round.value
    shown = Shown(tables, rounds if last < 0 else min(last, rounds), session, session.events)
    by_title = {view.TITLE: view for view in tabs() if view.shows(tables)}
    titles = list(by_title)
    title = session.tab.value if session.tab.value in titles else titles[0]
    with solara.lab.Tabs(titles.index(title), lambda number: session.tab.set(titles[number])).key(" ".join(titles)):
        for name in titles:
            solara.lab.Tab(name)
    Note(tables)
    for name in [titles[0], title] if tables.finished and title != titles[0] else [title]:
        css, hidden = (
            ("view", {}) if name == title else ("behind", {"hidden": ""})
        )  # to draw the first tab again takes seconds
        view = by_title[name].View(shown).key(name)
        element("div", view, css=css, role="tabpanel", **{"aria-label": name}, **hidden).key(f"panel {name}")
    Person(shown)


@solara.component
def Note(tables: Tables) -> None:
    """What a reader has to know where one of our own speakers wrote the lines: a sentence, and the rest unfolds."""
    from parley.analysis import disclaimers

    if note := disclaimers.disclaimer(tables.header):
        first, _, rest = note.replace("**", "").replace("`", "").partition(". ")
        element("details", element("summary", f"{first}."), element("p", rest), css="soft note")


def _place(search: str) -> str:
    """Return the place of an address: ?run, ?branch, ?compare, ?audit, ?runs, ?new or the first screen."""
    named = parse_qs(search, keep_blank_values=True)
    for place in ("run", "branch", "compare", "audit"):
        if place in named:
            return f"?{place}"
    return "?new" if "scenario" in named or "new" in named else "?runs" if "runs" in named else ""


def _arrive(session: Session, search: str) -> None:
    """Show what the address says: open its run, or put its settings into the form."""
    named = parse_qs(search, keep_blank_values=True)
    if folder := named.get("run", [""])[0]:
        if Path(folder).resolve().is_relative_to(ROOT.resolve()):
            session.open(folder)
        else:
            session.look(folder, f"{folder} is not in {ROOT}/: open a run from there")
    elif draft := wanted(search):
        session.draft.set(draft)
    elif search and session.draft.value is None:  # the first screen has no form
        session.draft.set(draft_of(START))


def _start_at_once(session: Session, name: str, go: Callable[[str], None]) -> None:
    """Start a scenario with the defaults of the page; what has to be asked first is asked in the form."""
    draft = draft_of(name)
    plan = plan_of(draft)
    if plan.problem or plan.question or not plan.scenario:
        go(place_of(scenario=name))
    else:
        start(session, draft, plan, go)
