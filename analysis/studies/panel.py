"""A panel: the same people answer the same questions in several waves, with and without their earlier answers in the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.persona import Persona, parties, persona_set
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, number, uncorrected
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.report import Report
from parley.analysis.respondents import respondents
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION
from parley.analysis.studies.questionnaire import Answer, Item, ask_item
from parley.analysis.studies.stability import difference, stability
from parley.analysis.table_export import write_csv
from parley.llm.backends import identity_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

FORGETS, REMEMBERS = "no history", "own history"
CONDITIONS = (FORGETS, REMEMBERS)


@dataclass(frozen=True)
class Panel:
    """What is asked, of whom, and how often. people: at most so many of each party (0: all)."""

    items: Sequence[Item]
    personas: str = "voters"
    waves: int = 3
    people: int = 0
    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.waves < 2:
            raise UserError("a panel needs --waves 2 or more")

    def members(self) -> list[Persona]:
        """Return the people: respondents of the set, the same number of each party if `people` says so."""
        folder = persona_set(self.personas)
        members: list[Persona] = []
        for party in parties(folder):
            own = respondents(party, folder)
            members += own[: self.people or len(own)]
        return members


def ask_panel(panel: Panel, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """Return one row per answer: condition, person, party, wave (from 1), question, answer (rating; NaN: missing), reason.

    The folder keeps a journal, panel.json and answers.csv. Errors: UserError on a folder of another panel.
    """
    with lock_folder(folder):
        questions = {item.name: item.text for item in panel.items}
        settings = {"personas": panel.personas, "people": panel.people, "waves": panel.waves}
        sampling = {"temperature": panel.temperature, "seed": panel.seed}
        check_manifest(
            folder / "panel.json", {"llm": identity_spec(spec), **settings, **sampling, "questions": questions}, "panel"
        )
        trials = list(product(CONDITIONS, panel.members()))
        conversations = [_interviews(panel, person, condition == REMEMBERS) for condition, person in trials]
        answers = run_journaled(conversations, spec, folder, bar, "answers", budget, None, _why)
        cells = list(product(range(1, panel.waves + 1), (item.name for item in panel.items)))
        rows = [
            (condition, person.id, person.party, wave, question, answer.rating, answer.reason)
            for (condition, person), given in zip(trials, answers, strict=True)
            for (wave, question), answer in zip(cells, given, strict=True)
        ]
        table = pd.DataFrame(rows, columns=["condition", "person", "party", "wave", "question", "answer", "reason"])
        table = table.astype({"answer": "float64"})
        write_csv(table, folder / "answers.csv")
    return table


def _why(answers: list[Answer]) -> str | None:
    """Return why nothing of a person could be read, or None."""
    return answers[0].reason if all(answer.reason for answer in answers) else None


def _interviews(panel: Panel, person: Persona, remembers: bool) -> Conversation[list[Answer]]:
    """Ask a person all questions in every wave; return the answers in this order.

    A person who remembers reads its answers of all earlier waves. The first wave is the same in both: it is asked once.
    """
    answers: list[Answer] = []
    history: list[str] = []
    last: dict[str, float] = {}
    for wave in range(1, panel.waves + 1):
        given = []
        for item in panel.items:
            seed = derive(panel.seed, "panel", person.party, person.id, wave, item.name)
            before, state = ("\n".join(history), last.get(item.name)) if remembers else ("", None)
            given.append((yield from ask_item(item, seed, panel.temperature, person.backstory, before, state)))
        for item, answer in zip(panel.items, given, strict=True):
            if answer.rating is not None:
                history.append(earlier_answer_line(item, answer.rating, wave))
                scale = item.probe.scale
                last[item.name] = (answer.rating - scale.low) / (scale.high - scale.low)
        answers += given
    return answers


def earlier_answer_line(item: Item, rating: float, wave: int) -> str:
    """Return the line that reminds a person of an earlier answer."""
    language, scale = item.probe.language, item.probe.scale
    anchors = scale.name_points(scale.points, *map(language.words, ("means", "and")))
    question = item.probe.question
    return language.fill("earlier_answer", number=wave, question=question, answer=f"{rating:g}", anchors=anchors)


OWN = "own data"
READING = (
    "Answers are compared between neighbouring waves. Same is the share of equal answers. Strangers is what remains if the "
    "second answer comes from another person: independent draws from the marginals. Same party is the same for another person "
    "of the party. r is the test-retest correlation over people, the mean over questions. Brackets are 95% intervals over people."
)


def write_panel(answers: pd.DataFrame, panel: Panel, spec: str, folder: Path, data: pd.DataFrame | None = None) -> Path:
    """Write panel.md, the table stability and a figure; return the path of the page. data: the user's panel (`read_panel`)."""
    parts = {name: answers[answers["condition"] == name] for name in CONDITIONS} | ({} if data is None else {OWN: data})
    rows = pd.DataFrame([{"condition": name, **stability(part)} for name, part in parts.items()])
    gap = difference(parts[FORGETS], parts[REMEMBERS])
    report = Report(folder, "panel", f"A panel of {count_phrase(panel.waves, 'wave')}")
    report.data(stability=rows)
    report.disclaim_models(spec)
    report.add(
        f"Model: {spec}. Personas: {panel.personas}. {count_phrase(len(panel.items), 'question')} in each wave.",
        READING,
    )
    lost = answers["answer"].isna()
    report.missing(int(lost.sum()), len(answers), "answers are missing", count_table(answers["reason"][lost]))
    report.section("In short", "\n".join(f"- {line}" for line in sentences(rows, gap)), uncorrected(rows))
    report.section("Stability")
    title, caption = "Stability of answers between waves", "Share of equal answers minus that of strangers"
    drawn = dot_plot(rows, ["condition"], "excess", "Equal answers beyond chance (share)", caption, title)
    report.figure(drawn, "stability", caption)
    report.table(rows, STABILITY)
    return report.write()


