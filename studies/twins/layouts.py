"""Public files of people, and their conversion into the table of `people_file.py`. `data/layouts.toml` lists them."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.deliberation.episode_readers import read_any
from parley.analysis.human.readers import persuasiontrace as read_traces
from parley.analysis.human.readers import table as read_columns
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError, unknown_name
from parley.llm.user_file import file_spec

from .people_file import ANSWER, ATTRIBUTE, GIVEN, MESSAGE, PAGE, SEPARATOR, Event, RecordedPeople, Scale

REGISTRY = Path(__file__).parent / "data" / "layouts.toml"
AGREEMENT = ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree")
SEVEN = ("strongly disagree", "disagree", "somewhat disagree", "neutral", "somewhat agree", "agree", "strongly agree")
BEFORE, OPINION, DRAFT, CRITIQUE, AFTER = 0, 1, 2, 3, 4
"""The order of what happens in a deliberation."""
GIVEN_CLAIM = "given claim"
"""The condition of talks whose claim is in the file."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Layout:
    """A kind of public file. files: those whose conversion was tried, with their checksums (SHA-256)."""

    name: str
    title: str
    source: str
    licence: str
    needs: str
    gives: str
    read_here: str
    files: Mapping[str, str]


@cache
def layouts() -> Mapping[str, Layout]:
    """Return all layouts by name."""
    entries = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))["layout"]
    return {entry["name"]: _layout(entry) for entry in entries}


def _layout(entry: Mapping[str, Any]) -> Layout:
    files = {file["name"]: file["sha256"] for file in entry.get("file", ())}
    texts = {name: str(value) for name, value in entry.items() if name != "file"}
    return Layout(**texts, files=files)


def convert(path: str, layout: str, questions: Path | None = None) -> RecordedPeople:
    """Return the people of a file. questions: the table of questions of a survey. Errors: UserError."""
    if layout not in CONVERTERS:
        raise unknown_name("layout", layout, CONVERTERS)
    if (layout == SURVEY) != (questions is not None):
        raise UserError(
            "--questions FILE goes with --layout survey: " + ("add it" if layout == SURVEY else "leave it out")
        )
    events = survey(path, questions) if questions else CONVERTERS[layout](path)
    if not events:
        raise UserError(f"{path} has no answer and no message of a person: choose another --layout, or see {PAGE}")
    return RecordedPeople(file_spec(path).path.name, tuple(events))


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; "" of a folder."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def is_known(path: Path, layout: str) -> bool | None:
    """Return whether a file is one whose conversion was tried; None where no checksum of a file of this name is known."""
    expected = layouts()[layout].files.get(path.name)
    return None if expected is None else checksum(path) == expected


def habermas(path: str) -> list[Event]:
    """Return positions, opinions, drafts and critiques of deliberations. A participant is the same person in all its sessions."""
    return [event for episode in read_any(Path(path)) for event in _of_episode(episode)]


def _of_episode(episode: Episode) -> Iterator[Event]:
    topic, scale = episode.question.question, Scale(1, len(SEVEN), SEVEN)
    for voice in episode.voices:
        base = Event(voice.participant, MESSAGE, topic, group=episode.id, private=True)
        yield from _demographics(voice, base)
        for order, value in ((BEFORE, voice.position), (AFTER, voice.after)):
            if value is not None:
                yield base._replace(kind=ANSWER, value=scale.share(value), scale=scale, order=order)
        for order, text in ((OPINION, voice.opinion), (CRITIQUE, voice.critique)):
            if text:
                yield base._replace(text=_line(text), order=order)
    if episode.draft:
        yield Event("mediator", GIVEN, topic, text=_line(episode.draft), order=DRAFT, group=episode.id)


def _demographics(voice: Voice, base: Event) -> Iterator[Event]:
    for name, value in voice.demographics.items():
        yield base._replace(kind=ATTRIBUTE, topic=name, text=value, private=False)


def opinion_halves(path: str) -> list[Event]:
    """Return each opinion as two messages: its first and its second half, in sentences."""
    events = []
    for episode in read_any(Path(path)):
        for voice in episode.voices:
            sentences = SENTENCE_END.split(_line(voice.opinion or ""))
            if len(sentences) < 2:
                continue
            middle = (len(sentences) + 1) // 2
            for order, part in ((0, sentences[:middle]), (1, sentences[middle:])):
                text = " ".join(part)
                events.append(
                    Event(
                        voice.participant,
                        MESSAGE,
                        episode.question.question,
                        text=text,
                        order=order,
                        group=episode.id,
                        private=True,
                    )
                )
    return events


def debategpt(path: str) -> list[Event]:
    """Return agreement before and after a debate. Each row is a person; both people of a debate share its group."""
    likert = {f"agreement_{when}_likert": (1.0, 5.0) for when in ("pre", "post")}
    rows = read_columns(Path(path), ["debate_id", "treatment_type", "participant_side", "topic"], likert)
    events = []
    for place, row in enumerate(rows.to_dict("records"), 1):
        side = {"PRO": "for", "CON": "against"}.get(row["participant_side"], row["participant_side"])
        base = Event(f"participant {place}", ATTRIBUTE, "", group=f"{row['treatment_type']} {row['debate_id']}")
        events.append(base._replace(topic="side that it had to argue in a debate", text=side))
        events += _answers(base, row["topic"], [row[name] for name in likert], Scale(1, 5, AGREEMENT))
    return events


