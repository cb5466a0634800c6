"""Metrics, one file each: a pure function of the tables of a run.

A metric's module has ORDER, TITLE, NOTE, LABELS and `compute(tables) -> DataFrame`. LABELS names the columns that the
summary shows, with their headings (empty: the table is only in tables/). A column with `<name>_low` and `<name>_high`
is shown with its interval; of a table by `round`, the first and the last round are shown. Two names are optional:
`headline(frame)`, one sentence on the result ("": none), and NEEDS, the table of a run without which the metric is left out.

A metric of your own is one more file here, one that a study declares, or a file given by its path (llm/registry.py). Its test
holds an example computed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from parley.llm.registry import Registry

if TYPE_CHECKING:
    from parley.analysis.tables import Tables

NAMES = ("ORDER", "TITLE", "NOTE", "LABELS", "compute")
METRICS = Registry("metric", __name__, "parley.metrics", NAMES, shared=(), whole=True, studies="metrics")


def metrics(more: Sequence[str] = ()) -> dict[str, ModuleType]:
    """Return every metric by name, in ORDER: those found here, of entry points, and at the paths `more`. Errors: UserError."""
    modules: dict[str, ModuleType] = METRICS.modules([*METRICS.names(), *more])
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))


def applies(metric: ModuleType, tables: Tables) -> bool:
    """Return whether a run has the table that a metric needs."""
    return not hasattr(metric, "NEEDS") or len(getattr(tables, metric.NEEDS)) > 0
