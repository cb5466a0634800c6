"""Human-likeness as its parts, each between a null and the ceiling of other people (scoring.py); there is no total.

| part | what is compared | null |
|---|---|---|
| opinions before, opinions after | their distribution | even shares of all points of people's scale |
| size of change | distribution of abs(after - before) | no one moves |
| direction of change | mean change toward the other side, divided by the mean size | each direction by chance |
| change by own opinion | slope of the change on the opinion before | changes shuffled among people |
| change by partner's opinion | slope of the change on the partner's opinion, own opinion kept fixed | partners shuffled |
| alike within groups | SD after within groups, divided by the SD of all | people shuffled over groups |
| step from turn to turn | distribution of steps toward the other side | no one moves |

The parts that depend on the order of steps (sequences.py) belong to the same table. A distribution is described by 100 quantiles,
so that the distance between two of them is Wasserstein's (0-1); other distances are absolute differences.

A split divides the groups of people at random. The distance from one half to the run is compared with that to the other half,
and with that to the null, which is made from the other half. Run and other half are cut to the same number of groups, so that a
run of people scores 1 on average, however small it is. Unit: groups of people (talks, debates) and rooms of the run.

Source of the idea: the User-Sim Index of Mind the Sim2Real Gap 2026. Its total and its text measures are not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.human.fidelity import steps
from parley.analysis.human.readers import Source, complete
from parley.analysis.human.scoring import score_part, verdict
from parley.analysis.human.sequences import PARTS
from parley.analysis.statistics.intervals import ALIKE, Floats, tail
from parley.llm.seeding import derive

Groups = Sequence[Floats]
Casts = Sequence[NDArray[np.intp]]
BEFORE, AFTER, SIDE, PARTNER = range(4)
DRAWS, NULLS = 200, 199
LEAST, LEAST_ROOMS = 20, 10
FEW, FEW_ROOMS = f"fewer than {LEAST} groups of people", f"fewer than {LEAST_ROOMS} rooms of different people"
ASSIGNED = (
    "sides of these people were assigned, but sides of a run come from ratings with noise, and noise alone "
    "moves agents toward such a side"
)
NO_PEOPLE_VALUE = "people have no value: no partner is known, no group has two people, or no value varies"
AT = np.linspace(0.005, 0.995, 100)
COLUMNS = ["people", "condition", "part", "groups", "rooms", "run_value", "people_value", "run", "ceiling", "null", "p", "score",
           "score_low", "score_high", "reason", "verdict"]  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part. describe: groups as numbers (NaN: no value); null: people without the part, in one group if groups do not matter;
    show: the value in the table.
    """

    title: str
    describe: Callable[[Groups], Floats]
    null: Callable[[Groups, np.random.Generator], Groups]
    show: Callable[[Floats], float] = lambda described: float(described.mean())


def spread_evenly(groups: Groups, rng: np.random.Generator, column: int) -> Groups:
    """Return the groups with every point of the scale equally often; a scale of more than 20 points counts as 0-1."""
    rows = np.concatenate(groups)
    points = scale_points(rows[:, column])
    rows[:, column] = rng.integers(0, points, len(rows)) / (points - 1) if points else rng.random(len(rows))
    return [rows]


def scale_points(values: Floats) -> int:
    """Return the number of points of the scale (0-1) on which all values lie; 0: more than 21.

    >>> scale_points(np.array([0.25, 0.75, np.nan])), scale_points(np.array([0.1234]))
    (5, 0)
    """
    present = values[np.isfinite(values)]
    places = present[:, None] * np.arange(1, 21)
    near = np.flatnonzero((np.abs(places - np.round(places)) < 1e-4).all(axis=0))
    return int(near[0]) + 2 if len(near) else 0


def hold_still(groups: Groups, rng: np.random.Generator) -> Groups:
    """Return the groups with the opinion before also after."""
    return [np.concatenate(groups)[:, [BEFORE, BEFORE, SIDE, PARTNER]]]


def turn_by_chance(groups: Groups, rng: np.random.Generator) -> Groups:
    """Return the groups with the other side on either side by chance, all of a group alike."""
    rows = np.concatenate(groups)
    rows[:, SIDE] *= np.repeat(rng.choice([-1, 1], len(groups)), [len(group) for group in groups])
    return [rows]


def deal_changes(groups: Groups, rng: np.random.Generator) -> Groups:
    """Return the groups with all changes shuffled among people."""
    rows = np.concatenate(groups)
    rows[:, AFTER] = rows[:, BEFORE] + rng.permutation(rows[:, AFTER] - rows[:, BEFORE])
    return [rows]


def deal_partners(groups: Groups, rng: np.random.Generator) -> Groups:
    """Return the groups with all partners' opinions shuffled."""
    rows = np.concatenate(groups)
    rows[:, PARTNER] = rng.permutation(rows[:, PARTNER])
    return [rows]


