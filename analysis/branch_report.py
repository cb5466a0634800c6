"""What a branch changed: the branch minus its parent, room by room, from the round on at which they part.

The rooms, people and seeds of both are the same, and so is every word before that round. So the effect is measured as that of
`run.py intervene` (analysis/studies/intervention.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    "The branch and its parent have the same rooms, agents and seeds, and are the same word for word before round {0} (checked). "
    "The effect is the rating in the branch minus the rating in its parent, in the same room, averaged over the agents there. "
    "Brackets and bars are 95% confidence intervals over rooms, not corrected for the number of rows. Replies from round {0} on "
    "may be sampled again, so ratings differ by chance too; the intervals include this chance."
)
SAME = "**No difference:** from round {} on, every rating that both have is the same as in the parent."
NOTHING = "There is no rating after the same round in both, so there is nothing to compare from round {} on."


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
    first = int(branch.header.branch["round"])
    known = set(parent.interventions[ACT].itertuples(index=False, name=None))
    added = [act not in known for act in branch.interventions[ACT].itertuples(index=False, name=None)]
    acts = branch.interventions[pd.Series(added, index=branch.interventions.index, dtype=bool)]
    result = compare_from(parent, branch, first, acts[acts["round"] >= first])
    return replace(result, names=NAMES, compared="in the branch than in its parent")


def add_branch(report: Report, tables: Tables, folder: Path) -> None:
    """Add the section on a branch to its summary, with the figure figures/branch and the table tables/branch.

    A run that is no branch has no such section.
    """
    where = parent_folder(tables.header, folder)
    if where is None:
        return
    first = tables.header.branch["round"]
    report.section("Compared with its parent")
    try:
        parent = load(where)
        result = branch_effect(parent, tables)
        changed = what_changed(tables.header, parent.header, where)
    except UserError as error:
        report.add(f"This run is a branch of `{where.as_posix()}` from round {first} on.")
        report.plain(f"It cannot be compared with its parent: {error}.")
        return
    told = "; ".join(changed) or "nothing"
    report.plain(f"This run is a branch of {where.resolve().name} from round {first} on. It changes: {told}.")
    if result.effects["rooms"].sum() == 0:
        report.add(NOTHING.format(first))
        return
    same = (result.effects["effect"].fillna(0) == 0).all() and _unchanged(parent, tables, first)
    report.add(SAME.format(first) if same else headline(result))
    report.figure(
        branch_figure(parent, tables, result), "figures/branch", "Attitudes in parent and branch, and their difference"
    )
    report.data(**{"tables/branch": named(result.effects)})
    report.add(HOW.format(first))
    if result.untouched:
        report.add(f"Rooms that no new intervention reached are left out: {result.untouched:,}.")
    if not same:
        report.table(*effects_table(result, result.effects))
    if missing := int(result.effects.loc[result.effects["measure"] == "attitude", "missing"].sum()):
        report.add(f"Pairs of ratings left out because one is missing: {missing:,}.")


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
    caption = f"Branch from round {result.first} on. Bars are 95% intervals over rooms. {disclaimers.model_label(branch.header)}"
    return draw_runs(dict(zip(NAMES, (parent, branch), strict=True)), table, caption, result.first)


def branch_tree(folders: Sequence[Path]) -> str:
    """Return the tree of the runs to which these belong: a line per run, with the round at which it parts and what it changes.

    Branches are found in the folders that hold a run of the tree. Errors: UserError where one of these is no run.
    """
    headers = {folder.resolve(): load(folder) for folder in folders}
    roots = dict.fromkeys(_root(folder, headers) for folder in list(headers))
    _find_branches(headers)
    return "\n".join(line for root in roots for line in _branch_lines(root, headers, "", ""))


def _root(folder: Path, known: dict[Path, Tables]) -> Path:
    """Return the run without a parent (or whose parent is missing) from which a run descends, and load all on the way."""
    while (parent := parent_folder(known[folder].header, folder)) is not None:
        parent = parent.resolve()
        try:
            known.setdefault(parent, load(parent))
        except UserError:
            return folder
        folder = parent
    return folder


def _find_branches(known: dict[Path, Tables]) -> None:
    """Load every branch of a known run that lies in a folder with one of them."""
    for place in dict.fromkeys(folder.parent for folder in list(known)):
        for folder in sorted(path for path in place.iterdir() if path.is_dir() and path not in known):
            try:
                tables = load(folder)
            except UserError:
                continue
            if tables.header.branch:
                known[folder] = tables


def _branch_lines(folder: Path, known: dict[Path, Tables], lead: str, below: str) -> list[str]:
    lines = [f"{lead}{folder.name}{_described(folder, known)}"]
    children = [path for path, each in known.items() if _is_child(path, each, folder)]
    children.sort(key=lambda path: (known[path].header.branch["round"], path.name))
    for place, child in enumerate(children, 1):
        last = place == len(children)
        lines += _branch_lines(child, known, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
    return lines


def _is_child(path: Path, tables: Tables, folder: Path) -> bool:
    parent = parent_folder(tables.header, path)
    return parent is not None and parent.resolve() == folder


def _described(folder: Path, known: dict[Path, Tables]) -> str:
    """Return what a line says of a run after its name."""
    tables = known[folder]
    header, rounds = tables.header, tables.header.scenario["rounds"]
    reached = int(tables.utterances["round"].max()) if len(tables.utterances) else 0
    state = f"{rounds} rounds" if tables.finished else f"unfinished, {reached} of {rounds} rounds"
    where = parent_folder(header, folder)
    if where is None:
        return f"  {header.scenario['name']} on {header.scenario['llm']}, {state}"
    parent = known.get(where.resolve())
    if parent is None:
        return f"  from round {header.branch['round']} of {where.name} (not on this machine), {state}"
    try:
        told = "; ".join(what_changed(header, parent.header, where)) or "nothing changed"
    except UserError:
        told = "of another version of Parley"
    return f"  from round {header.branch['round']}: {told} ({state})"
