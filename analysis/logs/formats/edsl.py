"""Results of EDSL (expectedparrot/edsl), as `results.to_csv()` or as the JSON of `results.to_dict()`.

Each interview (agent, scenario, model, iteration) is a person in a room of its own, because no one hears another. Its group is
the scenario. A question of the type linear_scale or numerical is a rating; its options are the scale. All other answers are
texts. The agent's trait `party`, if it has one, is its party.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.analysis.logs.log import Line, Log, Person, Rating, Scale, finite_number
from parley.analysis.logs.mapping import LogMap
from parley.analysis.table_files import read_records
from parley.llm.errors import UserError

ABOUT = "Results of EDSL (.csv, or .json of to_dict())"
RATED = ("linear_scale", "likert_five", "numerical")
PARTS = ("answer", "agent", "scenario", "model", "iteration", "question_type", "question_options")
NUMBER = "no number in the answer"
Interview = dict[str, dict[str, Any]]


def read(paths: Sequence[Path], given: LogMap) -> Log:
    """Return the results as a log. Errors: UserError of one line that names the column or key that a file lacks."""
    interviews = [interview for path in paths for interview in _interviews(path)]
    people: list[Person] = []
    ratings: list[Rating] = []
    lines: list[Line] = []
    scales: dict[str, Scale] = {}
    for number, interview in enumerate(interviews, 1):
        person = _person(interview, number)
        people.append(person)
        for question, answer in interview["answer"].items():
            kind = str(interview["question_type"].get(f"{question}_question_type", ""))
            scale = (
                given.scale_of(question)
                if kind not in RATED
                else _scale(interview, question) or given.scale_of(question)
            )
            if kind in RATED or scale:
                scales |= {question: scale} if scale else {}
                ratings.append(_rating(person, question, answer))
            else:
                text = None if answer in (None, "") else str(answer)
                reason = None if text else "no answer"
                lines.append(Line(person.room, person.name, 1, text, reason, "interview"))
    main = given.main or next((rating.question for rating in ratings if rating.question in scales), "")
    models = {person.model for person in people}
    lacks = {"links": "an interview has no partners", "calls": "calls are not read from these results"}
    model = models.pop() if len(models) == 1 else ""
    return Log("EDSL", people, ratings, lines, model=model, main=main, scales=scales, lacks=lacks)


def _interviews(path: Path) -> Iterator[Interview]:
    """Yield each interview by part: answer, agent, scenario, model, iteration, question_type, question_options."""
    has_results = False
    for row in _json_rows(path) if path.suffix.lower() == ".json" else read_records(path).values():
        interview: Interview = {part_name: {} for part_name in PARTS}
        for column, value in row.items():
            part_name, _, name = str(column).partition(".")
            if part_name in interview and name:
                interview[part_name][name] = value
        if not interview["answer"]:
            raise UserError(f"{path} lacks a column answer.QUESTION: give the table that results.to_csv() writes")
        has_results = True
        yield interview
    if not has_results:
        raise UserError(f"{path} has no results")


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the results of a JSON file as rows of the CSV. Errors: UserError that names the key that it lacks."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))["data"]
        for result in results:
            kinds = result.get("question_to_attributes") or {}
            yield {
                **{f"answer.{name}": value for name, value in result["answer"].items()},
                **{f"agent.{name}": value for name, value in (result["agent"].get("traits") or {}).items()},
                "agent.agent_name": result["agent"].get("name") or "",
                **{
                    f"scenario.{name}": value
                    for name, value in result["scenario"].items()
                    if not name.startswith("edsl_")
                },
                "model.model": result["model"].get("model", ""),
                "iteration.iteration": result.get("iteration", 0),
                **{f"question_type.{name}_question_type": of.get("question_type") for name, of in kinds.items()},
                **{
                    f"question_options.{name}_question_options": of.get("question_options")
                    for name, of in kinds.items()
                },
            }
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error
    except KeyError as error:
        raise UserError(f"{path} is no results of EDSL: it lacks {error}") from error
    except (TypeError, AttributeError) as error:
        raise UserError(f"{path} is no results of EDSL: give the JSON of results.to_dict() ({error})") from error


def _person(interview: Interview, number: int) -> Person:
    agent, scenario = interview["agent"], interview["scenario"]
    shown = {name: value for name, value in scenario.items() if not name.endswith("_index") and value not in ("", None)}
    group = ", ".join(f"{name}={value}" for name, value in shown.items())
    name = str(agent.get("agent_name") or f"agent {number}")
    party, model = str(agent.get("party") or ""), str(interview["model"].get("model") or "")
    return Person(f"interview {number}", name, "", group, party, "", model)


def _rating(person: Person, question: str, answer: Any) -> Rating:
    """Return an answer as a rating; one that is no number is missing, with the answer in `raw`."""
    raw = None if answer in (None, "") else str(answer)
    value = finite_number(answer)
    reason = None if value is not None else NUMBER if raw else "no answer"
    return Rating(person.room, person.name, 0, question, value, reason, raw)


def _scale(interview: Mapping[str, Mapping[str, Any]], question: str) -> Scale | None:
    """Return the scale that the options of a question give; None without two different numbers."""
    options = interview["question_options"].get(f"{question}_question_options")
    if isinstance(options, str):
        try:
            options = ast.literal_eval(options)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if not isinstance(options, list | tuple):
        return None
    numbers = [
        number for option in options if not isinstance(option, str) and (number := finite_number(option)) is not None
    ]
    return Scale(min(numbers), max(numbers)) if len(set(numbers)) > 1 else None
