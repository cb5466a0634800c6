"""An episode of a deliberation: one file, a row or line of JSON for each.

A file has one episode per line of JSON, with the fields below as keys.

A missing value is null and has its reason, under the field's name ("agreement.draft" for an agreement); no other value
has one. A line with a key too many or too few, a rating out of range, or a null without a reason is refused, by file
and line.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from parley.agents.datafiles import build_from_table, save_text
from parley.agents.question import SPLITS, Question, questionnaire
from parley.llm.errors import UserError, unknown_name

SCALE = (1, 7)
"""Positions and agreements, from strongly disagree to strongly agree."""
DEMOGRAPHICS = (
    "gender", "age", "ethnicity", "region", "education", "politics", "religion", "immigration", "income",
)  # fmt: skip
STATEMENTS = ("draft", "revision")
HUMAN = "human"
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Voice:
    """One participant of one episode; participants have the same names in all episodes of a session.

    position: agreement with the question's statement (1-7) before the opinion; after: the same at the end. agreement:
    with the group's statements (1-7), by name ("draft", "revision"). demographics: answers about oneself, as text.
    """

    participant: str
    opinion: str | None
    critique: str | None
    position: float | None
    agreement: Mapping[str, float | None]
    after: float | None
    demographics: Mapping[str, str]
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class Episode:
    """A group on a question. Episodes of one session have the same participants. source: "human", or the model that spoke."""

    id: str
    session: str
    question: Question
    voices: tuple[Voice, ...]
    draft: str | None
    revision: str | None
    source: str
    reasons: Mapping[str, str]

    @property
    def participants(self) -> tuple[str, ...]:
        """The participants, in the order of the voices."""
        return tuple(voice.participant for voice in self.voices)


def renamed(episode: Episode, run: str, people: str) -> Episode:
    """Return an episode as one of several runs: `run` before its id and session, `people` before its participants' names."""
    voices = tuple(replace(voice, participant=f"{people}/{voice.participant}") for voice in episode.voices)
    return replace(episode, id=f"{run}/{episode.id}", session=f"{run}/{episode.session}", voices=voices)


def to_line(episode: Episode) -> str:
    """Return the episode as one line of JSON, with its newline. Errors: ValueError for what `from_line` would refuse."""
    _check_episode(episode)
    return _encode(asdict(episode)) + "\n"


def from_line(line: str) -> Episode:
    """Return the episode of a line. Errors: ValueError or UserError, in a few words, for anything else."""
    values = _fields_of(json.loads(line, parse_constant=_refuse_number), "an episode", Episode)
    if not isinstance(values["voices"], list):
        raise ValueError(f"voices is {values['voices']!r}, but must be a list")
    question = build_from_table(Question, _as_table(values["question"], "question"), "question")
    voices = tuple(Voice(**_fields_of(voice, "a voice", Voice)) for voice in values["voices"])
    episode = Episode(**{**values, "question": question, "voices": voices})
    _check_episode(episode)
    return episode


