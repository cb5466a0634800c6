"""The layout of the shared task "Many Worlds" (COLM 2026): runs of silisocs in the folders of a sweep.

    STUDY/sweeps/manifest.jsonl                                    one row per run: condition, model, seed, status
    STUDY/sweeps/runs/CONDITION/seed_N/run/probe_events.jsonl[.gz]   answers to probes
    STUDY/sweeps/runs/CONDITION/seed_N/run/action_events.jsonl[.gz]  acts, with the texts of posts

FILE is a study, its sweeps, or any folder above such files. A room is a run, a group is a condition. The probe that is the
attitude and its scale come from --map, because events do not name them; without a map the ratings are further questions. A
probe is asked before a step (the default of silisocs), so the texts of episode N are in round N + 1, after the survey of round
N. Probes with the anchor `post_step` or `run_end` follow these texts.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parley.analysis.formatting import count_phrase
from parley.analysis.logs.log import Line, Log, Person, Rating, finite_number
from parley.analysis.logs.mapping import LogMap
from parley.llm.errors import UserError

ABOUT = "a study folder of the Many Worlds shared task, or runs of silisocs"
PROBES, ACTIONS = "probe_events.jsonl", "action_events.jsonl"
NEEDED = ("source_user", "label", "episode", "data")
TEXTS = ("post_text", "content", "text", "message")
"""Where an act keeps what it wrote, the first that is there."""
AFTER = ("post_step", "run_end")
Event = dict[str, Any]


def read(paths: Sequence[Path], given: LogMap) -> Log:
    """Return all runs below the folders as a log. Errors: UserError of one line that names what a file lacks."""
    runs = sorted({file.parent for path in paths for file in path.rglob("*_events.jsonl*") if _is_events(file)})
    if not runs:
        raise UserError(f"{paths[0]} has no {PROBES} or {ACTIONS} (also .gz): give a study, or the folder of a run")
    models = _manifest(paths)
    people: dict[tuple[str, str], Person] = {}
    ratings: list[Rating] = []
    lines: list[Line] = []
    nameless = 0
    for run in runs:
        room, group, seed = _names(run)
        probes, acts = (list(_events(run, name)) for name in (PROBES, ACTIONS))
        answers = [_rating(room, event) for event in probes if _has_names(event)]
        texts = [line for event in acts if _has_names(event) for line in _lines(room, event)]
        nameless += sum(not _has_names(event) for event in (*probes, *acts))
        for name in dict.fromkeys(record.name for rows in (answers, texts) for record in rows):
            people[room, name] = Person(room, name, "", group, "", "", models.get((group, seed), ""))
        ratings += answers
        lines += texts
    scales = {rating.question: scale for rating in ratings if (scale := given.scale_of(rating.question))}
    main = given.main or next(iter(scales), "")
    lacks = {
        "acts": "acts of silisocs other than texts are not read",
        "links": "events do not say who follows whom",
        "calls": "calls are not read from prompts_and_responses",
    }
    if nameless:
        lacks["names"] = f"{count_phrase(nameless, 'event')} without a name in source_user or label left out"
    if not main:
        lacks["attitudes"] = "probe events name no scale: give one in --map, with main"
    return Log("silisocs", list(people.values()), ratings, lines, main=main, scales=scales, lacks=lacks)


def _is_events(path: Path) -> bool:
    return path.name.removesuffix(".gz") in (PROBES, ACTIONS)


def _names(run: Path) -> tuple[str, str, str]:
    """Return room, condition and seed of the folder of a run: .../CONDITION/seed_N/run."""
    place = run.parent if run.name == "run" else run
    condition = place.parent.name if place.name.startswith("seed_") else ""
    return f"{condition}/{place.name}" if condition else str(place.name), condition, place.name.removeprefix("seed_")


def _manifest(paths: Sequence[Path]) -> dict[tuple[str, str], str]:
    """Return the model of each (condition, seed), of the manifests that are there."""
    rows = [row for path in paths for file in sorted(path.rglob("manifest.jsonl")) for row in _rows(file)]
    return {
        (str(row.get("condition_id", row.get("condition", ""))), str(row.get("seed", ""))): str(row.get("model") or "")
        for row in rows
    }


def _events(run: Path, name: str) -> Iterator[Event]:
    """Yield the events of a file of a run, if it is there. Errors: UserError that names the key that a row lacks."""
    path = next((run / f"{name}{ending}" for ending in ("", ".gz") if (run / f"{name}{ending}").exists()), None)
    for number, row in enumerate(_rows(path), 1) if path else ():
        if lacking := [key for key in NEEDED if key not in row]:
            raise UserError(f"{path}, line {number} lacks {lacking[0]}: an event has {', '.join(NEEDED)}")
        if not isinstance(row["data"], dict) or not isinstance(row["episode"], int) or row["episode"] < 0:
            raise UserError(f"{path}, line {number}: data must be an object, and episode a whole number from 0 on")
        yield row


def _has_names(event: Event) -> bool:
    """Return whether an event says who it is of, and what it is: a null is no name."""
    names = [event["source_user"], event["label"]]
    return all(isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip() for name in names)


def _rows(path: Path) -> Iterator[Event]:
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
        for line in filter(str.strip, text.split("\n")):
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line is no JSON object")
            yield row
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a file of JSON lines: {error}") from error


def _rating(room: str, event: Event) -> Rating:
    """Return the answer to a probe; one that is no number is missing, and stays in `raw`."""
    data, after = event["data"], event.get("anchor") in AFTER
    answer = data.get("probe_return")
    raw = data.get("raw_response", answer)
    value = finite_number(answer)
    reason = None if value is not None else "no number in the answer" if answer is not None else "no answer"
    round_ = event["episode"] + (1 if after else 0)
    text = None if raw is None else str(raw)
    return Rating(room, str(event["source_user"]), round_, str(event["label"]), value, reason, text)


def _lines(room: str, event: Event) -> Iterator[Line]:
    """Yield the text that an act wrote, if it wrote one."""
    text = next((event["data"][key] for key in TEXTS if isinstance(event["data"].get(key), str)), None)
    if text and text.strip():
        yield Line(room, str(event["source_user"]), event["episode"] + 1, text, None, str(event["label"]))
