"""Private deliberations as Markdown to read. What a model said is untrusted, so it is shown as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from parley.agents.society import PartyNames
from parley.analysis import disclaimers, provenance
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.deliberation.run_episodes import Choices, MediatorChoice, Represented
from parley.analysis.formatting import escape_markdown, format_number, markdown_table
from parley.analysis.tables import Tables
from parley.model.events import Balloted, Ranked
from parley.model.scenario import MEDIATOR
from parley.model.titles import group_title, seat_label

MOVED = ("who", "position", "after", "agrees with the draft", "with the revision")
HEADINGS = {"opinion": "Opinions", "critique": "Critiques", "draft": "Draft", "revision": "Revision"}


def text(tables: Tables, episodes: Sequence[Episode], choices: Choices, represented: Represented) -> str:
    """Return every episode: who moved, opinions, draft, critiques, revision, and what the mediator considered."""
    return "\n".join(_lines(tables, episodes, choices, represented))


def _lines(tables: Tables, episodes: Sequence[Episode], choices: Choices, represented: Represented) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {escape_markdown(scenario['name'])}: deliberations\n"
    title, model = provenance.experiment_title(tables.header), disclaimers.model_label(tables.header)
    yield escape_markdown(f"{title}. Model: {model}. Seed {scenario['seed']}.")
    yield "Opinions and critiques are private: only the mediator reads them. No one reads the ratings (1-7).\n"
    yield "## Contents\n"
    for place, episode in enumerate(episodes, 1):
        yield f"- [{escape_markdown(episode.question.question)}](#episode-{place})"
    turns = dict(iter(tables.utterances.groupby("room", sort=False)))
    agents = {room: rows.to_dict("records") for room, rows in tables.agents.groupby("room", sort=False)}
    for place, episode in enumerate(episodes, 1):
        yield f'\n<a id="episode-{place}"></a>\n'
        yield from _episode(episode, agents[episode.id], turns.get(episode.id), choices, represented, tables.names)


def _episode(
    episode: Episode,
    agents: Sequence[Mapping[Any, Any]],
    turns: pd.DataFrame | None,
    choices: Choices,
    represented: Represented,
    parties: PartyNames,
) -> Iterator[str]:
    members = [agent for agent in agents if agent["party"] != MEDIATOR]
    group, session = group_title(members[0]["group"], parties), int(members[0]["repetition"]) + 1
    yield f"## {escape_markdown(episode.question.question)}\n"
    yield f"{escape_markdown(group)}, session {session}. Rated: *{escape_markdown(episode.question.statement)}*\n"
    yield who_moved(members, episode.voices, parties) + "\n"
    if turns is None:
        return
    for (round_, form), rows in turns.groupby(["round", "form"], sort=False):
        yield f"### Round {round_}: {HEADINGS.get(form, form)}\n"
        for row in rows.to_dict("records"):
            by = " (by a representative)" if (episode.id, row["iteration"]) in represented else ""
            silent = f"*(silent: {escape_markdown(str(row['reason']))})*"
            shown_text = escape_markdown(row["text"]) if isinstance(row["text"], str) else silent
            yield f"**{escape_markdown(str(row['name']))}{by}:** {shown_text}\n"
        if form in STATEMENTS and (episode.id, round_) in choices:
            yield from _considered(
                choices[episode.id, round_], {agent["agent"]: str(agent["name"]) for agent in agents}
            )


def who_moved(members: Sequence[Mapping[Any, Any]], voices: Sequence[Voice], parties: PartyNames) -> str:
    """Return `moves` as a table in Markdown."""
    return markdown_table(MOVED, moves(members, voices, parties))


def moves(members: Sequence[Mapping[Any, Any]], voices: Sequence[Voice], parties: PartyNames) -> list[list[str]]:
    """Return a row per member: position before and after, agreement with both statements; a dash for a missing rating.

    parties: their names.
    """
    return [
        [
            f"{member['name']} ({seat_label(member, parties)})",
            *map(format_number, (voice.position, voice.after, *map(voice.agreement.get, STATEMENTS))),
        ]
        for member, voice in zip(members, voices, strict=True)
    ]


def _considered(choice: MediatorChoice, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the candidates, best first, and the rankings: those predicted, then those of members themselves."""
    places = {number: place for place, number in enumerate(choice.chosen.order, 1)} if choice.chosen else {}
    yield f"<details><summary>{len(choice.candidates)} candidates</summary>\n"
    for candidate in sorted(choice.candidates, key=lambda event: places.get(event.number, len(choice.candidates) + 1)):
        text = candidate.text if candidate.text is not None else f"(none: {candidate.reason})"
        yield f"- {candidate.number + 1} (place {places.get(candidate.number, '–')}): {escape_markdown(text)}"
    yield ""
    rankings: list[Balloted | Ranked] = [*choice.rankings, *choice.own]
    for ranking in rankings:
        order = " > ".join(map(_place, ranking.order or ())) or f"(none: {ranking.reason})"
        kind = "predicted"
        if isinstance(ranking, Balloted):
            kind = "by a representative" if ranking.agent in choice.represented else "own"
        yield f"- {escape_markdown(names[ranking.agent])}, {kind}: {escape_markdown(order)}"
    yield "\n</details>\n"


def _place(place: int | tuple[int, ...]) -> str:
    """Return a place of a ranking, by the numbers of the page: `2`, or `1 = 3`."""
    return " = ".join(str(number + 1) for number in (place if isinstance(place, tuple) else (place,)))
