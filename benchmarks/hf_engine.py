"""What each part of the engine for local models gains: the same debates without that part, in one run.

    python benchmarks/hf_engine.py [--repetitions 40] [--times 3]

The model is that of `pocket`, through torch. Each variant runs the debates `--times` times, in turns with the others, each time
in a new process. A ratio is the median time of a variant divided by that of the whole engine. A part that is only there for speed
must gain a factor of 1.3. Nothing is asserted; measured figures are in docs/log.md.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

MODEL = f"hf:{ROOT / 'llm' / 'backends' / 'pocket' / 'weights' / 'pocket'},dtype=float32"
VARIANTS = {
    "the whole engine": f"{MODEL},batch=32768,keep=2560,workers=2",
    "one worker": f"{MODEL},batch=32768,keep=2560,workers=1",
    "nothing kept between turns": f"{MODEL},batch=32768,keep=0,workers=2",
    "no batches": f"{MODEL},batch=1,keep=2560,workers=2",
}


def hold_debates(spec: str, repetitions: int) -> float:
    """Seconds for debates of three agents over three rounds on one topic, with a survey after each round."""
    import run  # noqa: F401  (`parley` is this checkout)
    from parley.llm.backends import open_spec
    from parley.model.debate import DebateModel
    from parley.model.scenario import load_preset

    settings = {"topics": "climate_change", "repetitions": repetitions, "rounds": 3}
    scenario, backend = load_preset("three_way").with_settings(settings), open_spec(spec)
    started = time.perf_counter()
    DebateModel(scenario, backend=backend).run()
    return time.perf_counter() - started


def time_variants(repetitions: int, times: int) -> dict[str, list[float]]:
    """Seconds of each variant, one number for each time."""
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(times):
        for name, spec in VARIANTS.items():
            command = [sys.executable, __file__, "--one", spec, "--repetitions", str(repetitions)]
            seconds[name].append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            print(f"{name:<28} {seconds[name][-1]:7.1f} s", file=sys.stderr, flush=True)
    return seconds


def main() -> None:
    """Print a line for each variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(hold_debates(options.one, options.repetitions))
        return
    medians = {
        name: statistics.median(found) for name, found in time_variants(options.repetitions, options.times).items()
    }
    whole = next(iter(medians.values()))
    print("| | seconds | ratio |\n|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {median:.1f} | {median / whole:.2f} |")


if __name__ == "__main__":
    main()
