"""Reads published surveys with distributions of answers, in the form of their files. None of them comes with Parley.

GlobalOpinionQA  Durmus et al. 2023: a CSV or JSONL with question, selections (shares by country), options, source; no n
OpinionQA        Santurkar et al. 2023: the folder of one wave with info.csv, metadata.csv, responses.csv
SimBench         2025: a CSV or JSONL with human_answer, input_template, group_prompt_template, group_prompt_variable_map,
                 group_size
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.respondent import Group
from parley.analysis.polls.table import SurveyRow, SurveyTable, make_table, option_fault, read_own_form
from parley.analysis.table_files import read_records, read_table
from parley.llm.errors import UserError

GLOBAL, OPINION, SIM = "GlobalOpinionQA", "OpinionQA", "SimBench"
WAVE_FILES = ("info.csv", "metadata.csv", "responses.csv")
WEIGHT = "WEIGHT_W"
"""How the column of weights begins."""
ATTRIBUTES: Mapping[str, str] = {
    "CREGION": "region of the United States", "AGE": "age", "SEX": "sex", "EDUCATION": "education",
    "CITIZEN": "citizen of the United States", "MARITAL": "marital status", "RELIG": "religion",
    "RELIGATTEND": "attends religious services", "POLPARTY": "political party", "INCOME": "family income",
    "POLIDEOLOGY": "political views", "RACE": "race or ethnicity",
}  # fmt: skip
"""The attributes of OpinionQA, in words."""
OVERALL = "people in the United States"
LETTERED = re.compile(r"^\s*\(?([A-Z])[).:]+\s*(.+?)\s*$")
OPTIONS_LINE = re.compile(r"^\s*options\s*:?\s*$", re.IGNORECASE)


def read_survey(path: Path) -> SurveyTable:
    """Read a survey of any known form. Errors: UserError for a file that is missing, broken or of no known form."""
    if path.is_dir():
        return read_opinion_qa(path)
    records = read_records(path, page="studies/distributions/README.md")
    columns = set(next(iter(records.values())))
    if {"selections", "options"} <= columns:
        return make_table(_global_rows(list(records.values())), GLOBAL, path)
    if {"human_answer", "input_template"} <= columns:
        return make_table(map(_sim_row, records.values()), SIM, path)
    return read_own_form(records, path)


def _literal(value: object) -> Any:
    """Return what a cell of Python holds, such as a list or `defaultdict(<class 'list'>, {...})`; None if it is unreadable."""
    if not isinstance(value, str):
        return value
    text = value[value.find("{") : value.rfind("}") + 1] if value.startswith("defaultdict") else value
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _shares(values: Sequence[object]) -> tuple[float, ...] | str:
    """Return shares that sum to 1, or why there are none. A missing share is not 0."""
    numbers = [float(value) if isinstance(value, int | float) else math.nan for value in values]
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        return "a share is missing"
    total = math.fsum(numbers)
    return tuple(number / total for number in numbers) if total > 0 else "all shares are 0"


def _global_rows(records: Sequence[Mapping[str, Any]]) -> Iterator[SurveyRow | str]:
    for record in records:
        selections, listed = _literal(record["selections"]), _literal(record["options"])
        if not isinstance(selections, dict) or not isinstance(listed, list | tuple):
            yield "selections or options cannot be read"
            continue
        options = tuple(str(option).strip() for option in listed)
        if fault := option_fault(options):
            yield fault
            continue
        for country, chosen in selections.items():
            if not isinstance(chosen, list | tuple) or len(chosen) != len(options):
                yield "not one share per option"
                continue
            shares = _shares(chosen)
            question = str(record["question"]).strip()
            yield (
                shares
                if isinstance(shares, str)
                else SurveyRow(question, options, Group(str(country), country=True), shares)
            )


def _sim_row(record: Mapping[str, Any]) -> SurveyRow | str:
    answer = _literal(record["human_answer"])
    if not isinstance(answer, dict) or not answer:
        return "human_answer cannot be read"
    shares = _shares(list(answer.values()))
    if isinstance(shares, str):
        return shares
    question, options = _lettered_options(str(record["input_template"]), [str(key) for key in answer])
    if fault := option_fault(options):
        return fault
    text = str(record.get("group_prompt_template") or "").strip()
    named = _literal(record.get("group_prompt_variable_map") or {})
    for variable, value in (named if isinstance(named, dict) else {}).items():
        text = text.replace("{" + str(variable) + "}", str(value))
    size = _literal(record.get("group_size"))
    n = float(size) if isinstance(size, int | float) and size > 0 else math.nan
    return SurveyRow(question, options, Group(text or "people", text), shares, n)


def _lettered_options(text: str, keys: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the question without its list of options, and the words of each option; the letters where words are not found.

    >>> _lettered_options("Tea?\\nOptions:\\n(A): yes\\n(B): no", ["A", "B"])
    ('Tea?', ('yes', 'no'))
    """
    lines = text.splitlines()
    words = {match[1]: match[2] for line in lines if (match := LETTERED.match(line))}
    if not set(keys) <= set(words) or len({words[key].lower() for key in keys}) < len(keys):
        return text.strip(), tuple(keys)
    rest = [line for line in lines if not LETTERED.match(line) and not OPTIONS_LINE.match(line)]
    return "\n".join(rest).strip(), tuple(words[key] for key in keys)


