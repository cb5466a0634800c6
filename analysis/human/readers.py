"""Readers of public data of people, one for each source (docs/personas.md).

A file is known by its name.

| column | meaning |
|---|---|
| condition | the part of the source that a row belongs to: a treatment, a topic |
| group | the debate or room; people of one group are not independent |
| person | the person within the group |
| before, after | opinion on the source's axis, 0-1; NaN: not known |
| partner | the mean opinion of the others of the group before, on the same axis; NaN: not known |
| side | 1 if the other side argues for the upper end of the axis, -1 for the lower one; NaN: there is none |
| turns | opinions after each turn between before and after, a tuple, NaN for a gap; () if there were no questions |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.formatting import count_phrase
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

COLUMNS = ["condition", "group", "person", "before", "after", "partner", "side", "turns"]
MOVES = ["condition", "group", "persons", "missing", "moved"]
ALL = "all"
MAJORITY_OF = 3
"""People from which on a group has a majority."""
SALVI = ("salvi_rct_750_pre_post_agreement.csv", "salvi_debategpt_round_index.csv")
TRACES = ("persuasiontrace_human_belief_traces.csv",)
HABERMAS = ("habermas_group_positions_sample.csv", "fig4d_rounds.csv")
DEBATE = ("debate_benchmark_human_reference.json",)
DEBATE_ORIGIN = (
    "DEBATE v1 2025, arXiv 2510.25110: groups of four, talks of two, opinions on six points; model: GPT-4o mini"
)
SLIDER = 0.05
"""Change of a mean of sliders (0-1) that does not count as moving: people cannot set a slider twice alike."""
AGREES = 0.5
"""Correlation of the last opinion during the talk with the one right after it, below which the former is not believed."""


@dataclass(frozen=True)
class Source:
    """One source of people. people: a table with COLUMNS; empty for a source that has groups only.

    moves: a row per group (MOVES): persons asked before and after, missing (the others), moved (share that moved toward
    the majority of before, minus the share that moved away). unit: what a group is. still: the largest change (0-1)
    that does not count as moving; 0 where a scale has points. origin: authors, year, licence. notes: what a reader has
    to know of these numbers. casts: the set of people of each group, where one set meets in several groups (a run of
    several topics); empty: each group has people of its own. The unit of analysis is the set of people. assigned: the other
    side was assigned, and does not come from ratings.
    """

    name: str
    people: pd.DataFrame
    moves: pd.DataFrame
    unit: str
    origin: str
    still: float = 0.0
    notes: tuple[str, ...] = ()
    casts: Mapping[str, str] = field(default_factory=dict)
    assigned: bool = False

    def units(self, groups: pd.Series) -> pd.Series:
        """Return the unit of analysis of each of these groups: its set of people, or the group itself."""
        return groups.map(self.casts) if self.casts else groups

    def by_unit(self) -> pd.DataFrame:
        """Return the people, with the unit of analysis in the place of their group."""
        return self.people.assign(group=self.units(self.people["group"]))

    def parts(self) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
        """Yield every condition and, if there are several, all together: name, people, moves."""
        names = list(dict.fromkeys([*self.people["condition"], *self.moves["condition"]]))
        for name in names:
            yield name, self.people[self.people["condition"] == name], self.moves[self.moves["condition"] == name]
        if len(names) > 1:
            yield ALL, self.people, self.moves


def complete(people: pd.DataFrame) -> pd.DataFrame:
    """Return the people whose opinion is known before and after."""
    return people.dropna(subset=["before", "after"])


def others_mean(people: pd.DataFrame) -> pd.Series:
    """Return the mean opinion before of the others in each person's group; NaN where none is known.

    >>> others_mean(pd.DataFrame({"group": [1, 1, 1], "before": [0.0, 0.5, 1.0]})).tolist()
    [0.75, 0.5, 0.25]
    """
    is_rated = people["before"].notna()
    groups = people["before"].groupby(people["group"])
    count = groups.transform("count") - is_rated
    total = groups.transform("sum") - people["before"].fillna(0.0)
    return (total / count.where(count > 0)).rename("partner")


def toward_majority(people: pd.DataFrame) -> pd.DataFrame:
    """Return the moves (MOVES) of groups of three or more people.

    The majority is the side of the axis' middle with more people before; a group without one has NaN. People in the
    middle are on no side; people who do not move count as 0.
    """
    rows = [
        (condition, group, *_majority_move(group_people))
        for (condition, group), group_people in people.groupby(["condition", "group"], sort=False)
        if len(group_people) >= MAJORITY_OF
    ]
    return moves_table(pd.DataFrame(rows, columns=MOVES))


def moves_table(moves: pd.DataFrame) -> pd.DataFrame:
    """Return the moves with their types, also if there are none."""
    return moves[MOVES].astype({"persons": "int64", "missing": "int64", "moved": "float64"})


def _majority_move(group: pd.DataFrame) -> tuple[int, int, float]:
    both = complete(group)
    majority = float(np.sign(np.sign((group["before"] - 0.5).round(9)).sum()))
    steps = np.sign((both["after"] - both["before"]).round(9))
    moved = majority * float(steps.mean()) if majority and len(both) else np.nan
    return len(both), len(group) - len(both), moved


def find(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first file of one of these names under the folder; None if there is none."""
    return next((path for name in names for path in sorted(folder.rglob(name)) if path.is_file()), None)