def deal_people(groups: Groups, rng: np.random.Generator) -> Groups:
    """Return groups of the same sizes, with the people shuffled among them."""
    return np.split(rng.permutation(np.concatenate(groups)), np.cumsum([len(group) for group in groups])[:-1])


def quantiles(values: Floats) -> Floats:
    """Return 100 quantiles of the known values; one NaN without any."""
    ordered = np.sort(values[np.isfinite(values)])
    return ordered[(AT * len(ordered)).astype("int64")] if len(ordered) else np.array([np.nan])


def _distribution(column: int) -> Callable[[Groups], Floats]:
    return lambda groups: quantiles(np.concatenate(groups)[:, column])


def change_sizes(groups: Groups) -> Floats:
    """Return the quantiles of the sizes of change."""
    rows = np.concatenate(groups)
    return quantiles(np.abs(rows[:, AFTER] - rows[:, BEFORE]))


def direction(groups: Groups) -> Floats:
    """Return the mean change toward the other side over the mean size of change of the same people: 1 if all changes go there.

    >>> rows = np.array([[0.2, 0.6, 1, np.nan], [0.5, 0.3, 1, np.nan]])
    >>> direction([rows]).round(3).tolist()
    [0.333]
    """
    rows = np.concatenate(groups)
    change = (rows[:, AFTER] - rows[:, BEFORE])[np.isfinite(rows[:, SIDE])]
    size = float(np.abs(change).sum())
    return np.array([float(change @ rows[np.isfinite(rows[:, SIDE]), SIDE]) / size if size > ALIKE else np.nan])


def own_slope(groups: Groups) -> Floats:
    """Return the slope of the change on the opinion before."""
    return _slope(np.concatenate(groups), [BEFORE])


def partner_slope(groups: Groups) -> Floats:
    """Return the slope of the change on the partner's opinion before, with one's own opinion before kept fixed."""
    return _slope(np.concatenate(groups), [BEFORE, PARTNER])


def _slope(rows: Floats, columns: list[int]) -> Floats:
    """Return the last slope of the change on these columns by least squares; NaN with fewer than 5 people or a fixed column."""
    complete_rows = rows[np.isfinite(rows[:, columns]).all(axis=1)]
    design = np.column_stack([np.ones(len(complete_rows)), complete_rows[:, columns]])
    solution, _, rank, _ = np.linalg.lstsq(design, complete_rows[:, AFTER] - complete_rows[:, BEFORE], rcond=1e-6)
    known_slope = len(complete_rows) >= 5 and rank == design.shape[1]
    return np.array([float(solution[-1]) if known_slope else np.nan])


def inner_spread(groups: Groups) -> Floats:
    """Return the SD of opinions after within groups of two or more (root of the mean variance) over the SD of all of them."""
    after = [group[:, AFTER] for group in groups if len(group) > 1]
    if not after:
        return np.array([np.nan])
    values, sizes = np.concatenate(after), np.array([len(group) for group in after])
    at = np.repeat(np.arange(len(after)), sizes)
    squares = np.bincount(at, (values - (np.bincount(at, values) / sizes)[at]) ** 2)
    whole, within = float(values.std()), float(np.sqrt((squares / (sizes - 1)).mean()))
    return np.array([within / whole if whole > ALIKE else np.nan])


PEOPLE = (
    Part("opinions before", _distribution(BEFORE), lambda groups, rng: spread_evenly(groups, rng, BEFORE)),
    Part("opinions after", _distribution(AFTER), lambda groups, rng: spread_evenly(groups, rng, AFTER)),
    Part("size of change", change_sizes, hold_still),
    Part("direction of change", direction, turn_by_chance),
    Part("change by own opinion", own_slope, deal_changes),
    Part("change by partner's opinion", partner_slope, deal_partners),
    Part("alike within groups", inner_spread, deal_people),
)
TURNS = Part(
    "step from turn to turn",
    lambda groups: quantiles(np.concatenate(groups)),
    lambda groups, rng: [np.zeros_like(group) for group in groups],
    lambda described: float(np.abs(described).mean()),
)


def people_groups(people: pd.DataFrame) -> list[Floats]:
    """Return the people whose opinion is known before and after, an array (people, 4) per group."""
    rated = complete(people)
    rows = rated[["before", "after", "side", "partner"]].to_numpy(dtype=float)
    return [rows[places] for places in rated.groupby("group", sort=False).indices.values()]


def same_people(run: Source) -> Casts:
    """Return the places in `people_groups` of the rooms of each set of people."""
    rooms = complete(run.people)["group"].drop_duplicates()
    return list(rooms.reset_index(drop=True).groupby(run.units(rooms).to_numpy(), sort=False).indices.values())


