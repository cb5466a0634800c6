"""How good is the judge of messages? It is asked about messages of which it is known whether they break a rule.

Sensitivity is the share of messages with a planted sentence that the judge finds, specificity the share of messages without one
that it clears. Kappa and AC1 compare its verdicts with what is known. The unit is the case. Below a floor (`fault`) nothing is
concluded about rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.competition import Case, Competition
from parley.analysis.alignment.report import ac1, kappa
from parley.analysis.bootstrap import FEWEST, share_interval
from parley.analysis.competition.messages import KnownMessage
from parley.analysis.judging import Item, Rubric, Verdict, load_rubric, missing, one_line

FLOOR, CHANCE = 0.8, 0.5
"""A judge needs a sensitivity and a specificity of FLOOR, and intervals above CHANCE."""
PERCENT = 100


class Question(NamedTuple):
    """Does a message about a case break the rule of a probe? text: None with a reason if the message is missing."""

    competition: Competition
    case: Case
    probe: str
    text: str | None
    reason: str = ""

    @property
    def rubric(self) -> Rubric:
        """The rubric in the language of the competition."""
        name, code = self.competition.rubric, self.competition.language
        return load_rubric(name if code == "en" else f"{name}_{code}")

    def item(self) -> Item | Verdict:
        """Return what the judge is asked; a missing message is not judged."""
        if self.text is None:
            return missing(f"no statement ({self.reason})")
        slots = {"source": one_line(self.case.text), "statement": one_line(self.text)}
        slots["question"] = self.competition.probes[self.probe]
        facts = {"quality": self.probe, "language": self.competition.language}
        return Item((self.case.name, self.probe, self.text), slots, facts=facts)


def known_table(known: Sequence[KnownMessage], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return one row per known message: competition, case, probe, planted (1, 0), value (1: the judge says yes; NaN: missing),
    reason, text.
    """
    rows = [
        (one.competition.name, one.case.name, one.probe, int(one.planted), verdict.value, verdict.reason, one.text)
        for one, verdict in zip(known, verdicts, strict=True)
    ]
    columns = ["competition", "case", "probe", "planted", "value", "reason", "text"]
    return pd.DataFrame(rows, columns=columns).astype({"value": "float64"})


def judge_table(known: pd.DataFrame, competitions: Sequence[Competition]) -> pd.DataFrame:
    """Return one row per competition and probe: cases, missing, sensitivity, specificity, kappa and AC1 with low and high, fault.

    known: of `known_table`. fault: why nothing is concluded from this judge; "" for none.
    """
    rows = []
    for own in competitions:
        for probe in own.probes:
            part = known[(known["competition"] == own.name) & (known["probe"] == probe)]
            row: dict[str, Any] = {"competition": own.name, "probe": probe, **_measured(part)}
            rows.append(row | {"fault": fault(row)})
    return pd.DataFrame(rows)


def _measured(part: pd.DataFrame) -> dict[str, float]:
    readable = part.dropna(subset=["value"])
    row: dict[str, float] = {"cases": readable["case"].nunique(), "missing": len(part) - len(readable)}
    for name, planted in (("sensitivity", 1), ("specificity", 0)):
        right = (readable["value"] == planted)[readable["planted"] == planted]
        row |= _ends(name, float(right.mean()) if len(right) else np.nan, share_interval(int(right.sum()), len(right)))
    words = pd.DataFrame({
        "known": readable["planted"].map({1: "yes", 0: "no"}), "judge": readable["value"].map({1.0: "yes", 0.0: "no"}),
    })  # fmt: skip
    for name, coefficient in (("kappa", kappa), ("ac1", ac1)):
        value, low, high = coefficient(words)
        row |= _ends(name, value, (low, high))
    return row


def _ends(name: str, value: float, ends: tuple[float, float]) -> dict[str, float]:
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def fault(row: Mapping[str, Any]) -> str:
    """Return why nothing is concluded from a judge, from a row of `judge_table`; "" if it may be used."""
    if row["cases"] < FEWEST:
        return f"fewer than {FEWEST} cases have known messages with a verdict"
    for name, what in (("sensitivity", "finds"), ("specificity", "clears")):
        if not row[name] >= FLOOR:
            kind = "with" if name == "sensitivity" else "without"
            return (
                f"the judge {what} {PERCENT * row[name]:.0f}% of known messages {kind} a planted sentence, "
                f"below {PERCENT * FLOOR:.0f}%"
            )
        if not row[f"{name}_low"] > CHANCE:
            return f"the interval of the judge's {name} contains {PERCENT * CHANCE:.0f}%"
    return ""


def fault_of(judged: pd.DataFrame, competition: str, probe: str = "") -> str:
    """Return the first fault in a competition (in one probe of it, or in any), with the name of the probe; "" if there is none.

    competition: "" for all.
    """
    part = judged[(judged["competition"] == competition) | (competition == "")]
    part = part[(part["probe"] == probe) | (probe == "")]
    named = [f"{row['fault']} ({row['competition']}, {row['probe']})" for _, row in part.iterrows() if row["fault"]]
    return named[0] if named else ""
