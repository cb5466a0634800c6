"""Weights of readers, estimated from courses: least squares of the change in log odds on what the tags said.

    change = drift + back * log odds before + own line
             + sum over lines heard of s * repeat^(n - 1) * (weight of reason + weight of appeal)

s is the expected direction of a line given what the judge said, and reasons and appeals count by their probability given what the
judge said (regression calibration: Carroll et al. 2006, chapter 4), so that a judge's errors do not make weights too small. The
unit is the room or conversation: errors leave out one at a time (CR3), by Student's t over as many as they are worth.

Ratings have errors. Then `back` is too small, and people who agree with those whom they hear seem to be moved by them. So log
odds before a step are predicted from those before the step before (two-stage least squares), and first steps are left out
where people have more than one. Without this, in 200 made-up sets of 30 rooms where lines move no one, 10% had an interval
off 0.

`weight`: one weight for all lines. Reasons and appeals: an interval needs enough units with such lines.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.statistics.clusters import effective_clusters, error_of, steps_without
from parley.analysis.statistics.intervals import FEWEST, Floats, is_few, reach_of_mean, too_few

from .courses import Step
from .exam import Likelihood
from .reader import log_odds
from .tags import APPEAL, DIRECTION, NONE, REASON, SIGNS, Tag

LINE = "all lines"
NUISANCE = ("drift", "back", "own line")
UNITS_A_WEIGHT = 2
"""Units that each estimated coefficient needs."""


class Panel(NamedTuple):
    """Steps as numbers.

    change: (steps,) of log odds, NaN for one without two ratings. before: log odds before. earlier: those before the person's
    step before (NaN: none). own: the direction of own lines. parts: by name, (steps,) what was heard. said: by name, how many
    lines. clusters, persons: (steps,) codes. missing: lines without a direction, of all lines heard.
    """

    change: Floats
    before: Floats
    earlier: Floats
    own: Floats
    parts: Mapping[str, Floats]
    said: Mapping[str, Floats]
    clusters: np.ndarray
    persons: np.ndarray
    missing: int
    lines: int

    @property
    def lagged(self) -> np.ndarray:
        """Whether a step has two ratings, and one before them."""
        return np.isfinite(self.change) & np.isfinite(self.earlier)

    @property
    def corrected(self) -> bool:
        """Whether errors of ratings are corrected: enough units have steps with an earlier rating."""
        return len(np.unique(self.clusters[self.lagged])) >= FEWEST

    @property
    def known(self) -> np.ndarray:
        """Whether a step is used."""
        return self.lagged if self.corrected else np.isfinite(self.change)


class Weight(NamedTuple):
    """An estimate in log odds for one line; units: rooms with such lines, as many equal ones as they are worth."""

    name: str
    value: float
    low: float
    high: float
    units: float
    reason: str = ""


def panel_of(steps: Sequence[Step], tags: Sequence[Tag], likelihoods: Mapping[str, Likelihood], repeat: float) -> Panel:
    """Return steps as numbers. tags: of each line, by its place. likelihoods: by topic."""
    heard: dict[str, Counter[tuple[str, str]]] = {}
    rows: list[dict[str, float]] = []
    own_lines = []
    for step in steps:
        counter = heard.setdefault(step.person, Counter())
        rows.append(_heard(step, tags, likelihoods[step.topic], counter, repeat))
        signs = [_direction(tags[place], likelihoods[step.topic]) for place in step.own]
        own_lines.append(float(np.mean(signs)) if signs else 0.0)
    frame = pd.DataFrame(rows, index=range(len(rows))).fillna(0.0)
    counts = [_count([tags[place] for place in step.heard]) for step in steps]
    lines = pd.DataFrame(counts, index=range(len(rows))).reindex(columns=frame.columns).fillna(0.0)
    before, after = (
        np.array([_odds(getattr(step, name)) for step in steps], dtype=float) for name in ("before", "after")
    )
    clusters, persons = (
        pd.factorize(pd.Series([getattr(step, name) for step in steps]))[0] for name in ("cluster", "person")
    )
    places = {place for step in steps for place in step.heard}
    parts = {str(name): frame[name].to_numpy(dtype=float) for name in frame}
    said = {str(name): lines[name].to_numpy(dtype=float) for name in lines}
    missing = sum(not tags[place].direction for place in places)
    earlier = pd.Series(before).groupby(persons).shift(1).to_numpy(dtype=float)
    return Panel(
        after - before,
        before,
        earlier,
        np.array(own_lines, dtype=float),
        parts,
        said,
        clusters,
        persons,
        missing,
        len(places),
    )


def _odds(belief: float) -> float:
    return math.nan if math.isnan(belief) else log_odds(belief)


def _direction(tag: Tag, likelihood: Likelihood) -> float:
    """Return the expected direction of a line, from -1 to 1; 0 for a missing one."""
    signs = np.array([SIGNS[name] for name in likelihood.answers[DIRECTION]], dtype=float)
    return float(likelihood.believed(DIRECTION)[likelihood.places(tag)[0]] @ signs)


def _heard(
    step: Step, tags: Sequence[Tag], likelihood: Likelihood, counter: Counter[tuple[str, str]], repeat: float
) -> dict[str, float]:
    row = {LINE: 0.0}
    reasons, appeals = likelihood.believed(REASON), likelihood.believed(APPEAL)
    for place in step.heard:
        tag = tags[place]
        key = tag.direction, tag.reason
        size = _direction(tag, likelihood) * repeat ** counter[key]
        counter[key] += 1
        _, reason, appeal = likelihood.places(tag)
        row[LINE] += size
        for part, answers, believed in ((REASON, likelihood.answers[REASON], reasons[reason]),
                                        (APPEAL, likelihood.answers[APPEAL], appeals[appeal])):  # fmt: skip
            for name, share in zip(answers, believed, strict=True):
                row[f"{part} {name}"] = row.get(f"{part} {name}", 0.0) + size * share
    return row


def _count(tags: Sequence[Tag]) -> Counter[str]:
    """Return how many lines argue, and how many of them give a reason or make an appeal."""
    arguing = [tag for tag in tags if tag.direction and SIGNS[tag.direction]]
    names = [name for tag in arguing for name in (f"{REASON} {tag.reason}", f"{APPEAL} {tag.appeal}")]
    return Counter({LINE: len(arguing)}) + Counter(names)


def common_weight(panel: Panel) -> Weight:
    """Return the weight of a line, whatever its reason and appeal."""
    (weight,) = _fit(panel, [LINE])
    return weight


def part_weights(panel: Panel) -> list[Weight]:
    """Return the weight of each reason (of a line without appeal), and what each appeal adds; with why one is unknown."""
    names = [name for name in panel.parts if name not in (LINE, f"{APPEAL} {NONE}")]
    units = {name: _units(panel, name) for name in names}
    enough = [name for name in names if not is_few(units[name])]
    clusters = len(np.unique(panel.clusters[panel.known]))
    needed = UNITS_A_WEIGHT * (len(enough) + len(NUISANCE))
    if clusters < needed:
        reason = f"{clusters} units, and {needed} are needed for {len(enough)} weights at once"
        return [Weight(name, math.nan, math.nan, math.nan, units[name], reason) for name in names]
    fitted = {weight.name: weight for weight in _fit(panel, enough)} if enough else {}
    few = f"{too_few('unit')} with such lines"
    return [fitted.get(name, Weight(name, math.nan, math.nan, math.nan, units[name], few)) for name in names]


def _units(panel: Panel, name: str) -> float:
    """Return how many equal units have such lines."""
    weighed = np.bincount(panel.clusters[panel.known], panel.said[name][panel.known])
    return effective_clusters(np.asarray(weighed, dtype=np.float64))


def design_of(panel: Panel, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the columns of the regression, those of NUISANCE and then those named: as they are, and with log odds before as they
    are predicted from earlier ones.
    """
    others = [np.ones(len(panel.change)), panel.own, *(panel.parts[name] for name in names)]
    before = panel.before
    if panel.corrected:
        stage = np.column_stack([*others, panel.earlier])
        used = panel.known
        before = np.full(len(before), np.nan)
        before[used] = stage[used] @ (np.linalg.pinv(stage[used]) @ panel.before[used])
    return tuple(np.column_stack([others[0], column, *others[1:]]) for column in (panel.before, before))  # type: ignore[return-value]


