"""`parley.branch`: a run that shares the earlier rounds of another run, and goes on with other settings."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parley.analysis.branch_report import parent_folder, what_changed
from parley.analysis.runs import Run, run_and_report
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.model.agent_factory import AgentClass
from parley.model.arguments import budgets_from_args
from parley.model.branching import Interventions, plan_branch
from parley.model.events import Header
from parley.model.run_listing import read_progress


@dataclass(frozen=True, eq=False)
class BranchNode:
    """A run of a tree. rounds: those that it has completed. parent: None for a run without one, or with one that is missing.

    The branches of a node are sorted by the round at which they part.
    """

    folder: Path
    header: Header
    rounds: int
    finished: bool
    parent: BranchNode | None = None
    branches: list[BranchNode] = field(default_factory=list)

    @property
    def state(self) -> str:
        """`5 rounds`, or `unfinished, 2 of 5 rounds`."""
        rounds = self.header.scenario["rounds"]
        return f"{rounds} rounds" if self.finished else f"unfinished, {self.rounds} of {rounds} rounds"

    @property
    def size(self) -> int:
        """The number of runs of this tree."""
        return 1 + sum(branch.size for branch in self.branches)


def branch_trees(folders: Sequence[Path]) -> list[BranchNode]:
    """Return the trees to which these runs belong.

    Branches are found in the folders that hold a run of the tree. Errors: UserError where one of these is no run.
    """
    progress = {folder.resolve(): read_progress(folder) for folder in folders}
    roots = dict.fromkeys(_root(folder, progress) for folder in list(progress))
    _find_branches(progress)
    return [_node(root, progress, None) for root in roots]


def draw_trees(trees: Sequence[BranchNode]) -> str:
    """Return trees as text: a line per run, with the round at which it parts and what it changes."""
    return "\n".join(line for tree in trees for line in _lines(tree, "", ""))


ProgressByFolder = dict[Path, tuple[Header, int, bool]]


def _root(folder: Path, progress: ProgressByFolder) -> Path:
    """Return the run without a parent (or whose parent is missing) from which a run descends, and read all on the way."""
    while (parent := parent_folder(progress[folder][0], folder)) is not None:
        parent = parent.resolve()
        try:
            progress.setdefault(parent, read_progress(parent))
        except UserError:
            return folder
        folder = parent
    return folder


def _find_branches(progress: ProgressByFolder) -> None:
    """Read every branch that lies in a folder with one of these runs."""
    for place in dict.fromkeys(folder.parent for folder in list(progress)):
        for folder in sorted(path for path in place.iterdir() if path.is_dir() and path not in progress):
            try:
                read = read_progress(folder)
            except UserError:
                continue
            if read[0].branch:
                progress[folder] = read


def _node(folder: Path, progress: ProgressByFolder, parent: BranchNode | None) -> BranchNode:
    node = BranchNode(folder, *progress[folder], parent)
    children = [path for path, read in progress.items() if _is_child(path, read[0], folder)]
    children.sort(key=lambda path: (progress[path][0].branch["round"], path.name))
    node.branches.extend(_node(child, progress, node) for child in children)
    return node


def _is_child(path: Path, header: Header, folder: Path) -> bool:
    parent = parent_folder(header, path)
    return parent is not None and parent.resolve() == folder


def _lines(node: BranchNode, lead: str, below: str) -> Iterator[str]:
    yield f"{lead}{node.folder.name}{_described(node)}"
    for place, child in enumerate(node.branches, 1):
        last = place == len(node.branches)
        yield from _lines(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


def _described(node: BranchNode) -> str:
    """Return what a line says of a run after its name."""
    scenario, origin = node.header.scenario, node.header.branch
    if not origin:
        return f"  {scenario['name']} on {scenario['llm']}, {node.state}"
    if node.parent is None:
        return f"  from round {origin['round']} of {Path(origin['parent']).name} (not on this machine), {node.state}"
    try:
        told = "; ".join(what_changed(node.header, node.parent.header, node.parent.folder)) or "nothing changed"
    except UserError:
        told = "of another version of Parley"
    return f"  from round {origin['round']}: {told} ({node.state})"


def branch(
    run: Run | Path | str,
    round: int,
    *,
    out: Path | str | None = None,
    interventions: Interventions = (),
    agent_class: AgentClass = None,
    backend: Backend | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    price: tuple[float, ...] | None = None,
    keep_going: bool = False,
    progress: bool = True,
    metrics: Sequence[str] = (),
    **fields: Any,
) -> Run:
    """Run a branch of a run: the rounds before `round` are those of the run, then other settings hold.

    The earlier rounds come from the journal of the run, and no model is asked again about them. The summary of the branch has the
    effect: branch minus parent, in the same room, with its interval. The same call with the same folder continues an unfinished
    branch and repeats no request.

    Parameters
    ----------
    run : Run, str or Path
        The parent: a run, or its folder. It may be unfinished, or a branch itself.
    round : int
        The first round that may differ. The number of rounds plus one continues a finished run (with `rounds`).
    out : str or Path, optional
        The folder of the branch (next to the parent: `<parent>-round<round>-<time>`).
    interventions : sequence, optional
        Interventions from this round on, in addition to those of the run: objects, or texts as on the command line, in which
        `round` may be left out. An empty text drops those that the run has planned from this round on.
    agent_class : type or dict, optional
        The agent classes of the run, if it has some.
    backend : Backend, optional
        The model that answers, in place of the scenario's `llm`.
    max_calls, max_tokens, max_cost, price, keep_going, progress, metrics
        As for `parley.run`. The limits count the calls of the branch alone.
    **fields
        What changes: `rounds`, `llm`, `temperature`, `top_p`, `max_tokens`, `cut`, `reminder`.

    Returns
    -------
    Run
        The finished branch.

    Raises
    ------
    UserError
        A setting cannot change in mid-run, the run does not reach the round, or the branch stopped early.

    Examples
    --------
    >>> parent = parley.run("three_way", llm="oracle", out="runs/a")  # doctest: +SKIP
    >>> cooler = parley.branch(parent, 3, temperature=0.2, out="runs/cooler")  # doctest: +SKIP
    >>> parley.compare(parent, cooler).sentences  # doctest: +SKIP
    """
    parent = run.folder if isinstance(run, Run) else Path(run)
    plan = plan_branch(parent, round, branch_folder(parent, round, out), fields, interventions, agent_class)
    limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost, "price": price, "prices": None}
    (budget,) = budgets_from_args(argparse.Namespace(**limits, keep_going=keep_going), plan.spec.scenario)
    return run_and_report(plan.with_budget(budget), backend, progress, metrics)


def branch_folder(parent: Path, round_: int, out: Path | str | None) -> Path:
    """Return the folder of a branch: `out`, or a new one next to its parent."""
    if out:
        return Path(out)
    return parent.parent / f"{parent.resolve().name}-round{round_}-{time.strftime('%Y%m%d-%H%M%S')}"
