"""The tree of the branches of a run, as a nested list with links."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import solara

from parley.analysis.branches import BranchNode, branch_trees
from parley.analysis.views._address import place_of, use_go
from parley.analysis.views._html import element
from parley.analysis.views._runs import ROOT
from parley.analysis.views._timetable import changes_in_words
from parley.analysis.views._words import run_title
from parley.llm.errors import UserError
from parley.model.branching import scenario_of


@solara.component_vue("tree.vue")
def Tree(rows: str, here: str, event_open: Callable[[str], None]) -> None:
    """rows: JSON of runs, each with its depth, folder, text and state. here: the folder of the run that is shown."""


@solara.component
def BranchTree(folder: Path, now: object) -> None:
    """The tree to which a run belongs; nothing for a run without parent and branch. now: with another value it is read anew."""
    go = use_go()
    rows = solara.use_memo(lambda: tree_rows(folder), [str(folder), now])
    if len(rows) > 1:
        element("h2", "Branches")
        Tree(rows=json.dumps(rows), here=str(folder), event_open=lambda to: go(place_of(run=to)))


def tree_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the runs of a tree in their order, as rows of the list; none where the run cannot be read."""
    try:
        trees = branch_trees([folder])
    except (UserError, OSError):
        return []
    return [row for tree in trees for row in _rows(tree, 0)]


def _rows(node: BranchNode, depth: int) -> list[dict[str, Any]]:
    shown = _shown(node.folder)
    row = {"depth": depth, "folder": shown, "name": node.folder.name, "text": _text(node), "state": node.state}
    return [row, *(below for branch in node.branches for below in _rows(branch, depth + 1))]


def _shown(folder: Path) -> str:
    """Return a folder as the page names it: below runs/."""
    root = ROOT.resolve()
    return str(ROOT / folder.relative_to(root)) if folder.is_relative_to(root) else str(folder)


def _text(node: BranchNode) -> str:
    origin = node.header.branch
    if not origin:
        return run_title(node.header)
    if node.parent is None:
        return f"from round {origin['round']} of {Path(origin['parent']).name}, which is not on this machine"
    try:
        base = scenario_of(node.parent.header, node.parent.folder)
        branch = scenario_of(node.header, node.folder)
        changes = "; ".join(changes_in_words(base, branch, node.header.names, int(origin["round"]))) or "no change"
    except UserError:
        changes = "made by another version of Parley"
    return f"from round {origin['round']} on: {changes}"
