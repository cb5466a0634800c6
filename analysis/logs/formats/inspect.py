"""Logs of Inspect (inspect_ai), read by its own reader: each sample and epoch is a room.

The replies of the model are texts; the turn of a reply in its sample is its round. Prompts are not texts of a person and are
left out. A score with a number is a rating after the last reply; C, P and I, the grades of Inspect, are 1, 0.5 and 0. All other
values are missing. In a file that `run.py export eval` wrote, people, rounds and ratings are those of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parley.analysis.logs.log import Line, Log, Person, Rating, Use
from parley.analysis.logs.mapping import LogMap
from parley.llm.errors import UserError

ABOUT = "a log of Inspect (.eval or .json)"
INSTALL = "needs the package inspect-ai: pip install 'parley-debates[inspect]'"
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0}
SPEAKER, OURS = "model", "parley"
"""Who speaks in a sample that names no one, and where export eval keeps what Inspect has no place for."""


def read(paths: Sequence[Path], given: LogMap) -> Log:
    """Return the logs as one. Errors: UserError if the package is missing, and for a file that it cannot read."""
    try:
        return _read(paths, given)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:  # metadata that says parley, and is of another hand
        raise UserError(f"{paths[0]} has metadata {OURS} that run.py export eval does not write: {error!r}") from error


def _read(paths: Sequence[Path], given: LogMap) -> Log:
    logs = [read_eval(path) for path in paths]
    ours = all(OURS in (log.eval.metadata or {}) for log in logs)
    people: dict[tuple[str, str], Person] = {}
    ratings: list[Rating] = []
    lines: list[Line] = []
    uses: list[Use] = []
    for log, path in zip(logs, paths, strict=True):
        for sample in _samples(log, path):
            room = _room(sample) if len(logs) == 1 else f"{path.stem}/{_room(sample)}"
            spoken, seated = _lines(sample, room), _people(sample, room, log)
            last = max((line.round for line in spoken), default=0)
            people |= {(room, person.name): person for person in seated}
            ratings += _ratings(sample, room, last)
            lines += spoken
            tokens = [(usage.input_tokens, usage.output_tokens) for usage in sample.model_usage.values()]
            uses += [Use(room, seated[0].name, last, "sample", *counts) for counts in tokens]
    questions = dict.fromkeys(rating.question for rating in ratings)
    scales = {name: scale for name in questions if (scale := given.scale_of(name))}
    main = given.main or (str(logs[0].eval.metadata[OURS]["probe"]) if ours else next(iter(scales), ""))
    versions = {name: version for log in logs for name, version in log.eval.packages.items()}
    lacks = {"links": "a sample does not say who hears whom"}
    lacks |= {} if main else {"attitudes": "scores have no scale: give one in --map"}
    models = {log.eval.model for log in logs}
    return Log(
        f"inspect_ai {versions.get('inspect_ai', '')}".strip(), list(people.values()), ratings, lines, uses=uses,
        model=models.pop() if len(models) == 1 else "", main=main, scales=scales, lacks=lacks, versions=versions,
        topics_of_parley=ours,
    )  # fmt: skip


def read_eval(path: Path) -> Any:
    """Return a log of Inspect. Errors: UserError if the package is missing or cannot read the file."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise UserError(f"reading {path} {INSTALL}") from error
    try:
        return read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # of the reader of another package, on a file that is not trusted
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path} is no log that Inspect can read: {why}") from error


def _samples(log: Any, path: Path) -> Iterator[Any]:
    if not log.samples:
        raise UserError(f"{path} has no samples: run the evaluation with log_samples, or wait until it has ended")
    yield from sorted(log.samples, key=lambda sample: _ours(sample).get("place", 0))  # the reader sorts by name


def _ours(sample: Any) -> dict[str, Any]:
    """Return what export eval wrote of a room; empty for other samples."""
    ours = sample.metadata.get(OURS)
    return ours if isinstance(ours, dict) else {}


def _room(sample: Any) -> str:
    return str(sample.id) if OURS in sample.metadata else f"{sample.id}/{sample.epoch}"


def _people(sample: Any, room: str, log: Any) -> list[Person]:
    """Return the people of a room: those that export eval wrote, else the model."""
    if not (ours := _ours(sample)):
        return [Person(room, SPEAKER, str(log.eval.task), model=str(log.eval.model))]
    topic, group = str(ours["topic"]), str(ours["group"])
    keys = ("party", "seat", "llm")
    return [
        Person(room, str(person["name"]), topic, group, *[str(person[key]) for key in keys])
        for person in ours["people"]
    ]


def _lines(sample: Any, room: str) -> list[Line]:
    lines = []
    for turn, message in enumerate((message for message in sample.messages if message.role == "assistant"), 1):
        about = (message.metadata or {}).get(OURS) or {}
        text = message.text or None
        reason = about.get("reason") or (None if text else "the reply has no text")
        name, round_ = about.get("agent", SPEAKER), about.get("round", turn)
        lines.append(Line(room, str(name), int(round_), text, reason, str(about.get("form", "reply"))))
    if sample.error and not lines:
        lines = [Line(room, SPEAKER, 1, None, "the sample ended with an error")]
    return lines


def _ratings(sample: Any, room: str, last: int) -> Iterator[Rating]:
    for name, score in (sample.scores or {}).items():
        if isinstance(kept := (score.metadata or {}).get(OURS), list):
            yield from (_kept(room, name, stored_rating) for stored_rating in kept)
            continue
        values = score.value if isinstance(score.value, dict) else {"": score.value}
        for key, value in values.items():
            rating = score_of(value)
            reason = "no number in the score" if rating is None else None
            yield Rating(room, SPEAKER, last, f"{name}.{key}" if key else name, rating, reason, str(value))


def score_of(value: object) -> float | None:
    """Return a score as a number: a grade, a number, or a text that is one; None for anything else.

    >>> score_of("C"), score_of("4"), score_of(True), score_of("fair"), score_of(float("nan")), score_of([1])
    (1.0, 4.0, 1.0, None, None, None)
    """
    if isinstance(value, str) and value in GRADES:
        return GRADES[value]
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _kept(room: str, name: str, stored: dict[str, Any]) -> Rating:
    shares = stored.get("probabilities")
    return Rating(
        room, str(stored["agent"]), int(stored["round"]), name, stored["rating"], stored["reason"], stored.get("raw"),
        stored["attitude"], stored["expected"], tuple(shares) if shares else None,
    )  # fmt: skip