def sources(folder: Path) -> list[Source]:
    """Return every source whose file is under the folder. Errors: UserError on one that cannot be read."""
    return [read(path) for names, read in READERS.items() if (path := find(folder, names))]


def salvi(path: Path) -> Source:
    """Two people, or a person and a model, debate from assigned sides; agreement with the claim, 1-5, before and after.

    The axis is agreement with the claim; `side` is what the opponent argues for. If both people of a debate are in the
    file, each is the other's partner.
    """
    likert = {f"agreement_{when}_likert": (1, 5) for when in ("pre", "post")}
    raw = table(path, ["debate_id", "treatment_type", "participant_side"], likert)
    sides = raw["participant_side"].map({"PRO": -1.0, "CON": 1.0})
    if sides.isna().any() or (raw["debate_id"] == "").any():
        raise UserError(f"{path}: every row needs a debate_id and a participant_side, PRO or CON")
    before, after = ((raw[name] - 1) / 4 for name in likert)
    people = pd.DataFrame(
        {"condition": raw["treatment_type"], "group": raw["debate_id"].astype(str), "person": raw["participant_side"],
         "before": before, "after": after, "side": sides, "turns": [()] * len(raw)}
    )  # fmt: skip
    people["partner"] = others_mean(people)
    aligned = (sides * (after - before)).corr(sides * (before - 0.5))
    notes = (
        "Agreement 1-5 is shown as 0-1: times 4 gives points of their scale. The sides were assigned, "
        "independently of what people thought.",
        f"Measured as agreement with the opponent's side, change against initial opinion has r = {aligned:.2f}.",
    )
    origin = "Salvi, Horta Ribeiro, Gallotti and West 2025, Nature Human Behaviour (CC BY-SA 4.0)"
    return Source(
        "Salvi et al.", people[COLUMNS], toward_majority(people), "debate", origin, notes=notes, assigned=True
    )


def persuasiontrace(path: Path) -> Source:
    """A person talks with a persuader who is for or against a claim; belief in it, 0-1, before, after each turn, at the
    end.

    Rounds that are in the export twice count once. Beliefs after each turn are left out of those conditions and sides
    in which the last one does not go with the belief right after the talk (`AGREES`).
    """
    flags = ["control_dialogue", "audio", "participant_proposition", "persuader_supports"]
    beliefs = {"initial_belief": (0, 1), "final_belief": (0, 1)}
    raw = table(path, [*flags, "belief_after_each_turn"], beliefs, flags)
    talks = raw.drop_duplicates([name for name in raw.columns if name not in ("round", "export_date")])
    names = ["control", "audio", "own claim"]
    people = pd.DataFrame(
        {"condition": np.select([talks[flag] for flag in flags[:3]], names, "given claim"), "group": talks.index,
         "person": "", "before": talks["initial_belief"], "after": talks["final_belief"], "partner": np.nan,
         "side": np.where(talks["persuader_supports"], 1.0, -1.0),
         "turns": [parse_turns(text, path) for text in talks["belief_after_each_turn"]]}
    )  # fmt: skip
    people["turns"], doubted = _believed_turns(people)
    notes = (
        f"{count_phrase(len(raw) - len(talks), 'talk')} of {len(raw)} appeared in the export twice. The "
        "data are not filtered as in the paper (the filtered values are: control -0.05, text 0.19, own "
        "claim 0.14, audio 0.17). A control talk is about another claim.",
        f"Beliefs after each turn are left out of {count_phrase(doubted, 'talk')}: in their condition and "
        "side, the last of these beliefs does not agree with the belief right after the talk. In the public "
        "export these are control talks (the turns are about the other claim) and talks whose persuader is "
        "against the claim (many look mirrored).",
    )
    origin = "Moore, Goodman, Haber and Kleiman-Weiner 2026, A Model of Multi-turn Human Persuadability (MIT)"
    return Source(
        "PersuasionTrace", people[COLUMNS], toward_majority(people), "talk", origin, SLIDER, notes, assigned=True
    )


