"""The report of `run.py study opinion-groups`: groups, what each wants, common ground, and the audit of slates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.figures import PaperFigure, add_legend, new_figure, styles_by_party
from parley.analysis.formatting import Column, escape_markdown, format_number, format_p, number
from parley.analysis.report import Report, disk_errors
from parley.analysis.unknown import unknown_sentence
from parley.studies.opinion_groups.clusters import Grouping, find_groups
from parley.studies.opinion_groups.slates import audit_slate, equal_shares_slate, greedy_slate, phragmen_slate
from parley.studies.opinion_groups.votes import common_ground, group_votes, rand_index, representative_votes

NAME = "opinion_groups"
READING = (
    "Groups are found with the method of Polis, on the principal components that exceed chance (at least two). k-means always "
    "finds groups. So groups count only if their silhouette is larger than in 95% of artificial data sets without groups. One "
    "kind of artificial data are votes shuffled within each statement, the other kind a spectrum of opinions without gaps, as "
    "skewed or flat as the observed opinions. People count as independent. If people debated with one another before they "
    "voted, the people of a debate are alike, and debates may look like groups: compare the groups with the debates."
)
WANTS = (
    "The table lists statements that a group accepts (or rejects) clearly, and clearly more than other groups do, by the rule "
    "of Polis. Groups were formed from the same votes, so the list of statements is not a test."
)
GROUND = (
    "Group-aware consensus is the product of all groups' shares of agreement, and is high only if each group agrees."
)
PARTIES = (
    "Groups are found by votes alone, and parties are the parties of the personas. The adjusted Rand index is 1 if groups and "
    "parties divide the agents in the same way, and about 0 if groups and parties are unrelated."
)
SLATES = (
    "JR (justified representation) fails if a large enough group agrees with a common statement, but with no statement of the "
    "slate. A group is large enough if it has at least as many people as there are people per statement of the slate. EJR "
    "extends JR to larger groups that deserve several statements. A missing vote does not count as agreement."
)
WANTED: Mapping[str, Column] = {
    "group": "group", "statement": "statement", "direction": "direction", "share": number("share"), "votes": "votes",
}  # fmt: skip


class Search(NamedTuple):
    """How groups are looked for. draws: worlds of each kind. components: None to count them by parallel analysis; Polis has 2."""

    seed: int
    draws: int
    components: int | None = None


def write_groups(
    votes: pd.DataFrame, given: Sequence[str], size: int, search: Search, folder: Path, parties: pd.Series | None = None
) -> Path:
    """Write the report on votes (people × statements) with its tables and its figure; return the path of the page.

    given: statements of a slate to audit (may be empty). size: statements of the slates that are audited with it. parties: of
    the people, if they are agents of a run.
    """
    seed = search.seed
    grouping = find_groups(votes, np.random.default_rng(seed), search.draws, search.components)
    groups = None if grouping.reason else grouping.people["group"]
    rows = group_votes(votes, groups if groups is not None else pd.Series(1, votes.index))
    ground, wanted = common_ground(rows), representative_votes(rows)
    slates = pd.DataFrame(_audits(votes, ground, given, len(given) or min(size, votes.shape[1]), groups))
    report = Report(folder, NAME, "Groups of opinion")
    with disk_errors(folder, "the file with the votes is not changed"):
        report.add(READING)
        report.missing(int(votes.isna().sum().sum()), votes.size, "votes are not there", "not asked, or empty")
        report.in_short(sentences(grouping, len(votes), slates))
        if groups is not None:
            report.figure(draw_map(grouping.people, seed), NAME, "Map of people by their votes")
            if parties is not None:
                report.section("Groups and parties", PARTIES)
                add_parties(report, groups, parties)
            report.section("What each group wants", WANTS)
            report.table(wanted, WANTED)
            report.section("Common ground", GROUND)
            top = ground.head(5).rename("value").reset_index()
            report.table(top, {"statement": "statement", "group-aware consensus": number("value")})
        report.section("Slates", SLATES)
        shares: dict[str, Column] = {name: number(name) for name in slates if str(name).startswith("group ")}
        columns: dict[str, Column] = {"slate": "slate", "statements": "statements", "JR": "jr", "EJR": "ejr"}
        report.table(slates, columns | {"covered": number("covered")} | shares)
        report.data(people=grouping.people.reset_index(), group_votes=rows, slates=slates)
        return report.write()


def add_parties(report: Report, groups: pd.Series, parties: pd.Series) -> None:
    """Add how many agents of each party are in each group, and the adjusted Rand index of groups and parties."""
    group_parties = parties.reindex(groups.index)
    counts = pd.crosstab(groups, group_parties)
    index = rand_index(pd.factorize(groups)[0].tolist(), pd.factorize(group_parties)[0].tolist())
    report.add(f"Adjusted Rand index of groups and parties: {format_number(index)}.")
    rows = [
        [str(group), *(str(count) for count in row)] for group, row in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    report.table(rows, ["group", *map(str, counts.columns)])


def _audits(
    votes: pd.DataFrame, ground: pd.Series, given: Sequence[str], size: int, groups: pd.Series | None
) -> Iterator[dict[str, object]]:
    """Yield the audit of the slate that was given, and of others of the same size."""
    if given:
        yield {"slate": "given", **audit_slate(votes, given, groups)}
    most = (votes == 1).sum().sort_values(ascending=False, kind="stable").index[:size]
    yield {"slate": "most agreement", **audit_slate(votes, list(most), groups)}
    if groups is not None:
        yield {"slate": "group-aware consensus", **audit_slate(votes, list(ground.index[:size]), groups)}
    greedy = votes.columns[greedy_slate((votes == 1).to_numpy(), size)]
    yield {"slate": "greedy", **audit_slate(votes, list(greedy), groups)}
    for name, rule in {"phragmén": phragmen_slate, "equal shares": equal_shares_slate}.items():
        slate = votes.columns[rule((votes == 1).to_numpy(), size)]
        yield {"slate": name, **audit_slate(votes, list(slate), groups)}


def sentences(grouping: Grouping, people: int, slates: pd.DataFrame) -> Iterator[str]:
    """Yield what is known of groups and of each slate."""
    if np.isnan(grouping.silhouette):
        yield unknown_sentence("whether there are groups of opinion", grouping.reason)
    else:
        shown = (
            f"{grouping.components} components, silhouette {format_number(grouping.silhouette)}, "
            f"p {format_p(grouping.p_dealt)} with shuffled votes, p {format_p(grouping.p_spectrum)} on a spectrum"
        )
        sizes = grouping.people["group"].value_counts().sort_index()
        yield (
            f"No groups of opinion are found: {grouping.reason} ({shown})."
            if grouping.reason
            else f"{len(sizes)} groups of opinion, of {', '.join(map(str, sizes))} people ({shown})."
        )
        if left := people - len(grouping.people):
            yield f"{left:,} of {people:,} people have too few votes and are in no group."
    if (slates["jr"] == "unknown").all():
        yield "It is unknown whether a slate represents people, because no person agrees with any statement."
        return
    for row in slates.to_dict("records"):
        listed = escape_markdown(str(row["statements"]))
        sentence = f"JR {row['jr']}, EJR {row['ejr']}; {100 * row['covered']:.0f}% agree with at least one statement of the slate"
        yield f"Slate *{row['slate']}* ({listed}): {sentence}."


def draw_map(people: pd.DataFrame, seed: int) -> PaperFigure:
    """Return the map of people: a colour and a marker per group."""
    looks = styles_by_party([f"group {group}" for group in sorted(people["group"].unique())])
    note = f"Each point is a person. Axes are the first two principal components of the votes; seed {seed}"
    with new_figure(5, 3.6, note, title="People who vote alike are close") as figure:
        axis = figure.subplots()
        for group, rows in people.groupby("group"):
            look = looks[f"group {group}"]
            label = f"group {group} ({len(rows)})"
            axis.plot(rows["x"], rows["y"], look["markers"][0], color=look["color"], label=label, markersize=4)
        axis.set(xlabel="first component", ylabel="second component")
        add_legend(figure, [axis])
    return figure
