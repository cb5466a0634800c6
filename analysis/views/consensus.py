"""Private deliberations: the figure of all, and of one its opinions, draft, critiques, revision and changes of position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import solara
from matplotlib.figure import Figure

from parley.analysis.deliberation.consensus_report import consensus_caption, deliberates, draw_consensus
from parley.analysis.deliberation.episode import Episode
from parley.analysis.deliberation.position_change import measure_movement
from parley.analysis.deliberation.run_episodes import measured_episodes, represented_texts
from parley.analysis.deliberation.session_transcript import HEADINGS, MOVED, moves
from parley.analysis.views._html import Line, Select, element, line, log, named, painted, picture, table
from parley.analysis.views._session import Shown
from parley.analysis.views.conversation import edges, person_of, turn
from parley.model.events import Header
from parley.model.scenario import MEDIATOR

ORDER = 5
TITLE = "Deliberation"
shows = deliberates


@solara.component
def View(shown: Shown) -> None:
    now = [shown.tables, shown.round]
    episodes = solara.use_memo(lambda: _episodes(shown), now)
    titles = {f"{number}. {episode.question.question}": episode for number, episode in enumerate(episodes, 1)}
    chosen = solara.use_reactive(next(iter(titles)))
    Select("Question of a group", list(titles), chosen)
    Group(shown, titles.get(chosen.value) or episodes[0])
    svg = solara.use_memo(lambda: painted(lambda: consensus(shown)), now)
    picture(
        svg, "Agreement with the statements, change of position and group agreement over all groups, as in the report"
    )


def _episodes(shown: Shown) -> Sequence[Episode]:
    """Return the deliberations up to the round."""
    return measured_episodes(
        [event for event in shown.events if isinstance(event, Header) or getattr(event, "round", 0) <= shown.round]
    )


def consensus(shown: Shown) -> Figure:
    """Draw agreement, change of position and group agreement up to the round."""
    episodes = _episodes(shown)
    changes = measure_movement(episodes)
    return draw_consensus(episodes, changes, consensus_caption(shown.tables, changes))


@solara.component
def Group(shown: Shown, episode: Episode) -> None:
    people = shown.tables.agents[shown.tables.agents["room"] == episode.id].to_dict("records")
    element("p", f"Rated from 1 (strongly disagree) to 7: {episode.question.statement}", css="soft")
    members = [row for row in people if row["party"] != MEDIATOR]
    rows = [
        [named(row[0], person_of(member)), *row[1:]]
        for row, member in zip(moves(members, episode.voices, shown.tables.names), members, strict=True)
    ]
    table(MOVED, rows, "Changes of position", shown.session.look_at)
    represented = {iteration for room, iteration in represented_texts(shown.events) if room == episode.id}
    log(_steps(shown, episode, people, represented), "Deliberation", look=shown.session.look_at)


def _steps(shown: Shown, episode: Episode, people: Sequence[dict[Any, Any]], represented: set[int]) -> list[Line]:
    """Return a heading for each step, and the texts of all; texts by a representative are marked."""
    turns = shown.tables.utterances
    turns = turns[(turns["room"] == episode.id) & (turns["round"] <= shown.round)]
    party, looks = {row["agent"]: str(row["party"]) for row in people}, edges(shown.tables)
    lines: list[Line] = []
    for (round_, form), rows in turns.groupby(["round", "form"], sort=False):
        lines.append(line(f"Round {round_}: {HEADINGS.get(form, form)}", tag="h3"))
        for row in rows.to_dict("records"):
            by = ", written by a representative" if row["iteration"] in represented else ""
            lines.append(turn(row, looks[party[row["agent"]]], shown.tables.names, by))
    return lines
