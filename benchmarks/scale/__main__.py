"""Ratios of a run on many servers and processors.

    python -m benchmarks.scale --section servers|client|workers|laws

    servers  eight servers with a prefix cache, against one: prompt words computed again, and throughput
    workers  one run in one process, and in several
    client   calls a second and processor time of a run on one server, against a bare aiohttp loop
    laws     a step of DeGroot and Deffuant on 10^6 and 10^7 people: compiled, as arrays, mapped from a file, and NDlib (10^5)

Nothing is asserted; the figures of a machine are in tools/log. A section is a function in a file of its name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from benchmarks.scale import client, laws, servers, workers

SECTIONS = {"servers": servers.section, "client": client.section, "workers": workers.section, "laws": laws.section}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section", choices=SECTIONS, action="append", help="all sections without this option")
    for name in parser.parse_args().section or SECTIONS:
        SECTIONS[name]()
