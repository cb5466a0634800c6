"""What the page shows of a run. The folder is the registry: a view has ORDER, TITLE, `shows(tables)` and a component `View`.

A view sees tables (analysis/tables.py) and nothing else of a run, so a run that is under way and one that was loaded look alike.
Modules that start with an underscore, and `page`, are no views.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def views() -> list[ModuleType]:
    """Every view, by ORDER."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [importlib.import_module(f"{__name__}.{name}") for name in names if name != "page" and name[0] != "_"]
    return sorted(found, key=lambda module: (module.ORDER, module.__name__))
