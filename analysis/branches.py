"""`parley.branch`: a run that shares the earlier rounds of another run, and goes on with other settings."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parley.analysis.runs import Run, run_and_report
from parley.llm.request import Backend
from parley.model.agent_factory import AgentClass
from parley.model.arguments import budgets_from_args
from parley.model.branching import Interventions, plan_branch


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
    price: tuple[float, float] | None = None,
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
