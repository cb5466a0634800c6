"""What differs between two conditions for whom, and what speaking first does; the run is the unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pandas as pd

from analysis.bootstrap import Floats
from analysis.statistics.groups import two
from analysis.statistics.mixed import slopes
from analysis.statistics.permute import shuffled
from analysis.statistics.power import rooms_needed
from analysis.statistics.results import Result, table

MOMENTS = {"opening": 0, "closing": -1}


def by_party(scores: pd.DataFrame, parties: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Second condition less the first, by topic and party: means of a run's scores of that party, Welch's t.

    Rows are results (see `Result`) with topic and party; a party that sits in one of the two only has no row. p is corrected
    over the whole table.
    """
    known = scores.assign(party=scores["agent"].map(parties)).dropna(subset=["party"])
    means = known.groupby(["topic", "party", "condition", "run"], sort=False)["score"].mean()
    cells = {
        (str(topic), str(party), str(condition)): part.to_numpy(dtype=float)
        for (topic, party, condition), part in means.groupby(level=[0, 1, 2], sort=False)
    }
    return _placed(list(_pairs(cells, list(pairs))))


def _placed(kept: list[tuple[str, str, Result]]) -> pd.DataFrame:
    found = table(result for _, _, result in kept)
    found.insert(0, "party", [party for _, party, _ in kept])
    found.insert(0, "topic", [topic for topic, _, _ in kept])
    return found


def _pairs(
    cells: Mapping[tuple[str, str, str], Floats], pairs: list[tuple[str, str]]
) -> Iterator[tuple[str, str, Result]]:
    for topic, party in dict.fromkeys((topic, party) for topic, party, _ in cells):
        for one, other in pairs:
            both = cells.get((topic, party, one)), cells.get((topic, party, other))
            if both[0] is not None and both[1] is not None:
                yield topic, party, two(f"{other} - {one}", both[0], both[1], "run")


def drifts(scores: pd.DataFrame, parties: Mapping[str, str], pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Do scores change otherwise in the second condition? By topic and party: the difference of slopes (points a statement).

    Mixed model of single scores, runs at random (`slopes`). Columns as in `by_party`.
    """
    known = scores.assign(party=scores["agent"].map(parties)).dropna(subset=["party", "score"])
    kept = []
    for (topic, party), part in known.groupby(["topic", "party"], sort=False):
        for one, other in pairs:
            both = part[part["condition"].isin([one, other])]
            if both["condition"].nunique() == 2 and both["statement"].nunique() > 1:
                kept.append((str(topic), str(party), _slopes_apart(f"{other} - {one}", both, other)))
    return _placed(kept)


def _slopes_apart(effect: str, both: pd.DataFrame, other: str) -> Result:
    statement = both["statement"] - both["statement"].mean()
    second = (both["condition"] == other).astype(float)
    rows = both.assign(
        statement=statement,
        second=second,
        apart=statement * second,
        unit=both["condition"] + "/" + both["run"].astype(str),
    )
    found = slopes(effect, rows, "score", ["statement", "second", "apart"], "unit", ["statement"])[-1]
    return replace(found, effect=effect, unit="run", measure="points per statement")


def first_speaker(scores: pd.DataFrame, first: Mapping[str, str]) -> pd.DataFrame:
    """Does it matter who speaks first? first: the party that does, by condition.

    One row a topic and moment (everybody's opening, everybody's closing): the mean of a run's scores by who spoke first (a
    column a party), and the permutation test of it. UCL study, section 3.5.
    """
    rows, results = [], []
    for topic, part in scores.groupby("topic", sort=False):
        for moment, place in MOMENTS.items():
            statements = sorted(part["statement"].unique())
            then = part[part["statement"] == statements[place]]
            runs = then.groupby(["condition", "run"], as_index=False)["score"].mean()
            runs["first"] = runs["condition"].map(first)
            results.append(shuffled(f"{topic} {moment}", runs, "score", "first", unit="run"))
            rows.append({"topic": topic, "moment": moment, **runs.groupby("first")["score"].mean().to_dict()})
    return pd.concat([pd.DataFrame(rows), table(results)[["n", "estimate", "p", "p_holm", "reason"]]], axis=1)


def runs_needed(scores: pd.DataFrame) -> pd.DataFrame:
    """Runs a condition for a difference in the mean score: by topic, from the spread of runs within conditions found here.

    Columns: topic, deviation (points), difference, power, rooms (see `rooms_needed`).
    """
    means = scores.groupby(["topic", "condition", "run"], sort=False)["score"].mean().reset_index()
    parts = []
    for topic, part in means.groupby("topic", sort=False):
        within = part["score"] - part.groupby("condition")["score"].transform("mean")
        left = within.notna().sum() - part["condition"].nunique()
        deviation = float((within**2).sum() / left) ** 0.5 if left > 0 else float("nan")
        parts.append(rooms_needed(deviation).assign(topic=topic, deviation=deviation))
    return pd.concat(parts, ignore_index=True)[["topic", "deviation", "difference", "power", "rooms"]]
