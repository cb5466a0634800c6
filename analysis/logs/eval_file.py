"""A run as an `.eval` file of Inspect: one sample per room, with its texts, ratings and tokens.

A reply is a message of the assistant with its agent, round and form; a missing reply is an empty message with its reason. A
question is a score: its value is the last rating of each agent, and its metadata has every rating. The file has no prompts,
because the record has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.logs.formats.inspect import INSTALL, OURS
from parley.analysis.model_calls import asked_of_model
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.model.files import file_errors

RATED = ("agent", "round", "rating", "attitude", "expected", "probabilities", "reason", "raw")


def write_eval(tables: Tables, path: Path, made: float = 0.0) -> int:
    """Write the file; return the number of samples. made: seconds since 1970, the time in the file (default: 1970).

    Errors: UserError if the package inspect-ai is missing, for a run without texts and ratings, and if it cannot be written.
    """
    try:
        from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats, write_eval_log
        from inspect_ai.model import ModelUsage
    except ImportError as error:
        raise UserError(f"writing {path} {INSTALL}") from error
    header, model = tables.header, str(tables.header.scenario["llm"])
    if tables.agents.empty or not len(tables.utterances) + len(tables.attitudes) + len(tables.probes):
        raise UserError("the run has no texts and no ratings, so there is nothing to write")
    samples = list(_samples(tables))
    mark = digest([header.scenario, header.data]).hex()[:22]
    time = datetime.fromtimestamp(made, UTC).isoformat()
    used = {name: ModelUsage(**usage) for name, usage in _usage(asked_of_model(tables.calls), model).items()}
    log = EvalLog(
        status="success" if tables.finished else "started",
        eval=EvalSpec(
            created=time, task=str(header.scenario["name"]), model=model, eval_id=mark, run_id=mark, task_id=mark,
            dataset=EvalDataset(
                name=str(header.scenario["name"]), samples=len(samples), sample_ids=[sample.id for sample in samples]
            ),
            config=EvalConfig(), packages=header.versions,
            metadata={OURS: {"probe": header.scenario["probe"], "scenario": header.scenario, "revision": header.revision}},
        ),
        results=EvalResults(total_samples=len(samples), completed_samples=len(samples)),
        stats=EvalStats(started_at=time, completed_at=time, model_usage=used),
        samples=samples,
    )  # fmt: skip
    with file_errors(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(log, str(path))
    return len(samples)


def _samples(tables: Tables) -> Iterator[Any]:
    """Yield a sample per room, in seating order."""
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelUsage

    lines, ratings = _by_room(tables.utterances), _by_room(pd.concat([tables.attitudes, tables.probes]))
    calls = dict(iter(asked_of_model(tables.calls).groupby("room", sort=False)))
    for place, (room, people) in enumerate(tables.agents.groupby("room", sort=False)):
        seats = people.to_dict("records")
        names = _names(seats)
        first = seats[0]
        about = {key: str(first[key]) for key in ("topic", "group")} | {
            "repetition": int(first["repetition"]),
            "place": place,
            "people": [
                {"name": names[seat["agent"]], **{key: str(seat[key]) for key in ("party", "seat", "llm")}}
                for seat in seats
            ],
        }
        used = _usage(calls[room], str(tables.header.scenario["llm"])) if room in calls else {}
        yield EvalSample(
            id=str(room), epoch=1, input=f"{tables.title(str(first['topic']))}: {len(seats)} agents", target="",
            messages=[_message(line, names) for line in lines.get(str(room), ())],
            scores=_scores(ratings.get(str(room), ()), names),
            metadata={OURS: about}, model_usage={name: ModelUsage(**usage) for name, usage in used.items()},
        )  # fmt: skip


def _by_room(frame: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    rows = frame.astype(object).where(frame.notna(), None)
    return {str(room): room_rows.to_dict("records") for room, room_rows in rows.groupby("room", sort=False)}


def _names(seats: list[dict[str, Any]]) -> dict[int, str]:
    """Return a name for each agent of a room, with its seat where two have the same name."""
    names = [str(seat["name"]) for seat in seats]
    return {
        int(seat["agent"]): name if names.count(name) == 1 else f"{name} ({seat['seat']})"
        for seat, name in zip(seats, names, strict=True)
    }


def _message(row: dict[str, Any], names: dict[int, str]) -> Any:
    from inspect_ai.model import ChatMessageAssistant

    about = {"agent": names[row["agent"]], "round": int(row["round"]), "form": row["form"], "reason": row["reason"]}
    mark = digest([row["room"], row["iteration"]]).hex()[:22]
    return ChatMessageAssistant(id=mark, content=row["text"] or "", source="generate", metadata={OURS: about})


def _scores(rows: Any, names: dict[int, str]) -> dict[str, Any]:
    """Return a score per question: the last rating of each agent, and in the metadata every rating."""
    from inspect_ai.scorer import Score

    kept: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        shares = json.loads(row["probabilities"]) if row["probabilities"] else None
        rating = {key: _plain(row[key]) for key in RATED} | {
            "agent": names[row["agent"]],
            "round": int(row["round"]),
            "probabilities": shares,
        }
        kept.setdefault(str(row["probe"]), []).append(rating | {"probabilities": shares})
    scores = {}
    for question, ratings in kept.items():
        last = {rating["agent"]: rating["rating"] for rating in sorted(ratings, key=lambda rating: rating["round"])}
        scores[question] = Score(
            value=last, explanation="The last rating of each agent; empty: missing.", metadata={OURS: ratings}
        )
    return scores


def _plain(value: Any) -> Any:
    """Return a value for JSON; None for a missing number."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _usage(calls: pd.DataFrame, model: str) -> dict[str, dict[str, int]]:
    """Return the tokens of the calls, by model; none where the server reported no tokens for all of them."""
    counted = calls[calls["uncounted"] == 0]
    if counted.empty:
        return {}
    tokens = {
        "input_tokens": int(counted["prompt_tokens"].sum()),
        "output_tokens": int(counted["completion_tokens"].sum()),
    }
    return {model: tokens | {"total_tokens": sum(tokens.values())}}
