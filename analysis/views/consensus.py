"""Private deliberations: how they went together, and of one its opinions, draft, critiques, revision, and who moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import solara

from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.deliberation.episode import Episode
from parley.analysis.deliberation.run_episodes import episodes_of_events, position_before
from parley.analysis.deliberation.session_transcript import HEADINGS, MOVED, moves
from parley.analysis.tables import Tables
from parley.analysis.views._drawing import consensus, until
from parley.analysis.views._html import Line, element, line, log, painted, picture, table
from parley.analysis.views._session import Shown
from parley.analysis.views.conversation import turn
from parley.model.scenario import MEDIATOR

ORDER = 5
TITLE = "Deliberation"


def shows(tables: Tables) -> bool:
    return deliberates(tables)


@solara.component
def View(shown: Shown) -> None:
    now = [shown.tables, shown.round]
    episodes = solara.use_memo(lambda: episodes_of_events(until(shown)), now)
    named = {f"{number}. {one.question.question}": one for number, one in enumerate(episodes, 1)}
    chosen = solara.use_reactive(next(iter(named)))
    solara.Select("Question of a group", list(named), chosen)
    One(shown, named.get(chosen.value) or episodes[0])
    drawn = solara.use_memo(lambda: painted(lambda: consensus(shown)), now)
    picture(
        drawn, "Agreement with the statements, change of position and group agreement over all groups, as in the report"
    )


@solara.component
def One(shown: Shown, episode: Episode) -> None:
    people = shown.tables.agents[shown.tables.agents["room"] == episode.id].to_dict("records")
    element("p", f"Rated from 1 (strongly disagree) to 7: {episode.question.statement}", css="soft")
    members = [row for row in people if row["party"] != MEDIATOR]
    table(MOVED, moves(members, episode.voices), "Who moved")
    written = {turn_ for room, turn_ in position_before(shown.events) if room == episode.id}
    log(steps(shown, episode, people, written), "Deliberation")


def steps(shown: Shown, episode: Episode, people: Sequence[dict[Any, Any]], written: set[int]) -> list[Line]:
    """A heading for each step, and what everybody wrote; what a representative wrote says so."""
    turns = shown.tables.utterances
    turns = turns[(turns["room"] == episode.id) & (turns["round"] <= shown.round)]
    party = {row["agent"]: str(row["party"]) for row in people}
    found: list[Line] = []
    for (round_, form), rows in turns.groupby(["round", "form"], sort=False):
        found.append(line(f"Round {round_}: {HEADINGS.get(form, form)}", tag="h3"))
        for row in rows.to_dict("records"):
            by = ", written by a representative" if row["iteration"] in written else ""
            found.append(turn(row, party[row["agent"]], by))
    return found
