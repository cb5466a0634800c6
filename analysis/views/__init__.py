"""The views of the page: what it shows of a run. The folder is the registry; studies declare further ones.

A view has ORDER, TITLE, `shows(tables)` and a component `View`. It sees the tables of a run (analysis/tables.py) and nothing else
of it, so that a run under way and a loaded run look alike. `page` and modules that begin with an underscore are not views.
A view is a tab. One with PANE, "left" or "right", is a part of the first tab instead, so that conversation, chart and network are
seen together.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from parley.llm.studies import loaded


def views() -> list[ModuleType]:
    """Return every view, by ORDER."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "page"]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names if not name.startswith("_")]
    return sorted([*modules, *loaded("views")], key=lambda module: (module.ORDER, module.__name__))


def tabs() -> list[ModuleType]:
    """Return the views that are tabs, by ORDER."""
    return [view for view in views() if not hasattr(view, "PANE")]


def panes(side: str) -> list[ModuleType]:
    """Return the views on a side of the first tab, by ORDER. side: "left" or "right"."""
    return [view for view in views() if getattr(view, "PANE", "") == side]
