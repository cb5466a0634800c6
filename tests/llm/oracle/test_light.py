"""The oracle opens at once: its planted laws, those of studies too, load nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import run


def test_opening_the_oracle_loads_nothing_heavy() -> None:
    """A study whose law imported its measures made every start of the oracle load pandas, statsmodels and Mesa."""
    code = (
        "import sys, run\n"
        "from parley.llm.backends import open_spec\n"
        "open_spec('oracle')\n"
        "sys.exit(', '.join({'numpy', 'pandas', 'scipy', 'mesa', 'networkx', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(run.__file__).parent, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
