"""An episode: one group deliberates about one question. A line of JSON each, its keys those of the dataclasses below.

Whatever is missing is null and has its reason, under the field's name ("agreement.draft" for an agreement); nothing
else has one. A line with a key too many or too few, a rating out of its range, a null without a reason is refused, by
file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from parley.agents.datafiles import build_from_table, save_text
from parley.agents.question import SPLITS, Question
from parley.llm.errors import UserError, unknown_name

SCALE = (1, 7)
"""Positions and agreements, strongly disagree to strongly agree."""
DEMOGRAPHICS = (
    "gender", "age", "ethnicity", "region", "education", "politics", "religion", "immigration", "income",
)  # fmt: skip
STATEMENTS = ("draft", "revision")
HUMAN = "human"
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Voice:
    """One participant of one episode, stable over a session's episodes.

    position: agreement with the question's statement, 1-7, before the opinion; after: the same at the end. agreement:
    with the statements of the group, 1-7, by which ("draft", "revision"). demographics: what was answered, as text.
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
    """A group on a question. Episodes of one session have the same participants. source: "human", or the model it was run on."""

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
        """Who takes part, in the order of the voices."""
        return tuple(voice.participant for voice in self.voices)


def renamed(episode: Episode, run: str, people: str) -> Episode:
    """As one of several runs: `run` stands before its id and session, `people` (who sits there) before every participant."""
    voices = tuple(replace(voice, participant=f"{people}/{voice.participant}") for voice in episode.voices)
    return replace(episode, id=f"{run}/{episode.id}", session=f"{run}/{episode.session}", voices=voices)


def to_line(episode: Episode) -> str:
    """The episode as one line of JSON, its newline included. Errors: ValueError for what `from_line` would refuse."""
    _fault(episode)
    return _encode(asdict(episode)) + "\n"


def from_line(line: str) -> Episode:
    """The episode of a line. Errors: ValueError or UserError, in a few words, for anything that is no episode."""
    values = _table(json.loads(line, parse_constant=_no_number), "an episode")
    _keys(values, Episode)
    question = build_from_table(Question, _table(values["question"], "question"), "question")
    voices = tuple(_voice(_table(one, "a voice")) for one in _list(values["voices"]))
    episode = Episode(**{**values, "question": question, "voices": voices})
    _fault(episode)
    return episode


def read_episodes(path: Path) -> tuple[Episode, ...]:
    """The episodes of a file, in its order. Errors: UserError, one line, with the file and the line at fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no text in UTF-8") from error
    found: list[Episode] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            found.append(_read(line, f"{path}, line {number}"))
    if not found:
        raise UserError(f"{path} holds no episodes")
    return checked(found, str(path))


def write_episodes(episodes: Sequence[Episode], path: Path) -> Path:
    """Write them, a line each; the path. Errors: UserError when one is none, or the file cannot be written."""
    checked(episodes, str(path))
    try:
        return save_text(path, "".join(map(to_line, episodes)))
    except ValueError as error:
        raise UserError(f"cannot write {path}: {error}") from error


def checked(episodes: Iterable[Episode], where: str) -> tuple[Episode, ...]:
    """The same episodes. Errors: UserError for what is none, an id that comes twice, a session whose participants change."""
    kept, sessions = dict[str, Episode](), dict[str, Episode]()
    for one in episodes:
        try:
            _fault(one)
        except (ValueError, UserError) as error:
            raise UserError(f"{where}: {one.id} is no episode: {error}") from error
        if one.id in kept:
            raise UserError(f"{where} has the episode {one.id} twice")
        first = sessions.setdefault(one.session, one)
        if set(first.participants) != set(one.participants):
            raise UserError(f"{where}: session {one.session} has other participants in {one.id} than in {first.id}")
        kept[one.id] = one
    return tuple(kept.values())


def _read(line: str, where: str) -> Episode:
    try:
        return from_line(line)
    except (ValueError, UserError) as error:
        raise UserError(f"{where} is no episode: {error}") from error


def _voice(values: dict[str, Any]) -> Voice:
    _keys(values, Voice)
    return Voice(**values)


def _fault(episode: Episode) -> None:
    """Errors: ValueError, naming the field, for a value of a wrong type or range and for a reason too many or too few."""
    for name in ("id", "session", "source"):
        _text(getattr(episode, name), name, empty=False)
    for name in (field.name for field in fields(Question)):
        _text(getattr(episode.question, name), f"question.{name}", empty=False)
    if episode.question.split not in SPLITS:
        raise unknown_name("split", episode.question.split, SPLITS)
    texts = {name: getattr(episode, name) for name in ("draft", "revision")}
    _optional(texts, _text)
    _reasons(texts, episode.reasons, "the episode")
    if len(set(episode.participants)) < len(episode.voices) or not episode.voices:
        raise ValueError("an episode has voices, each of another participant")
    for voice in episode.voices:
        _voice_fault(voice)


def _voice_fault(voice: Voice) -> None:
    _text(voice.participant, "participant", empty=False)
    for name, text in _table(voice.demographics, "demographics").items():
        _text(text, f"demographics.{name}", empty=False)
        if name not in DEMOGRAPHICS:
            raise unknown_name("demographics", name, DEMOGRAPHICS)
    agreement = {f"agreement.{name}": rating for name, rating in _table(voice.agreement, "agreement").items()}
    if wrong := set(voice.agreement) - set(STATEMENTS):
        raise unknown_name("agreement", min(map(str, wrong)), STATEMENTS)
    texts = {"opinion": voice.opinion, "critique": voice.critique}
    ratings = {"position": voice.position, "after": voice.after, **agreement}
    _optional(texts, _text)
    _optional(ratings, _rating)
    _reasons({**texts, **ratings}, voice.reasons, voice.participant)


def _optional(values: Mapping[str, Any], check: Any) -> None:
    for name, value in values.items():
        if value is not None:
            check(value, name)


def _text(value: object, name: str, empty: bool = True) -> None:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} must be a text, not {value!r}")


def _rating(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not SCALE[0] <= value <= SCALE[1]:
        raise ValueError(f"{name} must be a number from {SCALE[0]} to {SCALE[1]}, not {value!r}")


def _reasons(values: Mapping[str, object], reasons: object, whose: str) -> None:
    given = _table(reasons, "reasons")
    for name, why in given.items():
        _text(why, f"reasons.{name}", empty=False)
    missing = {name for name, value in values.items() if value is None}
    if without := sorted(missing - set(given)):
        raise ValueError(f"{', '.join(without)} of {whose} missing without a reason")
    if wrong := sorted(set(given) - missing):
        raise ValueError(f"{whose} has a reason for {', '.join(wrong)}, which is not missing")


def _keys(values: Mapping[str, object], kind: type) -> None:
    known = [field.name for field in fields(kind)]
    for key in values:
        if key not in known:
            raise unknown_name("key", key, known)
    if missing := [name for name in known if name not in values]:
        raise ValueError(f"lacks {', '.join(missing)}")


def _table(found: object, what: str) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        raise ValueError(f"{what} must be a table, not {found!r}")
    return dict(found)


def _list(found: object) -> list[object]:
    if not isinstance(found, list):
        raise ValueError(f"voices must be a list, not {found!r}")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number; what is missing is null")