def compare_parts(run: Source, people: Sequence[Source], order: pd.DataFrame, turns: bool) -> pd.DataFrame:
    """Return a row per condition of people and part (COLUMNS). order: the parts of `compare_sequences`, which are added.

    turns: whether agents of the run were asked after each turn, so that its steps are those of turns and not of rounds.
    """
    run_groups, rows = people_groups(run.people), []
    casts, walked = same_people(run), steps(run.by_unit()).groups
    for source in people:
        for condition, persons, _ in source.parts():
            about = {"people": source.name, "condition": condition}
            if groups := people_groups(persons):
                rows += [
                    about | _row_of(likeness_part, source, run_groups, groups, condition, casts)
                    for likeness_part in PEOPLE
                ]
            if turns and (walks := steps(persons).groups):
                rows.append(about | compare_part(TURNS, walked, walks, condition))
            rows += [about | row for row in _ordered(order, source.name, condition)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["reason"] = table["reason"].fillna("")
    return table.assign(verdict=[verdict(row) for row in table.to_dict("records")])


def _row_of(
    likeness_part: Part, source: Source, run: Groups, groups: Groups, name: str, casts: Casts
) -> dict[str, object]:
    """Return the row of `compare_part`; of the direction of change none but a reason, where sides were assigned."""
    if source.assigned and likeness_part.describe is direction:
        return {"part": likeness_part.title, "groups": len(groups), "rooms": len(casts), "reason": ASSIGNED}
    return compare_part(likeness_part, run, groups, name, casts)


def _ordered(order: pd.DataFrame, people: str, condition: str) -> list[dict[str, object]]:
    """Return the rows of these people in `compare_sequences`, in the form of this table."""
    rows = order[(order["people"] == people) & (order["condition"] == condition)]
    same = ("rooms", "run_value", "people_value", "run", "p", "score", "score_low", "score_high", "reason")
    return [
        {
            "part": PARTS.get(row["part"], "order of steps"),
            "groups": row["talks"],
            "ceiling": row["halves"],
            "null": np.fmin(row["shuffled"], row["still"]),
        }
        | {name: row[name] for name in same}
        for row in rows.to_dict("records")
    ]


def compare_part(
    likeness_part: Part, run: Groups, people: Groups, name: str, casts: Casts | None = None
) -> dict[str, object]:
    """Return the row of a part, without people and condition; a reason where there is no score. casts: of `same_people`; their
    number is `rooms`, as in the parts of `compare_sequences`.
    """
    casts = casts or [np.array([at]) for at in range(len(run))]
    row: dict[str, object] = {"part": likeness_part.title, "groups": len(people), "rooms": len(casts), "reason": ""}
    if reason := FEW if len(people) < LEAST else FEW_ROOMS if len(casts) < LEAST_ROOMS else "":
        return row | {"reason": reason}
    described = likeness_part.describe(people)
    if np.isnan(described).any():
        return row | {"reason": NO_PEOPLE_VALUE}
    row |= {"run_value": likeness_part.show(likeness_part.describe(run)), "people_value": likeness_part.show(described)}
    rng = np.random.default_rng(derive(0, "likeness", likeness_part.title, name))
    split = np.array([_split_distances(likeness_part, run, people, rng) for _ in range(DRAWS)])
    drawn = np.array(
        [
            _distance(likeness_part.describe(_draw(people, rng)), likeness_part.describe(_draw(run, rng, casts)))
            for _ in range(DRAWS)
        ]
    )
    p = _null_p(likeness_part, people, rng)
    scores = score_part(split, drawn, p, tail(min(len(people), len(casts))))
    shown = {key: value for key, value in scores.items() if key not in ("halves", "shuffled", "still")}
    return row | shown | {"ceiling": scores["halves"], "null": scores["shuffled"], "p": p}


def _split_distances(likeness_part: Part, run: Groups, people: Groups, rng: np.random.Generator) -> list[float]:
    """Return the distances from half of the people to the run, to the other half, to its null, and NaN."""
    first, second = np.array_split(rng.permutation(len(people)), 2)
    size = min(len(second), len(run))
    half, other = likeness_part.describe([people[at] for at in first]), [people[at] for at in second[:size]]
    cut = [run[at] for at in rng.permutation(len(run))[:size]]
    samples = (cut, other, likeness_part.null(other, rng))
    return [*(_distance(half, likeness_part.describe(sample)) for sample in samples), np.nan]


def _distance(first: Floats, other: Floats) -> float:
    return float(np.abs(first - other).mean())


def _draw(groups: Groups, rng: np.random.Generator, casts: Casts | None = None) -> Groups:
    """Return as many groups, or all groups of as many sets of people, drawn with replacement."""
    if casts is None:
        return [groups[at] for at in rng.integers(0, len(groups), len(groups))]
    return [groups[at] for cast in rng.integers(0, len(casts), len(casts)) for at in casts[cast]]


def _null_p(likeness_part: Part, people: Groups, rng: np.random.Generator) -> float:
    """Return p: that the null is as far from its own mean as the people are."""
    null = np.array([likeness_part.describe(likeness_part.null(people, rng)) for _ in range(NULLS)])
    centre = null.mean(axis=0)
    as_far = np.abs(null - centre).mean(axis=1) >= _distance(likeness_part.describe(people), centre) - ALIKE
    return float((1 + as_far.sum()) / (1 + NULLS))
