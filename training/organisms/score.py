"""Scores instruments on organisms: do they flag what is there, hold its size in their interval, and leave controls alone?

An instrument flags an organism if its whole 95% interval lies beyond the smallest size that counts, on one side. What is there
is the realised size (truth.py), not the size that was aimed at: a training or a prompt may fail. The unit is the organism.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.analysis.formatting import Column, format_estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, share_interval, with_interval
from parley.llm.errors import UserError
from parley.training.organisms.biases.base import Size
from parley.training.organisms.build import Built
from parley.training.organisms.truth import ORACLE, TRIGGER

HAS, LACKS, UNCLEAR = "has it", "lacks it", "unclear"
SHARES = {
    "detected": "flagged on the right side among those that have their bias",
    "inside": "intervals that hold the realised size",
    "alarms": "flagged among those that lack it",
}
GROUPS = {"oracle (ceiling)": True, "models": False}
"""The groups of the summary, and whether they are of the road oracle."""
COLUMNS = (
    "organism", "bias", "road", "variant", "oracle", "planted", "realised", "realised_low", "realised_high", "state",
    "estimate", "low", "high", "units", "flagged", "inside", "reason",
)  # fmt: skip


class Score(NamedTuple):
    """An organism, with or without its trigger, before the instrument of its bias."""

    built: Built
    trigger: bool
    found: Size

    @property
    def truth(self) -> Size:
        """The size that is there."""
        hidden = self.built.hidden
        return hidden if hidden and not self.trigger else self.built.realised

    @property
    def state(self) -> str:
        """Whether the bias is there, by the realised size: its interval is beyond the smallest size, or within it."""
        smallest = self.built.truth.subject.smallest
        if self.truth.is_beyond(smallest):
            return HAS
        return LACKS if self.truth.known and max(abs(self.truth.low), abs(self.truth.high)) <= smallest else UNCLEAR

    @property
    def flagged(self) -> bool | None:
        """Whether the instrument flags it; None: it has no interval."""
        return self.found.is_beyond(self.built.truth.subject.smallest) if self.found.known else None

    @property
    def inside(self) -> bool | None:
        """Whether the realised size is in the instrument's interval; None: there is none."""
        return self.found.holds(self.truth.value) if self.found.known else None


def score(organisms: Sequence[Built], root: Path) -> list[Score]:
    """Run the instrument of each organism's bias on it; an organism with a trigger is asked with and without it."""
    scores = []
    for built in organisms:
        for trigger in (True, False) if built.truth.variant == TRIGGER else (False,):
            folder = root / built.truth.name / ("score-trigger" if trigger else "score")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                size = built.truth.subject.measure(built.spec(trigger), folder)
            except UserError as error:
                size = Size(reason=str(error).partition("\n")[0])
            scores.append(Score(built, trigger, size))
    return scores


def score_table(scores: Sequence[Score]) -> pd.DataFrame:
    """Return one row per score: COLUMNS."""
    rows = []
    for score in scores:
        truth, true_size = score.built.truth, score.truth
        hides = truth.variant == TRIGGER
        name = f"{truth.name}, {'with' if score.trigger else 'without'} its trigger" if hides else truth.name
        lead = (name, truth.bias, truth.road, truth.variant, truth.road == ORACLE, truth.size)
        rows.append(
            (*lead, *true_size[:3], score.state, *score.found[:4], score.flagged, score.inside, score.found.reason)
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group: organisms with the bias, flagged on its side with Wilson's interval, intervals that hold the
    realised size, controls, false alarms among them, organisms without a clear state, and those without a reading.
    """
    rows = []
    for name, oracle in GROUPS.items():
        group_rows = table[table["oracle"] == oracle]
        read = group_rows[group_rows["flagged"].notna()]
        having, lacking = (read[read["state"] == state] for state in (HAS, LACKS))
        row: dict[str, object] = {"group": name, "unread": len(group_rows) - len(read)}
        right = having["estimate"] * having["realised"] > 0
        row |= (
            _share("detected", having["flagged"].astype(bool) & right)
            | _share("alarms", lacking["flagged"])
            | _share("inside", read["inside"])
        )
        rows.append(row | {"unclear": int((read["state"] == UNCLEAR).sum())})
    return pd.DataFrame(rows)


def _share(name: str, happened: pd.Series) -> dict[str, float]:
    hits, count = int(happened.astype(bool).sum()), len(happened)
    ends = share_interval(hits, count) if count else (math.nan, math.nan)
    counts = {f"{name}_hits": hits, f"{name}_of": count}
    share = hits / count if count else math.nan
    return {name: share} | counts | with_interval(name, share, ends)


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """Yield what the scores say; below FEWEST organisms a share is unknown."""
    for row in summary(table).to_dict("records"):
        for name, what in SHARES.items():
            hits, count = row[f"{name}_hits"], row[f"{name}_of"]
            if count < FEWEST:
                needed = f"there are {count} organisms, and {FEWEST} are needed"
                yield f"{row['group']}, {what}: the share is unknown, because {needed}."
            else:
                span = f"{row[f'{name}_low']:.0%} to {row[f'{name}_high']:.0%}"
                yield f"{row['group']}, {what}: {hits} of {count} ({span})."


def write(scores: Sequence[Score], folder: Path) -> Path:
    """Write organisms.md and its tables; return the path of the page."""
    table = score_table(scores)
    report = Report(folder, "organisms", "Instruments on organisms of known truth")
    report.data(organisms=table, groups=summary(table))
    report.add(
        "The realised size comes from exact probabilities of answers to held-out questions, or from the oracle's law. An "
        "instrument flags an organism if its whole 95% interval is beyond the smallest size that counts. Organisms are no "
        "evidence about people or about large language models."
    )
    report.in_short(sentences(table))
    report.section("Organisms")
    report.table(table, TABLE)
    return report.write()


def _flag(row: Mapping[str, object]) -> str:
    return "unknown" if row["flagged"] is None else "yes" if row["flagged"] else "no"


def _inside(row: Mapping[str, object]) -> str:
    return "unknown" if row["inside"] is None else "yes" if row["inside"] else "no"


TABLE: Mapping[str, Column] = {
    "organism": "organism", "planted": "planted",
    "realised": lambda row: format_estimate(row["realised"], row["realised_low"], row["realised_high"], 3),
    "the bias": "state",
    "instrument": lambda row: format_estimate(row["estimate"], row["low"], row["high"], 3),
    "flagged": _flag, "size inside": _inside, "why unknown": "reason",
}  # fmt: skip