def read_opinion_qa(folder: Path) -> SurveyTable:
    """Read a wave of OpinionQA. Answers are weighted; n is Kish's effective size; refusals are left out, as in the paper.

    Errors: UserError for a folder without the three files or without a weight.
    """
    if missing := [name for name in WAVE_FILES if not (folder / name).is_file()]:
        raise UserError(f"{folder} lacks {missing[0]}: a wave of OpinionQA has {', '.join(WAVE_FILES)}")
    page = "studies/distributions/README.md"
    info = read_table(folder / "info.csv", ("key", "question", "references", "option_ordinal"), page)
    metadata = read_table(folder / "metadata.csv", ("key", "options"), page)
    people = read_table(folder / WAVE_FILES[2], (), page, numbers=lambda name: name.startswith(WEIGHT))
    weights = [name for name in people.columns if str(name).startswith(WEIGHT)]
    if len(weights) != 1:
        raise UserError(
            f"{folder / WAVE_FILES[2]} has {len(weights)} columns {WEIGHT}...: keep only the column of this wave"
        )
    if (wrong := people[weights[0]] < 0).any():
        raise UserError(f"{folder / WAVE_FILES[2]}, row {wrong.idxmax()}: {weights[0]} must be a number of 0 or more")
    people = people.assign(weight=people[weights[0]].fillna(0.0))
    attributes = {
        str(key): _literal(options) for key, options in zip(metadata["key"], metadata["options"], strict=True)
    }
    return make_table(_opinion_rows(info, people, attributes), OPINION, folder)


def _opinion_rows(info: pd.DataFrame, people: pd.DataFrame, attributes: Mapping[str, Any]) -> Iterator[SurveyRow | str]:
    for entry in info.to_dict("records"):
        key, references, ordinal = str(entry["key"]), _literal(entry["references"]), _literal(entry["option_ordinal"])
        if key not in people.columns or not isinstance(references, list) or not isinstance(ordinal, list):
            yield "a question without answers"
            continue
        options = tuple(str(option).strip() for option in references[: len(ordinal)])
        if fault := option_fault(options):
            yield fault
            continue
        if not all(isinstance(place, int | float) for place in ordinal):
            yield "a place on a scale that is no number"
            continue
        values = tuple(map(float, ordinal)) if len(set(ordinal)) > 1 else ()
        answered = people[people[key].isin(references[: len(ordinal)])]
        for group, group_people in _groups(answered, attributes):
            weights = group_people.groupby(key)["weight"].sum()
            total, squares = float(group_people["weight"].sum()), float((group_people["weight"] ** 2).sum())
            if total <= 0:
                yield "a group without answers"
                continue
            shares = tuple(float(weights.get(option, 0.0)) / total for option in references[: len(ordinal)])
            yield SurveyRow(str(entry["question"]).strip(), options, group, shares, total**2 / squares, values)


def _groups(answered: pd.DataFrame, attributes: Mapping[str, Any]) -> Iterator[tuple[Group, pd.DataFrame]]:
    yield Group(OVERALL), answered
    for key, named in attributes.items():
        if key in answered.columns and isinstance(named, list):
            for value in named:
                yield Group(f"{OVERALL}, {ATTRIBUTES.get(key, key.lower())}: {value}"), answered[answered[key] == value]
