"""How often each test cries wolf, under the null and with rooms that differ (analysis/statistics/nulls.py).

python benchmarks/false_alarms.py [--sets 2000]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

ALPHA = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000)
    sets = parser.parse_args().sets
    import numpy as np

    from analysis.bootstrap import share_interval
    from analysis.statistics.nulls import TESTS

    for name, test in TESTS.items():
        rng = np.random.default_rng(0)
        alarms = sum(test(rng) < ALPHA for _ in range(sets))
        low, high = share_interval(alarms, sets)
        print(f"{name:32} {alarms / sets:.3f} ({low:.3f} to {high:.3f}) of {sets:,}", flush=True)


if __name__ == "__main__":
    main()
