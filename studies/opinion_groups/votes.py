"""Votes on statements: of a table (person, statement, vote), of the agents of a run, or of invented groups that are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import comb
from scipy.stats import norm

from parley.agents.topic import load_topic
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.table_files import read_table
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

COLUMNS = ["person", "statement", "vote"]
WORDS = {
    "agree": 1.0,
    "disagree": -1.0,
    "pass": 0.0,
    "1": 1.0,
    "-1": -1.0,
    "0": 0.0,
    "1.0": 1.0,
    "-1.0": -1.0,
    "0.0": 0.0,
}
ENOUGH = 7
"""Polis leaves out people with fewer votes than this; people who voted on all statements are always kept."""


def read_votes(path: Path) -> pd.DataFrame:
    """Return votes: a row per person, a column per statement; 1 agree, -1 disagree, 0 pass, NaN no vote.

    Rows and columns are sorted, so that the order of lines in the file changes nothing. Errors: UserError for a file that cannot
    be read, a column that is not there, another word than agree, disagree and pass, a file without votes, and two votes of a
    person on a statement.
    """
    rows = read_table(path, COLUMNS, "studies/opinion_groups/README.md", filled=("person", "statement"))
    words = rows["vote"].str.lower()
    if not (is_vote := words.isin([*WORDS, ""])).all():
        row = is_vote.idxmin()
        raise UserError(f"{path}, row {row}: the vote is {words[row]!r}, but must be agree, disagree, pass or empty")
    if not words.astype(bool).any():
        raise UserError(f"{path} has no votes: give a row for each vote, with agree, disagree or pass")
    if (twice := rows.duplicated(["person", "statement"])).any():
        person, statement = rows.loc[twice, ["person", "statement"]].iloc[0]
        raise UserError(f"{path}, row {twice.idxmax()}: {person!r} votes twice on {statement!r}; keep one vote")
    return rows.assign(vote=words.map(WORDS)).pivot(index="person", columns="statement", values="vote").astype(float)


def people_to_group(votes: pd.DataFrame) -> pd.DataFrame:
    """Return the votes of people who voted on at least seven statements, or on all if there are fewer."""
    votes = votes.loc[:, votes.notna().any()]
    return votes[votes.notna().sum(axis=1) >= min(ENOUGH, votes.shape[1])]


FIRST, LAST = ("first", "last")
MIDDLE = 5.0
"""Of the axis of a topic: an agent there passes."""
FEWEST = 2


class RunVotes(NamedTuple):
    """Votes (a row per agent, a column per statement; NaN: missing) and the party of each agent."""

    votes: pd.DataFrame
    parties: pd.Series


def run_votes(tables: Tables, survey: str) -> RunVotes:
    """Return the votes of agents in the first or the last survey of their rooms.

    An agent is a place of a group in a repetition: the same person has it on every topic. A statement is a topic, or a further
    survey question of it; 1 agrees with the statement (above the middle of the topic's axis; of a reversed question below it), -1
    disagrees, 0 passes. The draft and the revision of a deliberation are no statements here, because each group has its own.
    Errors: UserError where agents were asked about fewer than two statements.
    """
    usual = tables.header.scenario["probe"]
    main_ratings = tables.attitudes[tables.attitudes["probe"] == usual]
    rows = pd.concat([main_ratings, tables.probes.dropna(axis="columns", how="all")], ignore_index=True)
    rows = rows[rows["group"] != REFERENCE]
    rounds = rows.groupby(["room", "probe"])["round"]
    rows = rows[rows["round"] == rounds.transform("min" if survey == FIRST else "max")]
    statements = [
        topic if probe == usual else f"{topic}: {probe}"
        for topic, probe in zip(rows["topic"], rows["probe"], strict=True)
    ]
    person = [
        f"{group} {number:03} {seat}"
        for group, number, seat in zip(rows["group"], rows["repetition"], rows["seat"], strict=True)
    ]
    sides = [
        1 if probe == usual else load_topic(topic).probe(probe).polarity
        for topic, probe in zip(rows["topic"], rows["probe"], strict=True)
    ]
    # a vote is the answer itself, where an agent can pass; the mean of its distribution is hardly ever the middle
    vote = np.sign(rows["answer"].astype(float) - MIDDLE) * sides
    rows = rows.assign(person=person, statement=statements, vote=vote)
    if rows["statement"].nunique() < FEWEST:
        raise UserError(
            f"the run asks about {rows['statement'].nunique()} statement, and groups of opinion need several: "
            "run it on several topics (--set topic=A,B,C)"
        )
    votes = rows.pivot(index="person", columns="statement", values="vote")
    return RunVotes(votes, rows.drop_duplicates("person").set_index("person")["party"].reindex(votes.index))


PLANTED = "planted"


def planted_votes(
    rng: np.random.Generator,
    groups: int,
    people: int = 100,
    statements: int = 30,
    noise: float = 0.2,
    missing: float = 0.3,
) -> tuple[pd.DataFrame, list[int]]:
    """Return votes and each person's true group. Each group agrees or disagrees with each statement by lot.

    noise: share of votes that are agree, pass or disagree by lot. missing: share of votes that are not there. With one group,
    statements differ in agreement and people do not.
    """
    patterns = rng.choice([-1.0, 1.0], (groups, statements))
    membership = np.sort(np.arange(people) % groups)
    return _with_noise(patterns[membership], rng, noise, missing), membership.tolist()


def _with_noise(table: np.ndarray, rng: np.random.Generator, noise: float, missing: float) -> pd.DataFrame:
    table = np.where(rng.random(table.shape) < noise, rng.choice([-1.0, 0.0, 1.0], table.shape), table)
    table[rng.random(table.shape) < missing] = np.nan
    people, statements = (
        [f"{kind}{number:03}" for number in range(size)] for kind, size in zip("ps", table.shape, strict=True)
    )
    return pd.DataFrame(table, people, statements)


def rand_index(first: Sequence[int], other: Sequence[int]) -> float:
    """Return the adjusted Rand index of two groupings (Hubert and Arabie 1985): 1 for the same groups, 0 by chance."""
    table = pd.crosstab(np.asarray(first), np.asarray(other)).to_numpy()
    both, rows, columns = (float(comb(counts, 2).sum()) for counts in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / float(comb(len(first), 2))
    return 1.0 if rows == columns == both else (both - expected) / ((rows + columns) / 2 - expected)


Floats = NDArray[np.float64]
CLEAR = float(norm.ppf(0.9))
"""Polis calls z above this (90%, one-sided) clear. Groups were formed from the same votes, so it is a rule of choice, no test."""
SHOWN = 5


def group_votes(votes: pd.DataFrame, groups: pd.Series) -> pd.DataFrame:
    """Return a row per group and statement: votes, agree, disagree, and for both directions p, r, z of the share, z of the gap.

    p: (votes for + 1) / (votes + 2). r: p divided by p of all other groups. Formulas and names are those of Polis.
    """
    return pd.concat([_one_group(votes, groups, group) for group in sorted(groups.unique())], ignore_index=True)


def _one_group(votes: pd.DataFrame, groups: pd.Series, group: int) -> pd.DataFrame:
    inside = votes.loc[groups.index[groups == group]]
    outside = votes.loc[groups.index[groups != group]]
    number, others = inside.notna().sum().to_numpy(float), outside.notna().sum().to_numpy(float)
    rows = pd.DataFrame({"group": group, "statement": votes.columns, "votes": number.astype(int)})
    for name, vote in (("agree", 1), ("disagree", -1)):
        count, other = (inside == vote).sum().to_numpy(float), (outside == vote).sum().to_numpy(float)
        rows[name] = count.astype(int)
        rows[f"p_{name}"] = share = (count + 1) / (number + 2)
        rows[f"r_{name}"] = share * (others + 2) / (other + 1)
        rows[f"z_{name}"] = 2 * np.sqrt(number + 1) * ((count + 1) / (number + 1) - 0.5)
        rows[f"z_gap_{name}"] = _z_of_gap(count + 1, other + 1, number + 1, others + 1)
    return rows


def _z_of_gap(count: Floats, other: Floats, number: Floats, others: Floats) -> Floats:
    """Return z of the difference of two shares; 0 where all agree."""
    pooled = (count + other) / (number + others)
    error = np.sqrt(np.maximum(0, pooled * (1 - pooled)) * (1 / number + 1 / others))
    gap = count / number - other / others
    return np.asarray(np.divide(gap, error, out=np.zeros_like(gap), where=pooled < 1))


def representative_votes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each group at most five statements that it accepts (or rejects) clearly, and clearly more than others do.

    Polis adds the best statement of a group without any; here such a group has none. Columns: group, statement, direction,
    share, votes, strength (the product of p, r and both z), the strongest first.
    """
    parts = []
    for name in ("agree", "disagree"):
        clear = rows[(rows[f"z_{name}"] > CLEAR) & (rows[f"z_gap_{name}"] > CLEAR)]
        strength = clear[[f"p_{name}", f"r_{name}", f"z_{name}", f"z_gap_{name}"]].prod(axis=1)
        parts.append(
            clear[["group", "statement", "votes"]].assign(
                direction=name, share=clear[name] / clear["votes"], strength=strength
            )
        )
    chosen = pd.concat(parts).sort_values(["group", "strength"], ascending=[True, False], kind="stable")
    return chosen.groupby("group").head(SHOWN).reset_index(drop=True)


def common_ground(rows: pd.DataFrame) -> pd.Series:
    """Return group-aware consensus by statement, the highest first: the product of p_agree over groups (0 to 1)."""
    return rows.groupby("statement")["p_agree"].prod().sort_values(ascending=False, kind="stable")
