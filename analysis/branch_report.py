"""What a branch changed: the branch minus its parent, room by room, from the round on at which they part.

The rooms, people and seeds of both are the same, and so is every word before that round. So the effect is measured as that of
`run.py study intervene` (analysis/studies/intervention.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.report import Report
from parley.analysis.run_comparison import COLUMNS, PAIRED, mean_attitudes
from parley.analysis.run_comparison_figure import draw_runs
from parley.analysis.studies.intervention import (
    BRANCHES,
    InterventionResult,
    compare_from,
    effects_table,
    estimate_rows,
    headline,
)
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.model.branching import changes, scenario_of
from parley.model.events import Header

NAMES = "parent", "branch"
ACT = ["room", "round", "what", "agents", "text", "by"]
HOW = (
    "The branch and its parent run have the same rooms, agents and seeds. Parley checked that both runs are the same "
    "word for word before round {0}. The effect is the rating in the branch minus the rating in the parent run, in the "
    "same room, averaged over the agents of the room. Brackets and bars are 95% confidence intervals over rooms, not "
    "corrected for the number of rows. Replies from round {0} on may be sampled again, so ratings also differ by "
    "chance; the intervals include such chance differences."
)
SAME = "**No difference:** from round {} on, all ratings that are in both the branch and its parent run are equal."
NOTHING = "The branch and its parent have no rating after the same round, so the two runs cannot be compared from round {} on."


def parent_folder(header: Header, folder: Path) -> Path | None:
    """Return the folder of a branch's parent; None for a run that is no branch. It may be missing on this machine."""
    parent = header.branch.get("parent")
    return folder / parent if parent else None


def what_changed(branch: Header, parent: Header, folder: Path) -> list[str]:
    """Return what a branch changed, as on a command line. folder: the parent's. Errors: UserError for an unknown version."""
    return list(changes(scenario_of(parent, folder), scenario_of(branch, folder)))


def branch_effect(parent: Tables, branch: Tables) -> InterventionResult:
    """Return how ratings differ from the round on at which the branch parts from its parent.

    If the branch adds interventions that reach only some rooms, the effect is that on these rooms. Errors: UserError where the
    two differ before that round.
    """
    parent_acts = set(parent.interventions[ACT].itertuples(index=False, name=None))
    added = [act not in parent_acts for act in branch.interventions[ACT].itertuples(index=False, name=None)]
    acts = branch.interventions[pd.Series(added, index=branch.interventions.index, dtype=bool)]
    first = _first_round(branch, acts)
    result = compare_from(parent, branch, first, acts[acts["round"] >= first])
    return replace(result, names=NAMES, compared=("in the branch", "in its parent"))


def _first_round(branch: Tables, acts: pd.DataFrame) -> int:
    """Return the first round that may differ, as rooms count rounds: within a topic, where stages are about several topics."""
    stages = branch.places.groupby("stage")["topic"].nunique()
    if branch.places["topic"].nunique() > stages.max():
        return int(acts["round"].min()) if len(acts) else 1
    return int(branch.header.branch["round"])


@dataclass(frozen=True, eq=False)
class ParentComparison:
    """A branch compared with its parent. changed: as on a command line. same: whether all ratings of both are the same."""

    parent: Tables
    result: InterventionResult
    changed: list[str]
    same: bool

    @property
    def sentence(self) -> str:
        """What came out, in Markdown."""
        if self.result.effects["rooms"].sum() == 0:
            return NOTHING.format(self.result.first)
        return SAME.format(self.result.first) if self.same else headline(self.result)


def compare_with_parent(tables: Tables, where: Path) -> ParentComparison:
    """Return the comparison of a branch with its parent in the folder `where`. Errors: UserError."""
    parent = load(where)
    result = branch_effect(parent, tables)
    changed = what_changed(tables.header, parent.header, where)
    same = (result.effects["effect"].fillna(0) == 0).all() and _unchanged(parent, tables, result.first)
    return ParentComparison(parent, result, changed, bool(same))


def add_branch(report: Report, tables: Tables, folder: Path) -> None:
    """Add the section on a branch to its summary, with the figure figures/branch and the table tables/branch.

    A run that is no branch has no such section.
    """
    if (where := parent_folder(tables.header, folder)) is None:
        return
    first = tables.header.branch["round"]
    report.section("Compared with its parent")
    try:
        comparison = compare_with_parent(tables, where)
    except UserError as error:
        report.add(f"This run is a branch of `{where.as_posix()}` from round {first} on.")
        report.plain(f"The branch cannot be compared with its parent: {error}.")
        return
    parent, result, told = comparison.parent, comparison.result, "; ".join(comparison.changed) or "nothing"
    report.plain(f"This run is a branch of {where.resolve().name} from round {first} on. It changes: {told}.")
    report.add(comparison.sentence)
    if result.effects["rooms"].sum() == 0:
        return
    report.figure(
        branch_figure(parent, tables, result), "figures/branch", "Attitudes in parent and branch, and their difference"
    )
    report.data(**{"tables/branch": named(result.effects)})
    report.add(HOW.format(result.first))
    if result.untouched:
        report.add(f"Number of rooms left out because no new intervention reached them: {result.untouched:,}.")
    if not comparison.same:
        report.table(*effects_table(result, result.effects))
    if missing := int(result.effects.loc[result.effects["measure"] == "attitude", "missing"].sum()):
        report.add(f"Number of pairs of ratings left out because one rating of the pair is missing: {missing:,}.")


def _unchanged(parent: Tables, branch: Tables, first: int) -> bool:
    """Return whether all ratings from a round on, as far as both have them, are the same."""
    keys = ["room", "agent", "round", "probe"]
    both = parent.attitudes[parent.attitudes["round"] >= first].merge(branch.attitudes, on=keys)
    return bool(both["attitude_x"].equals(both["attitude_y"]) and both["expected_x"].equals(both["expected_y"]))


def named(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects with the columns `parent` and `branch`."""
    return effects.rename(columns=dict(zip(BRANCHES, NAMES, strict=True)))


def branch_figure(parent: Tables, branch: Tables, result: InterventionResult) -> Figure:
    """Draw attitudes in parent and branch, and under them the effect by round with its 95% interval."""
    rows = estimate_rows(result.effects)
    if rows["told"].nunique() > 1:  # a point for each party: agents whom an intervention reached
        rows = rows[rows["told"]]
    renamed = {"effect": "difference", "effect_low": "difference_low", "effect_high": "difference_high"}
    keys = ["topic", "group", "party", "round"]
    effects = rows.rename(columns=renamed)[[*keys, *renamed.values(), "rooms"]].assign(how=PAIRED)
    means = [mean_attitudes(tables).assign(run=name) for name, tables in zip(NAMES, (parent, branch), strict=True)]
    means[1] = means[1].merge(effects, on=keys, how="left")
    table = pd.concat(means, ignore_index=True).reindex(columns=COLUMNS)
    caption = (
        f"Points are means over rooms, bars are 95% intervals over rooms. {disclaimers.model_label(branch.header)}"
    )
    title = f"What the branch changed from round {result.first} on"
    return draw_runs(dict(zip(NAMES, (parent, branch), strict=True)), table, caption, result.first, title)
