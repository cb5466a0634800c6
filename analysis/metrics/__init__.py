"""The folder is the registry: each module has ORDER, TITLE, NOTE, LABELS and `compute(tables) -> DataFrame`, a pure function.

LABELS names the columns that the summary shows, with their headings, in order (empty: only in tables/). A column with
`<name>_low` and `<name>_high` beside it is shown with its interval; of a table by `round` the first and the last are shown. A
module may have `headline(frame)`, one sentence, and NEEDS, the table of a run without which there is nothing to measure: it is
left out then.
A hand-computed example of each metric stands in its test.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parley.analysis.tables import Tables


def metrics() -> dict[str, ModuleType]:
    """Every metric by name, by ORDER; modules that start with an underscore are shared helpers."""
    found = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in found}
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))


def applies(metric: ModuleType, tables: Tables) -> bool:
    """Whether a run has what a metric needs."""
    return not hasattr(metric, "NEEDS") or len(getattr(tables, metric.NEEDS)) > 0
