"""People answer again in later waves, with and without their own history; the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.contrasts import MORE, amount
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, number, uncorrected
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, verdict
from parley.analysis.studies.questionnaire import Condition, Questionnaire
from parley.analysis.studies.stability import difference, stability
from parley.analysis.unknown import clause, unknown_sentence

FORGETS, REMEMBERS = "no history", "own history"
CONDITIONS = (Condition(FORGETS), Condition(REMEMBERS, remembers=True))
OWN = "own data"
READING = (
    "Answers are compared between neighbouring waves. *Same* is the share of answers that are equal in both waves. *Strangers* "
    "is the share that would be equal if the second answer came from another person: independent draws from the marginals. "
    "*Same party* is the share that is equal if the second answer comes from another person of the party. r is the test-retest "
    "correlation over people, averaged over questions. Brackets are 95% intervals over people."
)


def panels(answers: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the answers of a questionnaire by condition, as `stability` takes them."""
    rated = answers.rename(columns={"rating": "answer"})
    return {name: rated[rated["condition"] == name] for name in (FORGETS, REMEMBERS)}


def write_panel(
    answers: pd.DataFrame, questionnaire: Questionnaire, spec: str, folder: Path, data: pd.DataFrame | None = None
) -> Path:
    """Write panel.md, the table stability and a figure; return the path of the page. data: the user's panel (`read_panel`)."""
    parts = panels(answers) | ({} if data is None else {OWN: data})
    rows = pd.DataFrame([{"condition": name, **stability(panel)} for name, panel in parts.items()])
    gap = difference(parts[FORGETS], parts[REMEMBERS])
    report = Report(folder, "panel", f"A panel of {count_phrase(questionnaire.waves, 'wave')}")
    report.data(stability=rows)
    report.disclaim_models(spec)
    report.add(
        f"Model: {spec}. {count_phrase(len(questionnaire.people), 'persona')}. "
        f"{count_phrase(len(questionnaire.items), 'question')} in each wave.",
        READING,
    )
    lost = answers["rating"].isna()
    report.missing(int(lost.sum()), len(answers), "answers are missing", count_table(answers["reason"][lost]))
    report.in_short(sentences(rows, gap), uncorrected(rows))
    report.section("Stability")
    title, caption = "Stability of answers between waves", "Share of equal answers minus the share among strangers"
    drawn = dot_plot(rows, ["condition"], "excess", "Equal answers beyond chance (share)", caption, title)
    report.figure(drawn, "stability", caption)
    report.table(rows, STABILITY)
    return report.write()


def sentences(rows: pd.DataFrame, gap: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence per condition, and one on what the own history changes."""
    for row in rows.to_dict("records"):
        if not np.isfinite(row["excess_low"]):
            yield f"{row['condition']}: whether answers are stable is unknown, because {clause(row['reason'] or NO_VARIATION)}."
            continue
        size = f"{row['same']:.0%} of answers stay the same, {row['strangers']:.0%} between strangers"
        if row["excess_low"] > 0:
            yield f"{row['condition']}: {size}: answers are more stable than chance. {_party_line(row)}"
        else:
            yield f"{row['condition']}: {size}: answers are not clearly more stable than chance."
    if gap["difference"] == 0 and not gap["reason"].startswith("fewer"):
        yield "With a person's own history in the prompt, people give as many equal answers as without it."
        return
    if gap["reason"]:
        yield unknown_sentence("whether a person's own history in the prompt makes answers more stable", gap["reason"])
        return
    ends = [100 * gap[name] for name in ("difference", "difference_low", "difference_high")]
    way = verdict(ends[1], ends[2], *MORE, "not clearly more or less")
    size = amount((ends[0], ends[1], ends[2]), MORE, "percentage points", 0)
    yield f"With a person's own history in the prompt, answers are {way} stable: {size} stay the same."


def _party_line(row: Mapping[Any, Any]) -> str:
    """Return whether answers stay the same more often than two people of one party agree."""
    subject = "whether a person's two answers are more alike than the answers of two people of one party"
    if not np.isfinite(row["partners"]):
        return unknown_sentence(subject, "no party has two people")
    between = f"between people of one party ({row['partners']:.0%})"
    if not np.isfinite(row["beyond_low"]):
        few = f"fewer than {FEWEST} people with a party"
        return unknown_sentence(subject, few if row["party_people"] < FEWEST else NO_VARIATION)
    return f"Equal answers are {'' if row['beyond_low'] > 0 else 'not clearly '}more frequent than {between}."


STABILITY: Mapping[str, Column] = {
    "condition": "condition", "people": "people", "compared": "compared", "missing": "missing", "same": estimate("same"),
    "strangers": number("strangers"), "more than strangers": estimate("excess"), "same party": number("partners"),
    "more than same party": estimate("beyond"), "r": estimate("r"), "reason": "reason",
}  # fmt: skip