def _fit(panel: Panel, names: Sequence[str]) -> list[Weight]:
    whole, predicted = design_of(panel, names)
    used, change = panel.known, panel.change[panel.known]
    design = predicted[used]
    clusters = np.unique(panel.clusters[panel.known], return_inverse=True)[1] if len(change) else np.zeros(0, dtype=int)
    estimates = []
    coefficients = np.linalg.pinv(design) @ change if len(change) else np.full(design.shape[1], np.nan)
    rests = change - whole[used] @ coefficients if len(change) else change
    groups = [clusters == code for code in range(int(np.max(clusters, initial=-1)) + 1)]
    if len(groups) >= FEWEST:
        grams = np.array([design[rows].T @ design[rows] for rows in groups])
        moves = steps_without(grams, np.array([design[rows].T @ rests[rows] for rows in groups]))
    for place, name in enumerate(names, len(NUISANCE)):
        units = _units(panel, name)
        if len(groups) < FEWEST or is_few(units):
            estimates.append(
                Weight(
                    name, float(coefficients[place]), math.nan, math.nan, units, f"{too_few('unit')} with such lines"
                )
            )
            continue
        reach = float(reach_of_mean(np.array([error_of(moves[:, place])]), np.array([units]))[0])
        value = float(coefficients[place])
        why = "" if math.isfinite(reach) else "nothing varies"
        estimates.append(Weight(name, value, value - reach, value + reach, units, why))
    return estimates


def coefficients_of(panel: Panel, names: Sequence[str], rows: np.ndarray) -> Floats:
    """Return the coefficients of some of the known steps. rows: which of all steps."""
    used = rows & panel.known
    return np.asarray(np.linalg.pinv(design_of(panel, names)[1][used]) @ panel.change[used])
