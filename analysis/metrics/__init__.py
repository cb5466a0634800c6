"""The folder is the registry: each module has ORDER, TITLE, NOTE, LABELS and `compute(tables) -> DataFrame`, a pure function.

LABELS names the columns that the summary shows, with their headings, in order (empty: only in tables/). A column with
`<name>_low` and `<name>_high` beside it is shown with its interval. A module may have `headline(frame)`, one sentence.
A hand-computed example of each metric stands in its test.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def metrics() -> dict[str, ModuleType]:
    """Every metric by name, by ORDER; modules that start with an underscore are shared helpers."""
    found = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in found}
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))
