"""The report of `run.py study stereotypes`: are personas individuals or stereotypes, and how do they see the other group?

Answers of people, or of personas made elsewhere, are a table (CSV) with a header. One row is one answer:

    person    who answers; the name of a persona where the persona was made after this person
    group     the person's group, such as the code of a party
    question  the name of a topic (racism)
    answer    a number from 0 to 10 on the topic's axis, or on another scale (`ends`); empty if missing
    about     may be left out: the group whose answer the person guesses; empty for the person's own answer
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.disclaimers import spec_label
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_estimate, format_number, number
from parley.analysis.report import Report
from parley.analysis.table_files import read_table
from parley.analysis.unknown import clause
from parley.llm.errors import UserError
from parley.studies.stereotypes.individuation import Measured, individuation, spread_change
from parley.studies.stereotypes.perception import count_unpaired, perception_distances, perception_gaps, wide

ENDS = (0.0, 10.0)
NEEDED = ("person", "group", "question", "answer")
PLAIN, INTERVIEW, PEOPLE = "personas", "personas after an interview", "people"
CAPTION = (
    "The unit of analysis is the person. Brackets are 95% intervals over people. The column `null` has the value without an "
    "effect. The value p comes from shuffling people between groups, and for individuation from shuffling personas within their "
    "group. A gap says by how many points (0-10) a group is seen as more extreme than the group's own answers. The difference "
    "between gaps uses only questions on which a person guessed about all groups. A group's answers are from the people's file, "
    "if a file is given, or from the personas."
)
MEASURES: Mapping[str, Column] = {
    "answers of": "source", "measure": "measure", "people": "people", "value": estimate("value"), "null": number("null"),
    "p": number("p", 3), "why unknown": "reason",
}  # fmt: skip
DISTANCES: Mapping[str, Column] = {
    "answers of": "source", "group": "target", "seen by": "seen by", "people": "people", "Cohen's d": number("d"),
    "95% interval": lambda row: f"{format_number(row['low'])} to {format_number(row['high'])}",
    "Wasserstein (points)": number("w"),
    "by chance": number("null_w"), "p": number("p", 3), "why unknown": "reason",
}  # fmt: skip


def read_answers(path: Path, ends: tuple[float, float] = ENDS) -> pd.DataFrame:
    """Return a user's answers: group, person, question, about, answer (0-10, NaN if missing), reason.

    ends: lowest and highest value of the file's scale. Errors: UserError for a file that does not fit.
    """
    advice = "correct it, or give the scale with --people-range"
    table = read_table(
        path, NEEDED, "studies/stereotypes/README.md", filled=NEEDED[:3], ends={"answer": ends}, advice=advice
    )
    low, high = ends
    about = table["about"] if "about" in table.columns else pd.Series("", table.index)
    if not (about == "").any():
        raise UserError(f"{path} has only guesses: add the own answers of people, in rows with an empty about")
    given = table["answer"]
    answers = table.assign(
        about=about, answer=10 * (given - low) / (high - low), reason=given.isna().map({True: "empty", False: ""})
    )
    if (twice := answers.duplicated(["person", "group", "question", "about"])).any():
        raise UserError(f"{path}, row {twice.idxmax()} repeats a person and a question: leave out the row")
    return answers[["group", "person", "question", "about", "answer", "reason"]].reset_index(drop=True)


def check_common(personas: pd.DataFrame, people: pd.DataFrame, path: Path) -> None:
    """Check that personas and people share a question and two groups. Errors: UserError."""
    for column, fewest in (("question", 1), ("group", 2)):
        ours, theirs = (sorted(set(frame.loc[frame["about"] == "", column])) for frame in (personas, people))
        if len(set(ours) & set(theirs)) < fewest:
            raise UserError(
                f"{path} and the personas share fewer than {fewest} of column {column}: the file has "
                f"{', '.join(theirs[:5])}, the personas {', '.join(ours[:5])}"
            )


def check_guesses(guesses: pd.DataFrame, answers: pd.DataFrame, path: Path) -> None:
    """Check that all guesses are about groups with answers of their own. Errors: UserError."""
    groups = set(answers.loc[answers["about"] == "", "group"])
    if unknown := sorted(set(guesses["about"]) - groups - {""}):
        raise UserError(
            f"{path} has guesses about {unknown[0]}, a group without answers (there are {', '.join(sorted(groups)[:5])}): "
            "correct the column about, or add answers of that group"
        )


def measure_all(answers: Mapping[str, pd.DataFrame], people: pd.DataFrame | None, seed: int) -> pd.DataFrame:
    """Return all measures, one row each. answers: by PLAIN and INTERVIEW."""
    theirs = None if people is None else wide(people)
    rows: list[tuple[str, Measured]] = []
    for source, table in answers.items():
        persona_answers = wide(table)
        rows += [(source, measured) for measured in individuation(persona_answers, theirs, seed)]
        rows += [(source, _gap(measured)) for measured in _gaps(table, persona_answers if theirs is None else theirs)]
    if people is not None and theirs is not None:
        rows += [(PEOPLE, _gap(measured)) for measured in _gaps(people, theirs)]
    if INTERVIEW in answers:
        rows.append((INTERVIEW, spread_change(wide(answers[INTERVIEW]), wide(answers[PLAIN]))))
    table = pd.DataFrame([{"source": source, **measured._asdict()} for source, measured in rows])
    mine = table["measure"].str.endswith("people") & (table["source"] != PEOPLE)
    return table[~mine | ~table.duplicated(["measure", "value"])].reset_index(drop=True)


def _gaps(table: pd.DataFrame, actual: pd.DataFrame) -> list[Measured]:
    shared = actual[[name for name in actual.columns if name in set(table["question"])]]
    return perception_gaps(table, shared) if (table["about"] != "").any() else []


def _gap(measured: Measured) -> Measured:
    return measured._replace(measure=f"gap: {measured.measure}")


def write(
    answers: Mapping[str, pd.DataFrame], people: pd.DataFrame | None, title: str, spec: str, seed: int, folder: Path
) -> Path:
    """Write stereotypes.md, its tables (measures, distances) and its figure; return the path of the page."""
    measures = measure_all(answers, people, seed)
    theirs = None if people is None else wide(people)
    sources = {**answers, **({} if people is None else {PEOPLE: people})}
    parts = [
        perception_distances(
            table,
            wide(table) if theirs is None else theirs[[q for q in theirs.columns if q in set(table["question"])]],
            seed,
        ).assign(source=source)
        for source, table in sources.items()
        if (table["about"] != "").any()
    ]
    distances = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    report = Report(folder, "stereotypes", f"Individuals or stereotypes: {title}")
    if spec:
        report.disclaim_models(spec)
    report.add(CAPTION)
    for source, table in sources.items():
        lost = table["answer"].isna()
        report.missing(
            int(lost.sum()), len(table), f"answers of {source} are missing", count_table(table.loc[lost, "reason"])
        )
        unpaired, guessed = count_unpaired(table)
        if unpaired:
            lacking = f"questions on which {source} guessed lack a guess about a group: the difference leaves them out"
            report.missing(unpaired, guessed, lacking, "")
    report.data(measures=measures, **({"distances": distances} if parts else {}))
    report.in_short(findings(measures))
    report.section("Measures")
    report.table(measures, MEASURES)
    gaps = measures[measures["measure"].str.startswith("gap")]
    if len(gaps) and gaps["value"].notna().any():
        caption, about = spec_label(spec) if spec else title, "How much more extreme groups seem than they are"
        figure = dot_plot(gaps, ["source", "measure"], "value", "Seen as more extreme (points)", caption, about)
        report.figure(figure, "stereotypes", about)
    if parts:
        report.section("How a group is seen, compared with how it answers")
        report.table(distances, DISTANCES)
    return report.write()


VERDICTS: Mapping[str, tuple[str, str, str]] = {
    "share of groups": ("groups differ", "groups differ less than by chance", "groups do not clearly differ"),
    "slope on groups": (
        "groups of personas are farther apart than groups of people",
        "groups of personas are less far apart than groups of people",
        "groups of personas are not clearly more or less far apart than groups of people",
    ),
    "spread within groups (people": (
        "personas of a group differ more than people of a group",
        "personas of a group differ less than people of a group",
        "personas of a group do not clearly differ more or less than people of a group",
    ),
    "spread within groups (without": (
        "after the interview personas of a group differ more",
        "after the interview personas of a group differ less",
        "after the interview personas of a group do not clearly differ more or less",
    ),
    "individuation": (
        "personas answer like their own person",
        "personas answer unlike their own person",
        "personas do not clearly answer like their own person",
    ),
    "gap: out-group minus own group": (
        "compared with what each group answers, the other group is seen as more extreme than the own group",
        "compared with what each group answers, the other group is seen as less extreme than the own group",
        "compared with what each group answers, neither group is clearly seen as more extreme than the other",
    ),
}
"""What is said of a measure above its null, below it, and not clearly apart from it."""


def findings(measures: pd.DataFrame) -> list[str]:
    """Return what came out as sentences: one for each measure of VERDICTS, in the order of the table."""
    spoken = [(row, words) for row in measures.to_dict("records") for start, words in VERDICTS.items()
              if row["measure"].startswith(start)]  # fmt: skip
    return [_finding(row, words) for row, words in spoken]


def _finding(row: Mapping[Any, Any], words: tuple[str, str, str]) -> str:
    lead = "" if row["measure"].endswith(", people") else f"{str(row['source']).capitalize()}: "
    if pd.isna(row["low"]):
        return f"{lead}{row['measure']} is unknown, because {clause(row['reason'])}."
    by_chance = row["p"] >= 0.05 or row["low"] <= row["null"] <= row["high"]
    verdict = words[2] if by_chance else words[0] if row["low"] > row["null"] else words[1]
    size = f"{row['measure']}: {format_estimate(row['value'], row['low'], row['high'])}"
    return f"{lead}{verdict if lead else verdict.capitalize()}; {size}, and {format_number(row['null'])} without an effect."
