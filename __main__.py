"""`python -m parley` and the command `parley`: the same as `python run.py`."""

from __future__ import annotations

import sys

from parley.run import main

if __name__ == "__main__":
    sys.exit(main())
