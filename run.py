"""`python run.py --scenario echo_chamber`: the command line of this checkout, even if another version is installed.

The commands are in `commands.py`. After `import run`, `import parley` gives the code of this checkout.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if "parley" not in sys.modules:
    _folder = Path(__file__).resolve().parent
    _spec = importlib.util.spec_from_file_location(
        "parley", _folder / "__init__.py", submodule_search_locations=[str(_folder)]
    )
    assert _spec
    assert _spec.loader
    sys.modules["parley"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["parley"])

from parley.__main__ import main
from parley.commands import command, commands, parser_of

__all__ = ["command", "commands", "main", "parser_of"]

if __name__ == "__main__":
    sys.exit(main())