def read_episodes(path: Path) -> tuple[Episode, ...]:
    """Return the episodes of a file, in its order. Errors: UserError, one line, with the file and the line at fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text file in UTF-8") from error
    episodes: list[Episode] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                episodes.append(from_line(line))
            except (ValueError, UserError) as error:
                raise UserError(f"{path}, line {number} is not an episode: {error}") from error
    if not episodes:
        raise UserError(f"{path} has no episodes")
    return checked(episodes, str(path))


def write_episodes(episodes: Sequence[Episode], path: Path) -> Path:
    """Write episodes, one per line; return the path. Errors: UserError for an invalid episode, or if that fails."""
    checked(episodes, str(path))
    return save_text(path, "".join(map(to_line, episodes)))


def checked(episodes: Iterable[Episode], where: str) -> tuple[Episode, ...]:
    """Return the same episodes. Errors: UserError for an invalid one, an id that comes twice, a session whose people change."""
    by_id, sessions = dict[str, Episode](), dict[str, Episode]()
    for episode in episodes:
        try:
            _check_episode(episode)
        except (ValueError, UserError) as error:
            raise UserError(f"{where}: {episode.id} is not a valid episode: {error}") from error
        if episode.id in by_id:
            raise UserError(f"{where} has the episode {episode.id} twice: remove one of the two")
        first = sessions.setdefault(episode.session, episode)
        if set(first.participants) != set(episode.participants):
            raise UserError(
                f"{where}: the episodes {episode.id} and {first.id} of session {episode.session} must have the same participants"
            )
        by_id[episode.id] = episode
    return tuple(by_id.values())


def _check_episode(episode: Episode) -> None:
    """Errors: ValueError, naming the field, for a value of a wrong type or range, and for a reason too many or too few."""
    names = {name: getattr(episode, name) for name in ("id", "session", "source")}
    names |= {f"question.{field.name}": getattr(episode.question, field.name) for field in fields(Question)}
    for name, value in names.items():
        _check_text(value, name, empty=False)
    if episode.question.split not in SPLITS:
        raise unknown_name("split", episode.question.split, SPLITS)
    _check_missing({name: getattr(episode, name) for name in STATEMENTS}, {}, episode.reasons, "the episode")
    if len(set(episode.participants)) < len(episode.voices) or not episode.voices:
        raise ValueError("an episode needs voices, each of a different participant")
    item_names = {*DEMOGRAPHICS, *(item.name for item in questionnaire(episode.question.place))}
    for voice in episode.voices:
        _check_voice(voice, item_names)


def _check_voice(voice: Voice, demographics: Collection[str]) -> None:
    """Errors: as `_check_episode`. demographics: the items that participants may have answered."""
    _check_text(voice.participant, "participant", empty=False)
    for name, text in _as_table(voice.demographics, "demographics").items():
        _check_text(text, f"demographics.{name}", empty=False)
        if name not in demographics:
            raise unknown_name("demographics", name, demographics)
    agreement = {f"agreement.{name}": rating for name, rating in _as_table(voice.agreement, "agreement").items()}
    if unknown := set(voice.agreement) - set(STATEMENTS):
        raise unknown_name("agreement", min(map(str, unknown)), STATEMENTS)
    texts = {"opinion": voice.opinion, "critique": voice.critique}
    ratings = {"position": voice.position, "after": voice.after, **agreement}
    _check_missing(texts, ratings, voice.reasons, voice.participant)


def _check_missing(texts: Mapping[str, object], ratings: Mapping[str, object], reasons: object, whose: str) -> None:
    """Check the values that are known, and that exactly the missing ones have a reason."""
    for name, value in {**texts, **ratings}.items():
        if value is not None:
            (_check_text if name in texts else _check_rating)(value, name)
    stated = _as_table(reasons, "reasons")
    for name, reason in stated.items():
        _check_text(reason, f"reasons.{name}", empty=False)
    missing = {name for name, value in {**texts, **ratings}.items() if value is None}
    if without := sorted(missing - set(stated)):
        raise ValueError(f"{', '.join(without)} of {whose} missing without a reason")
    if needless := sorted(set(stated) - missing):
        raise ValueError(f"{whose} has a reason for {', '.join(needless)}, which is not missing")


def _check_text(value: object, name: str, empty: bool = True) -> None:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} is {value!r}, but must be a text")


def _check_rating(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not SCALE[0] <= value <= SCALE[1]:
        raise ValueError(f"{name} is {value!r}, but must be a number between {SCALE[0]} and {SCALE[1]}")


def _fields_of(value: object, what: str, kind: type) -> dict[str, Any]:
    """Return a table whose keys are the fields of a class. Errors: ValueError for any other."""
    values, field_names = _as_table(value, what), [field.name for field in fields(kind)]
    for key in values:
        if key not in field_names:
            raise unknown_name("key", key, field_names)
    if missing := [name for name in field_names if name not in values]:
        raise ValueError(f"lacks {', '.join(missing)}")
    return values


def _as_table(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is {value!r}, but must be a table")
    return dict(value)


def _refuse_number(name: str) -> float:
    raise ValueError(f"{name} must be a number, or null for a missing value")
