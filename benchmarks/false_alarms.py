"""How often each statistic claims something of nothing, by number of rooms and kind of data (null_verdicts.py).

python benchmarks/false_alarms.py [--sets 1000] [--only headline] [--kinds normal,skewed]

A line a statistic and kind, a column a number of rooms: false claims in percent of the sets with a verdict. A dash: no verdict.
A star: outside of 3.5 to 6.5 by more than the number of sets can explain. Then those of null_simulation.py, which have
20 rooms. The bar is 3.5 to 6.5%, or no verdict; docs/statistics.md has the table and says what misses it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401  (`parley` is this checkout)

ALPHA, BAR = 0.05, (0.035, 0.065)
INTERVALS_AT, TESTS_AT = (2, 3, 5, 10, 20, 40), (2, 3, 5, 10, 20)


def cell(test: object, rooms: int, kind: str, sets: int) -> str:
    """The percentage of false claims among the verdicts of so many data sets."""
    import numpy as np

    from parley.analysis.bootstrap import share_interval

    rng = np.random.default_rng([rooms, sum(map(ord, kind))])
    found = [test(rng, rooms, kind) for _ in range(sets)]  # type: ignore[operator]
    known = [verdict for verdict in found if verdict is not None]
    if len(known) < sets / 20:
        return "–"
    low, high = share_interval(sum(known), len(known))
    star = "*" if low > BAR[1] or high < BAR[0] else ""
    return f"{100 * sum(known) / len(known):.1f}{star}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--only", default="", help="statistics whose name has this in it")
    parser.add_argument("--kinds", default="")
    options = parser.parse_args()
    import null_simulation
    import numpy as np
    from null_verdicts import INTERVALS, KINDS, SLOW, TESTS

    from parley.analysis.bootstrap import share_interval

    kinds = options.kinds.split(",") if options.kinds else KINDS
    for tests, sizes in ((INTERVALS, INTERVALS_AT), (TESTS, TESTS_AT)):
        print(f"| statistic | data | {' | '.join(f'n = {size}' for size in sizes)} |", flush=True)
        print(f"|---|---|{'---:|' * len(sizes)}", flush=True)
        for name, test in tests.items():
            if options.only in name:
                for kind in kinds:
                    sets = options.sets // SLOW.get(name, 1)
                    row = [cell(test, size, kind, sets) for size in sizes]
                    print(f"| {name} | {kind} | {' | '.join(row)} |", flush=True)
        print(flush=True)
    for name, published in null_simulation.TESTS.items():
        if options.only in name:
            rng = np.random.default_rng(0)
            alarms = sum(published(rng) < ALPHA for _ in range(options.sets))
            low, high = share_interval(alarms, options.sets)
            print(f"{name:32} {alarms / options.sets:.3f} ({low:.3f} to {high:.3f}) of {options.sets:,}", flush=True)


if __name__ == "__main__":
    main()
