"""The fuzzer of the nightly lane: Atheris (libFuzzer) on the targets of targets.py, from the texts in corpus/.

PYTHONPATH=tests python -m fuzz [TARGET ...] --minutes 5 [--keep DIR]     (pip install "parley-debates[fuzz]")

Each target runs in a process of its own. What finds new code is kept in DIR/TARGET and is where the next night begins. A
finding is written to DIR/TARGET-found-*, and ends the run with code 1: when it is mended, put it into corpus/TARGET under a name
that says what it shows (.txt), and tests/test_fuzz.py feeds it to its target from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
READERS = (
    "agents.acts", "agents.answer_forms", "agents.closed_answers", "agents.evidence", "agents.foreign_replies", "agents.question",
    "agents.reasoning", "agents.reply_cleaning", "agents.scales", "agents.social_choice", "environments.edge_columns",
    "environments.edge_table", "environments.graph_files", "environments.graph_files", "llm.request", "llm.table_text", "llm.thinking",
    "llm.user_file", "llm.value_types", "model.recorder",
)  # fmt: skip
"""The modules whose branches guide the search."""
SLOWEST, LONGEST = 10, 4096
"""Seconds of one input, and bytes of one."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n", 1)[0])
    parser.add_argument("target", nargs="*", help="replies, records, journals, graphs or tables (default: all)")
    parser.add_argument("--minutes", type=float, default=5.0, help="of each target")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder of what is found and kept")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # the process of one target
    options = parser.parse_args()
    if options.here:
        return _fuzz(options.target[0], options.minutes, options.keep)
    names = options.target or sorted(path.name for path in CORPUS.iterdir())
    words = ["--here", "--minutes", str(options.minutes), "--keep", str(options.keep)]
    codes = [subprocess.run([sys.executable, "-m", "fuzz", name, *words], check=False).returncode for name in names]
    return int(any(codes))


def _fuzz(name: str, minutes: float, keep: Path) -> int:
    sys.path.insert(0, str(HERE.parents[1]))
    import atheris

    import run  # noqa: F401  # `parley` is this checkout
    from fuzz.targets import TARGETS

    for module in READERS:
        for function in vars(importlib.import_module(f"parley.{module}")).values():
            if inspect.isfunction(function) and function.__module__ == f"parley.{module}":
                atheris.instrument_func(function)
    kept = keep / name
    kept.mkdir(parents=True, exist_ok=True)

    def watched(data: bytes) -> None:
        try:
            TARGETS[name](data)
        except BaseException:
            found = keep / f"{name}-found-{hashlib.sha256(data).hexdigest()[:8]}"
            found.write_bytes(data)
            print(f"{name}: see {found}")
            raise

    limits = [f"-max_total_time={60 * minutes:.0f}", f"-timeout={SLOWEST}", f"-max_len={LONGEST}", "-rss_limit_mb=2048"]
    words = [sys.argv[0], *limits, "-print_final_stats=1", str(kept), str(CORPUS / name)]
    atheris.Setup(words, watched)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
