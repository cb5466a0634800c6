"""Time and memory from the first question to a moved bias.

    python benchmarks/tuning.py [--out DIR]

Every step is a command of its own, as a user gives it, one after the other: questions, answers of both parties and SFT of one;
DPO from it; SFT of the other party; the paired debates with their figure. Prints wall clock seconds and the most memory that a
step held. Nothing is asserted; the figures of a machine are in tools/log.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import run  # noqa: E402, F401  (`parley` is this checkout)
from parley.agents.society import load_society  # noqa: E402

PARTY, OTHER = load_society().debaters
STEPS = {
    "questions, answers, SFT": ("train", "--party", PARTY),
    "DPO": ("train", "--party", PARTY, "--method", "dpo"),
    "SFT of the other party": ("train", "--party", OTHER),
}


def timed(command: tuple[str, ...]) -> tuple[float, int]:
    """Seconds and megabytes at most of `run.py` with a command line."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, str(ROOT / "run.py"), *command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"run.py {' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - started, used.ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out or Path(tempfile.mkdtemp())
    tuned = str(out / "tuned")
    steps = {title: (*command, "--out", tuned) for title, command in STEPS.items()}
    steps["paired debates, figure"] = ("study", "fine-tuned", "--tuned", tuned, "--out", str(out / "debates"))
    whole, most = 0.0, 0
    for title, command in steps.items():
        seconds, held = timed(command)
        whole, most = whole + seconds, max(most, held)
        print(f"{title:26} {seconds:7.0f} s {held:7,} MB", flush=True)
    print(f"{'all':26} {whole:7.0f} s {most:7,} MB")


if __name__ == "__main__":
    main()