def persuasiontrace(path: str) -> list[Event]:
    """Return beliefs before, after each turn and at the end of a talk, as `run.py study human` reads them.

    Rounds that are in the export twice count once. Left out are beliefs after turns that do not go with the last belief,
    control talks, and talks about a person's own claim, whose words the export hides.
    """
    claims = read_columns(Path(path), ["proposition"], {})["proposition"]
    scale, events = Scale(0, 100), list[Event]()
    for row in read_traces(Path(path)).people.to_dict("records"):
        if row["condition"] != GIVEN_CLAIM:
            continue
        base = Event(f"participant {row['group']}", ATTRIBUTE, "", group=f"talk {row['group']}")
        side = "supports the claim" if row["side"] > 0 else "opposes the claim"
        events.append(base._replace(topic="talk", text=f"with a persuader who {side}"))
        topic = f"How far do you believe this claim, in percent? {claims[row['group']]}"
        events += _answers(base, topic, [100 * value for value in (row["before"], *row["turns"], row["after"])], scale)
    return events


def _answers(base: Event, topic: str, values: Sequence[float], scale: Scale) -> Iterator[Event]:
    """Yield the answers to one question in their order; a missing one leaves a gap."""
    for order, value in enumerate(values):
        if value == value:
            yield base._replace(kind=ANSWER, topic=topic, value=scale.share(value), scale=scale, order=order)


def debate(path: str) -> list[Event]:
    """Return opinions before and after (1 to 6) and messages of groups: the columns are ours, after the paper's description."""
    names = ("group", "person", "topic", "message")
    table = read_table(
        Path(path), names, PAGE, filled=names[:3], numbers=("round",), ends={"before": (1, 6), "after": (1, 6)}
    )
    last = int(table["round"].max()) if "round" in table and table["round"].notna().any() else 0
    scale, events = Scale(1, 6), list[Event]()
    seen: set[tuple[str, str, str, int]] = set()
    for row in table.to_dict("records"):
        base = Event(row["person"], ANSWER, row["topic"], group=row["group"], scale=scale)
        for name, order in (("before", 0), ("after", last + 1)):
            key = (row["person"], row["topic"], row["group"], order)
            if name in row and row[name] == row[name] and key not in seen:
                seen.add(key)
                events.append(base._replace(value=scale.share(row[name]), order=order))
        if row["message"] and row.get("round", float("nan")) == row.get("round", float("nan")):
            events.append(base._replace(kind=MESSAGE, text=row["message"], order=int(row["round"])))
    return events


def survey(path: str, questions: Path) -> list[Event]:
    """Return the answers of a survey with a row per person and wave, in the order of the table of questions."""
    asked = read_table(
        questions, ("question", "text"), PAGE, filled=("question", "text"), numbers=("lowest", "highest")
    )
    if not {"lowest", "highest"} <= set(asked.columns):
        raise UserError(f"{questions} needs the columns lowest and highest, the ends of each question's scale")
    names = list(asked["question"])
    table = read_table(Path(path), ("person",), PAGE, filled=("person",), numbers=(*names, "wave"))
    shown = [row for row in asked.to_dict("records") if row["question"] in table]
    if not shown:
        raise UserError(f"{path} has no column named like a question of {questions} ({names[0]}, ...)")
    attributes = [name for name in table if name not in (*names, "person", "wave")]
    events: dict[Event, None] = {}
    for number, row in zip(table.index, table.to_dict("records"), strict=True):
        wave = int(row["wave"]) if row.get("wave", 1.0) == row.get("wave", 1.0) and "wave" in row else 1
        base = Event(row["person"], ATTRIBUTE, "")
        events |= {base._replace(topic=name, text=row[name]): None for name in attributes if row[name] and wave == 1}
        for order, question in enumerate(shown):
            if row[question["question"]] == row[question["question"]]:
                events[
                    _survey_answer(base, question, row[question["question"]], f"{path}, row {number}")._replace(
                        order=order, wave=wave
                    )
                ] = None
    return list(events)


def _survey_answer(base: Event, question: Mapping[Any, Any], value: float, where: str) -> Event:
    low, high = question["lowest"], question["highest"]
    if not low < high or not low <= value <= high:
        raise UserError(
            f"{where}: the answer {value:g} to {question['question']} is not between low {low:g} and high {high:g}"
        )
    labels = tuple(word.strip() for word in question.get("labels", "").split(SEPARATOR) if word.strip())
    scale = Scale(low, high, labels)
    return base._replace(kind=ANSWER, topic=question["text"], value=scale.share(value), scale=scale)


def _line(text: str) -> str:
    return " ".join(text.split())


SURVEY = "survey"
CONVERTERS: Mapping[str, Callable[[str], list[Event]]] = {
    "habermas": habermas,
    "opinion-halves": opinion_halves,
    "debategpt": debategpt,
    "persuasiontrace": persuasiontrace,
    "debate": debate,
    SURVEY: lambda path: [],
}
"""By name of the layout; a survey needs its table of questions too (`survey`)."""