def habermas(path: Path) -> Source:
    """Groups write a common statement with a mediator; how many people of each group and question moved toward its majority."""
    raw = table(path, [], {"movement_sign": (-1, 1), "n": (1, 99), "n_both": (0, 99)})
    if not (raw["n_both"] <= raw["n"]).all():
        raise UserError(f"{path}: every row needs n (people in the group) and n_both (people who answered twice)")
    launches = "launch_id" in raw
    moves = pd.DataFrame(
        {"condition": "mediated group", "group": (raw["launch_id"] if launches else raw.index.to_series()).astype(str),
         "persons": raw["n_both"], "missing": raw["n"] - raw["n_both"], "moved": raw["movement_sign"]}
    )  # fmt: skip
    people = pd.DataFrame(columns=COLUMNS).astype(dict.fromkeys(["before", "after", "partner", "side"], "float64"))
    note = (
        f"{count_phrase(len(raw), 'session')}, a group and a question each. The 1,047 groups of the full "
        "data have +0.137; the 60 groups of the sample were not chosen at random and differ."
    )
    origin = "Tessler, Bakker et al. 2024, Science; Google DeepMind (CC BY 4.0)"
    unit = "group" if launches else "session"
    return Source("Habermas Machine", people, moves_table(moves), unit, origin, notes=(note,))


READERS: Mapping[tuple[str, ...], Callable[[Path], Source]] = {
    SALVI: salvi,
    TRACES: persuasiontrace,
    HABERMAS: habermas,
}


def table(
    path: Path, names: Sequence[str], numbers: Mapping[str, tuple[float, float]], flags: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a table with these columns; `numbers` lie between two ends or are empty, `flags` are True or False.

    Errors: UserError, in one line, on any other file.
    """
    data = read_table(path, [*names, *numbers, *flags], "docs/personas.md", filled=flags, ends=numbers)
    for name in flags:
        words = data[name].str.lower()
        if (wrong := ~words.isin(("true", "false"))).any():
            raise UserError(
                f"{path}, row {wrong.idxmax()}: {name} is {data[name][wrong].iloc[0]!r}, but must be True or False"
            )
        data[name] = words == "true"
    return data.reset_index(drop=True)


def _believed_turns(people: pd.DataFrame) -> tuple[pd.Series, int]:
    """Return the turns, emptied where their last one does not go with `after`, and the number of people with emptied turns."""
    last = people["turns"].map(lambda turns: turns[-1] if turns else np.nan)
    turns, doubted = people["turns"].copy(), 0
    for _, side_people in people[last.notna()].groupby(["condition", "side"]):
        last_beliefs, after = last[side_people.index], side_people["after"]
        varied = min(last_beliefs.nunique(), after.nunique()) > 1
        if not (varied and last_beliefs.corr(after) >= AGREES):
            turns[side_people.index] = [()] * len(side_people)
            doubted += len(side_people)
    return turns, doubted


def parse_turns(text: str, path: Path) -> tuple[float, ...]:
    """Parse `0.7590;0.2190`; an empty cell has no turns."""
    if not text:
        return ()
    try:
        values = tuple(float(belief) for belief in text.split(";"))
    except ValueError:
        values = (np.nan,)
    if not all(0 <= value <= 1 for value in values):
        raise UserError(f"{path}: belief_after_each_turn is {text}, but must be numbers from 0 to 1, separated by ;")
    return values


class Published(NamedTuple):
    """One value that DEBATE published, of people and of a language model in the same groups, as text; there are no raw
    data.

    measure: our nearest measure; "spread" is a test, the others are correlations. public: about posts, not private
    opinions.
    """

    measure: str
    title: str
    human: str
    model: str
    public: bool = False


CORRELATIONS, GROUPS = "individual_level_correlations", "group_level_depth_mode3_gpt4omini"
ENTRIES = (
    ("own", "change against own initial opinion, r", CORRELATIONS, "opinion_change_vs_initial"),
    ("distance", "change against distance to the first partner, r", CORRELATIONS, "opinion_change_vs_first_partner_difference"),
    ("spread", "group SD, before to after", GROUPS, "reported_opinion_SD_change"),
)  # fmt: skip
POSTED = (
    ("own", "posts: change against own first post, r", CORRELATIONS, "tweet_change_vs_initial"),
    ("distance", "posts: change against distance to the first partner, r", CORRELATIONS,
     "tweet_change_vs_first_partner_difference"),
    ("spread", "posts: group SD, first to last", GROUPS, "tweet_stance_SD_change"),
)  # fmt: skip
"""The same about public posts; a file may lack them."""


def published(path: Path) -> list[Published]:
    """Return the published values. Errors: UserError on a file that is not JSON or lacks one of them."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        entries = [(*entry, False) for entry in ENTRIES]
        entries += [(*entry, True) for entry in POSTED if entry[3] in data[entry[2]]]
        values = [
            Published(measure, title, str(data[section][name]["human"]), str(data[section][name]["LLM"]), public)
            for measure, title, section, name, public in entries
        ]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} lacks a published value: {error}") from error
    for value in (text for entry in values if entry.measure != "spread" for text in (entry.human, entry.model)):
        if not re.fullmatch(r"-?(0(\.\d+)?|1(\.0+)?)", value):  # from -1 to 1 with a point, as JSON writes it
            raise UserError(f"{path}: {value} is not a correlation, which must be between -1 and 1")
    return values
