"""Metrics: a module has ORDER, TITLE, NOTE, LABELS and `compute(tables) -> DataFrame`, a pure function. By name: a module of the
folder, or one of your own (llm/registry.py).

LABELS names the columns that the summary shows, with their headings, in order (empty: only in tables/). A column with
`<name>_low` and `<name>_high` beside it is shown with its interval; of a table by `round` the first and the last are shown. A
module may have `headline(frame)`, one sentence, and NEEDS, the table of a run without which there is nothing to measure: it is
left out then.
A hand-computed example of each metric stands in its test.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from parley.llm.registry import Registry

if TYPE_CHECKING:
    from parley.analysis.tables import Tables

METRICS = Registry(
    "metric", __name__, "parley.metrics", ("ORDER", "TITLE", "NOTE", "LABELS", "compute"), shared=(), whole=True
)


def metrics(more: Sequence[str] = ()) -> dict[str, ModuleType]:
    """Every metric by name, by ORDER: those of the folder and of entry points, and `more` at their paths. Errors: UserError."""
    modules: dict[str, ModuleType] = METRICS.modules([*METRICS.names(), *more])
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))


def applies(metric: ModuleType, tables: Tables) -> bool:
    """Whether a run has what a metric needs."""
    return not hasattr(metric, "NEEDS") or len(getattr(tables, metric.NEEDS)) > 0
