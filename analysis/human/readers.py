"""People before and after a debate: one table for every source.

| column | what it is |
|---|---|
| condition | the part of the source that a row belongs to: a treatment, a topic |
| group | the debate or room, the unit of analysis; people of one group are not independent |
| person | who, within the group |
| before, after | opinion on the source's axis, 0-1; NaN: not known |
| partner | what the others of the group thought before (their mean), on the same axis; NaN: not known |
| side | 1 when the other side stands for the upper end of the axis, -1 for the lower one; NaN: there is none |
| turns | opinions after each turn between before and after, a tuple, NaN for a gap; () where nobody asked |

The public files of human opinions, each as a source. A file is known by its name, anywhere under the folder.

What the files are, who made them and how to get them is in docs/human.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis.formatting import count_phrase
from parley.llm.errors import UserError

COLUMNS = ["condition", "group", "person", "before", "after", "partner", "side", "turns"]
MOVES = ["condition", "group", "persons", "missing", "moved"]
ALL = "all"
MAJORITY_OF = 3
"""People from which on a group has a majority."""


@dataclass(frozen=True)
class Source:
    """One source of people. `people` has COLUMNS; it is empty for a source that tells of groups alone.

    moves: one row a group (MOVES): persons asked before and after, missing (the others), moved (share that moved toward the
    majority of before, minus the share that moved away). unit: what a group is. still: how far (0-1) is not moving; 0 where a
    scale has points. origin: authors, year, licence. notes: what a reader has to know of these numbers.
    """

    name: str
    people: pd.DataFrame
    moves: pd.DataFrame
    unit: str
    origin: str
    still: float = 0.0
    notes: tuple[str, ...] = ()

    def parts(self) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
        """Every condition and, where there are several, all together: name, people, moves."""
        names = list(dict.fromkeys([*self.people["condition"], *self.moves["condition"]]))
        for name in names:
            yield name, self.people[self.people["condition"] == name], self.moves[self.moves["condition"] == name]
        if len(names) > 1:
            yield ALL, self.people, self.moves


def complete(people: pd.DataFrame) -> pd.DataFrame:
    """Those whose opinion is known before and after."""
    return people[people["before"].notna() & people["after"].notna()]


def others_mean(people: pd.DataFrame) -> pd.Series:
    """What the others of each one's group thought before: the mean of those known; NaN where none is.

    >>> others_mean(pd.DataFrame({"group": [1, 1, 1], "before": [0.0, 0.5, 1.0]})).tolist()
    [0.75, 0.5, 0.25]
    """
    known = people["before"].notna()
    groups = people["before"].groupby(people["group"])
    count = groups.transform("count") - known
    total = groups.transform("sum") - people["before"].fillna(0.0)
    return (total / count.where(count > 0)).rename("partner")


def toward_majority(people: pd.DataFrame) -> pd.DataFrame:
    """The moves (MOVES) of groups of three and more. The majority is the side of the axis' middle on which more people stood
    before; a group without one has NaN. Who stands in the middle is of no side; who does not move counts as 0.
    """
    rows = [
        (condition, group, *_moved(part))
        for (condition, group), part in people.groupby(["condition", "group"], sort=False)
        if len(part) >= MAJORITY_OF
    ]
    return moves_table(pd.DataFrame(rows, columns=MOVES))


def moves_table(moves: pd.DataFrame) -> pd.DataFrame:
    """The moves with their types, also when there are none."""
    return moves[MOVES].astype({"persons": "int64", "missing": "int64", "moved": "float64"})


def no_people() -> pd.DataFrame:
    """The table of a source that tells of groups alone."""
    return pd.DataFrame(columns=COLUMNS).astype(dict.fromkeys(["before", "after", "partner", "side"], "float64"))


def _moved(group: pd.DataFrame) -> tuple[int, int, float]:
    both = complete(group)
    majority = float(np.sign(np.sign((group["before"] - 0.5).round(9)).sum()))
    steps = np.sign((both["after"] - both["before"]).round(9))
    moved = majority * float(steps.mean()) if majority and len(both) else np.nan
    return len(both), len(group) - len(both), moved


SALVI = ("salvi_rct_750_pre_post_agreement.csv", "salvi_debategpt_round_index.csv")
TRACES = ("persuasiontrace_human_belief_traces.csv",)
HABERMAS = ("habermas_group_positions_sample.csv", "fig4d_rounds.csv")
SLIDER = 0.05
"""Change of a mean of sliders (0-1) below which somebody is said not to have moved: nobody sets a slider twice alike."""
AGREES = 0.5
"""Correlation of the last opinion told in the talk with the one told after it, below which the former is not believed."""


def find(folder: Path, names: Sequence[str]) -> Path | None:
    """The first file of one of these names under the folder; None when there is none."""
    return next((path for name in names for path in sorted(folder.rglob(name)) if path.is_file()), None)


def sources(folder: Path) -> list[Source]:
    """Every source whose file is under the folder. Errors: UserError on one that cannot be read."""
    found = [(find(folder, names), read) for names, read in READERS.items()]
    return [read(path) for path, read in found if path]


def salvi(path: Path) -> Source:
    """Two people, or a person and a model, debate from sides given to them; agreement with the claim, 1-5, before and after.

    The axis is agreement with the claim; `side` is what the opponent argues for. Where both people of a debate are in the
    file each is the other's partner.
    """
    raw = table(path, ["debate_id", "treatment_type", "participant_side"], _spans(1, 5, "agreement_{}_likert"))
    sides = raw["participant_side"].map({"PRO": -1.0, "CON": 1.0})
    if sides.isna().any() or raw["debate_id"].isna().any():
        raise UserError(f"{path}: every row needs a debate_id and a participant_side, PRO or CON")
    before, after = ((raw[f"agreement_{when}_likert"] - 1) / 4 for when in ("pre", "post"))
    people = pd.DataFrame(
        {"condition": raw["treatment_type"], "group": raw["debate_id"].astype(str), "person": raw["participant_side"],
         "before": before, "after": after, "side": sides, "turns": [()] * len(raw)}
    )  # fmt: skip
    people["partner"] = others_mean(people)
    aligned = (sides * (after - before)).corr(sides * (before - 0.5))
    return Source(
        "Salvi et al.",
        people[COLUMNS],
        toward_majority(people),
        "debate",
        "Salvi, Horta Ribeiro, Gallotti and West 2025, Nature Human Behaviour (CC BY-SA 4.0)",
        notes=(
            "Agreement 1-5 as 0-1: times 4 is points of their scale. The sides were given to people, whatever they thought.",
            f"Measured as agreement with the opponent's side, change against initial opinion has r = {aligned:.2f}.",
        ),
    )


def persuasiontrace(path: Path) -> Source:
    """A person talks with a persuader who is for or against a claim; belief in it, 0-1, before, after each turn, at the end.

    Rounds that stand in the export twice count once. What is told after each turn is left out of those conditions and sides
    in which its last value does not go with the belief told right after the talk (`AGREES`).
    """
    flags = ["control_dialogue", "audio", "participant_proposition", "persuader_supports"]
    raw = table(path, [*flags, "belief_after_each_turn"], _spans(0, 1, "{}_belief", ("initial", "final")), flags)
    kept = raw.drop_duplicates([name for name in raw.columns if name not in ("round", "export_date")])
    names = ["control", "audio", "own claim"]
    people = pd.DataFrame(
        {"condition": np.select([kept[flag] for flag in flags[:3]], names, "given claim"), "group": kept.index,
         "person": "", "before": kept["initial_belief"], "after": kept["final_belief"], "partner": np.nan,
         "side": np.where(kept["persuader_supports"], 1.0, -1.0),
         "turns": [_turns(text, path) for text in kept["belief_after_each_turn"]]}
    )  # fmt: skip
    people["turns"], doubted = believed(people)
    return Source(
        "PersuasionTrace",
        people[COLUMNS],
        toward_majority(people),
        "talk",
        "Moore, Goodman, Haber and Kleiman-Weiner 2026, A Model of Multi-turn Human Persuadability (MIT)",
        SLIDER,
        (
            f"{count_phrase(len(raw) - len(kept), 'talk')} of {len(raw)} stood in the "
            "export twice. It is not filtered as for the "
            "paper (control -0.05, text 0.19, own claim 0.14, audio 0.17 there). "
            "A control talk is about another claim.",
            f"Beliefs after each turn are left out of {count_phrase(doubted, 'talk')}: in their condition and side the last "
            "one does not go with the belief told right after. In the public export these are control talks (the turns are about "
            "the other claim) and talks whose persuader is against the claim (many look mirrored).",
        ),
    )


def habermas(path: Path) -> Source:
    """Groups write a common statement with a mediator; of every group and question how many moved toward its majority."""
    raw = table(path, [], {"movement_sign": (-1, 1), "n": (1, 99), "n_both": (0, 99)})
    if not (raw["n_both"] <= raw["n"]).all():
        raise UserError(
            f"{path}: every row needs n, the people of the group, and n_both, those of them who were asked twice"
        )
    group = raw["launch_id"] if "launch_id" in raw else pd.Series(raw.index, index=raw.index)
    moves = pd.DataFrame(
        {"condition": "mediated group", "group": group.astype(str), "persons": raw["n_both"],
         "missing": raw["n"] - raw["n_both"], "moved": raw["movement_sign"]}
    )  # fmt: skip
    return Source(
        "Habermas Machine",
        no_people(),
        moves_table(moves),
        "group" if "launch_id" in raw else "session",
        "Tessler, Bakker et al. 2024, Science; Google DeepMind (CC BY 4.0)",
        notes=(
            f"{count_phrase(len(raw), 'session')}, a group and a question each. All 1,047 of the full data have +0.137; the 60 "
            "of the sample are no random choice and differ.",
        ),
    )


READERS: Mapping[tuple[str, ...], Callable[[Path], Source]] = {
    SALVI: salvi,
    TRACES: persuasiontrace,
    HABERMAS: habermas,
}


def table(
    path: Path, names: Sequence[str], numbers: Mapping[str, tuple[float, float]], flags: Sequence[str] = ()
) -> pd.DataFrame:
    """A CSV with these columns; `numbers` are numbers between the two ends or empty, `flags` True or False.

    Errors: UserError, in one line, on what cannot be read or is not so.
    """
    try:
        found = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as a CSV: {' '.join(str(error).split())}") from error
    if missing := [name for name in [*names, *numbers] if name not in found]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}")
    for name, (low, high) in numbers.items():
        column = pd.to_numeric(found[name], errors="coerce")
        if (found[name].notna() & ~column.between(low, high)).any():
            raise UserError(f"{path}: {name} must be a number from {low} to {high}")
        found[name] = column
    for name in flags:
        if found[name].dtype != bool:
            raise UserError(f"{path}: {name} must be True or False")
    if found.empty:
        raise UserError(f"{path} holds no rows")
    return found


def believed(people: pd.DataFrame) -> tuple[pd.Series, int]:
    """The turns, without those of conditions and sides whose last one does not go with `after`; and of how many they were."""
    last = people["turns"].map(lambda turns: turns[-1] if turns else np.nan)
    turns, doubted = people["turns"].copy(), 0
    for _, part in people[last.notna()].groupby(["condition", "side"]):
        if not _correlated(last[part.index], part["after"]) >= AGREES:
            turns[part.index] = [()] * len(part)
            doubted += len(part)
    return turns, doubted


def _correlated(one: pd.Series, other: pd.Series) -> float:
    return float(one.corr(other)) if min(one.nunique(), other.nunique()) > 1 else np.nan


def _spans(low: float, high: float, name: str, when: Sequence[str] = ("pre", "post")) -> dict[str, tuple[float, float]]:
    return {name.format(time): (low, high) for time in when}


def _turns(text: object, path: Path) -> tuple[float, ...]:
    """`0.7590;0.2190`; nothing where nothing was told."""
    if pd.isna(text):
        return ()
    try:
        values = tuple(float(part) for part in str(text).split(";"))
    except ValueError:
        values = (np.nan,)
    if not all(0 <= value <= 1 for value in values):
        raise UserError(f"{path}: belief_after_each_turn must be numbers from 0 to 1 with ; between them, not {text}")
    return values