def sentences(rows: pd.DataFrame, gap: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence per condition, and one on what the own history changes."""
    for row in rows.to_dict("records"):
        if not np.isfinite(row["excess_low"]):
            yield f"{row['condition']}: whether answers are stable is unknown: {row['reason'] or NO_VARIATION}."
            continue
        size = f"{row['same']:.0%} of answers stay the same, {row['strangers']:.0%} between strangers"
        if row["excess_low"] > 0:
            yield f"{row['condition']}: {size}: answers are more stable than chance. {_party_line(row)}"
        else:
            yield f"{row['condition']}: {size}: answers are not clearly more stable than chance."
    if gap["difference"] == 0 and not gap["reason"].startswith("fewer"):
        yield "With the own history in the prompt, people give as many equal answers as without it."
        return
    if gap["reason"]:
        yield f"Whether the own history makes answers more stable is unknown: {gap['reason']}."
        return
    ends = [100 * gap[name] for name in ("difference", "difference_low", "difference_high")]
    way = "more" if ends[1] > 0 else "less" if ends[2] < 0 else "not clearly more or less"
    span = f"{ends[0]:+.0f} points ({ends[1]:+.0f} to {ends[2]:+.0f})"
    yield f"With the own history in the prompt, answers are {way} stable: {span}."


def _party_line(row: Mapping[Any, Any]) -> str:
    """Return whether answers stay the same more often than two people of one party agree."""
    subject = "Whether they are more alike than those of two people of one party is unknown"
    if not np.isfinite(row["partners"]):
        return f"{subject}: no party has two people."
    between = f"between people of one party ({row['partners']:.0%})"
    if not np.isfinite(row["beyond_low"]):
        few = f"fewer than {FEWEST} people with a party"
        return f"{subject}: {few if row['party_people'] < FEWEST else NO_VARIATION}."
    return f"That is {'more than' if row['beyond_low'] > 0 else 'not clearly more than'} {between}."


STABILITY: Mapping[str, Column] = {
    "condition": "condition", "people": "people", "compared": "compared", "missing": "missing", "same": estimate("same"),
    "strangers": number("strangers"), "more than strangers": estimate("excess"), "same party": number("partners"),
    "more than same party": estimate("beyond"), "r": estimate("r"), "reason": "reason",
}  # fmt: skip
