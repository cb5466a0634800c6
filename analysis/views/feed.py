"""A social medium as one person had it: the posts that it was shown in each round, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import solara

from parley.agents.society import PartyNames
from parley.analysis.feeds import Visit, names_of, visits
from parley.analysis.formatting import count_phrase
from parley.analysis.tables import Tables
from parley.analysis.views._finder import finder
from parley.analysis.views._html import Line, element, line, log
from parley.analysis.views._replay import moment
from parley.analysis.views._session import Shown, debates
from parley.analysis.views.conversation import edges
from parley.model.titles import seat_label

ORDER = 2
TITLE = "Feed"


def shows(tables: Tables) -> bool:
    return not tables.acts.empty


@solara.component
def View(shown: Shown) -> None:
    tables, titles = shown.tables, debates(shown.tables)
    room, person = solara.use_reactive(next(iter(titles))), solara.use_reactive("")
    here = room.value if room.value in titles else next(iter(titles))
    people = solara.use_memo(lambda: people_of(tables, here), [tables, here])
    agent = person.value if person.value in people else next(iter(people))
    with solara.Div(classes=["choose"]):
        if len(titles) > 1:
            finder("Room", titles, here, room.set, steps=True)
        finder("Whose feed", people, agent, person.set, steps=True)
    had = solara.use_memo(lambda: visits(tables, here, int(agent)), [tables, here, agent])
    element("p", visit_words(had, shown.round), css="soft", role="status")
    lines = solara.use_memo(lambda: feed_lines(tables, here, int(agent), had), [tables, here, agent])
    log(lines, "Feed", shown.round, shown.session.look_at, empty="No round so far.")


def people_of(tables: Tables, room: str) -> dict[str, str]:
    """Return a title for each person of a room, by its number: those who were shown most come first."""
    rows = tables.agents[tables.agents["room"] == room]
    counts = tables.exposures[tables.exposures["room"] == room]["agent"].value_counts()
    titles = {str(row["agent"]): f"{row['name']} ({seat_label(row, tables.names)})" for row in rows.to_dict("records")}
    return dict(sorted(titles.items(), key=lambda person: -counts.get(int(person[0]), 0)))


def visit_words(had: list[Visit], last: int) -> str:
    """Return how often a person was there, and how many posts it was shown."""
    past = [visit for visit in had if visit.round <= last]
    there, posts = sum(visit.active for visit in past), {post.post for visit in past for post in visit.posts}
    return (
        f"This person was there in {there} of {count_phrase(len(past), 'round')}, and was shown "
        f"{count_phrase(len(posts), 'different post')}."
    )


def feed_lines(tables: Tables, room: str, agent: int, had: list[Visit]) -> list[Line]:
    """Return for each round the posts that the person was shown, from the top, and then what it did."""
    rows = tables.agents[tables.agents["room"] == room].to_dict("records")
    seated, names, looks = {int(row["agent"]): row for row in rows}, names_of(tables, room), edges(tables)
    me = names[agent]
    lines: list[Line] = []
    for visit in had:
        at = moment(visit.round, 1, 3)
        lines.append(line(f"Round {visit.round}", tag="h3", at=at))
        if not visit.active:
            lines.append(line("This person was not there in this round.", "rated", at=at))
            continue
        if not visit.posts:
            lines.append(line("The feed was empty.", "rated", at=at))
        for post in visit.posts:
            lines.append(_post_line(post, seated, names, looks, tables.names) | {"at": moment(visit.round, 2, 3)})
        lines += [
            line(f" {act}", "did", name=me, person=(room, agent), at=moment(visit.round, 3, 3)) for act in visit.acts
        ]
    return lines


def _post_line(
    post: Any, seated: Mapping[int, Any], names: Mapping[int, str], looks: Mapping[str, Any], parties: PartyNames
) -> Line:
    author = seated[post.author]
    kind, colour = looks[str(author["party"])]
    way = [f"post {post.post}", f"score {post.score}"]
    way += [f"shared by {names.get(post.carrier, '?')}"] if post.carrier >= 0 else []
    way += ["found by the search"] if post.by_search else []
    who = f" ({seat_label(author, parties)}), {', '.join(way)}: "
    person = (str(author["room"]), int(author["agent"]))
    return line(post.text, f"turn {kind}", who=who, colour=colour, name=str(author["name"]), person=person)
