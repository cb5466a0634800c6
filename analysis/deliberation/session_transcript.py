"""Private deliberations as a person would read them, in Markdown. What a model said is untrusted: it is shown as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis import disclaimers, provenance
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.deliberation.run_episodes import MediatorChoice, Stood
from parley.analysis.formatting import escape_markdown, format_number, group_title, markdown_table
from parley.analysis.tables import Tables
from parley.model.scenario import MEDIATOR

Found = Mapping[tuple[str, int], MediatorChoice]
MOVED = ("who", "position", "after", "agrees with the draft", "with the revision")
HEADINGS = {"opinion": "Opinions", "critique": "Critiques", "draft": "Draft", "revision": "Revision"}


def write_pages(tables: Tables, episodes: Sequence[Episode], found: Found, stood: Stood, path: Path) -> Path:
    """Write every episode: who moved, opinions, draft, critiques, revision, and what the mediator considered."""
    path.write_text(text(tables, episodes, found, stood), encoding="utf-8")
    return path


def text(tables: Tables, episodes: Sequence[Episode], found: Found, stood: Stood) -> str:
    """The same as text."""
    return "\n".join(_lines(tables, episodes, found, stood))


def _lines(tables: Tables, episodes: Sequence[Episode], found: Found, stood: Stood) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {escape_markdown(scenario['name'])}: deliberations\n"
    yield escape_markdown(
        f"{provenance.experiment_title(tables.header)}. Model: {disclaimers.model_label(tables.header)}. Seed {scenario['seed']}."
    )
    yield "Opinions and critiques are private: the mediator alone reads them. Ratings (1-7) are read by nobody.\n"
    yield "## Contents\n"
    for place, episode in enumerate(episodes, 1):
        yield f"- [{escape_markdown(episode.question.question)}](#episode-{place})"
    rooms = dict(iter(tables.utterances.groupby("room", sort=False)))
    people = {room: rows.to_dict("records") for room, rows in tables.agents.groupby("room", sort=False)}
    for place, episode in enumerate(episodes, 1):
        yield f'\n<a id="episode-{place}"></a>\n'
        yield from _episode(episode, people[episode.id], rooms.get(episode.id), found, stood)


def _episode(
    episode: Episode, people: Sequence[Mapping[Any, Any]], turns: pd.DataFrame | None, found: Found, stood: Stood
) -> Iterator[str]:
    members = [one for one in people if one["party"] != MEDIATOR]
    names = {one["agent"]: str(one["name"]) for one in people}
    yield f"## {escape_markdown(episode.question.question)}\n"
    group, session = group_title(members[0]["group"]), int(members[0]["repetition"]) + 1
    yield f"{escape_markdown(group)}, session {session}. Rated: *{escape_markdown(episode.question.statement)}*\n"
    yield who_moved(members, episode.voices) + "\n"
    if turns is None:
        return
    for (round_, form), rows in turns.groupby(["round", "form"], sort=False):
        yield f"### Round {round_}: {HEADINGS.get(form, form)}\n"
        for row in rows.to_dict("records"):
            by = " (by a representative)" if (episode.id, row["iteration"]) in stood else ""
            yield f"**{escape_markdown(str(row['name']))}{by}:** {_said(row)}\n"
        if form in STATEMENTS and (episode.id, round_) in found:
            yield from _considered(found[episode.id, round_], names)


def who_moved(members: Sequence[Mapping[Any, Any]], voices: Sequence[Voice]) -> str:
    """The same as a table in Markdown."""
    return markdown_table(MOVED, moves(members, voices))


def moves(members: Sequence[Mapping[Any, Any]], voices: Sequence[Voice]) -> list[list[str]]:
    """Position before and after and agreement with both statements, a row a member; a dash where there is no rating."""
    return [
        [
            f"{one['name']} ({one['seat']})",
            format_number(voice.position),
            format_number(voice.after),
            *[format_number(voice.agreement.get(name)) for name in STATEMENTS],
        ]
        for one, voice in zip(members, voices, strict=True)
    ]


def _considered(one: MediatorChoice, names: Mapping[int, str]) -> Iterator[str]:
    """The candidates, best first, and the rankings that were predicted."""
    places = {candidate: place for place, candidate in enumerate(one.chosen.order, 1)} if one.chosen else {}
    yield f"<details><summary>{len(one.candidates)} candidates</summary>\n"
    for candidate in sorted(one.candidates, key=lambda event: places.get(event.number, len(one.candidates) + 1)):
        text = candidate.text if candidate.text is not None else f"(none: {candidate.reason})"
        yield f"- {candidate.number + 1} (place {places.get(candidate.number, '–')}): {escape_markdown(text)}"
    yield ""
    for ranking in one.rankings:
        told = " > ".join(map(_place, ranking.order or ()))
        yield f"- {escape_markdown(names[ranking.agent])}, predicted: {escape_markdown(told or f'(none: {ranking.reason})')}"
    yield "\n</details>\n"


def _said(row: Mapping[Any, Any]) -> str:
    return (
        escape_markdown(row["text"])
        if isinstance(row["text"], str)
        else f"*(silent: {escape_markdown(str(row['reason']))})*"
    )


def _place(place: int | tuple[int, ...]) -> str:
    """A place of a ranking, by the numbers of the page: `2`, or `1 = 3`."""
    return " = ".join(str(number + 1) for number in (place if isinstance(place, tuple) else (place,)))
