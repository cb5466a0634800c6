"""How long a run takes on this machine, and how much memory: by the latest run of its model, or by its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from parley.llm.backends import is_scripted, recorded_name, run_costs, split_spec
from parley.llm.errors import UserError
from parley.llm.journal import read_identity, reply_rate
from parley.llm.request import Usage
from parley.model.progress import rate_words

RUNS = Path("runs")
LATEST = 50
"""Number of run folders that are searched for a measured rate, the latest first."""
HOUR, MINUTE = 3600, 60


def machine_lines(used: Mapping[str, Usage], calls: int) -> Iterator[str]:
    """Yield the memory that models in this process take, and the time. used: tokens by model. calls: of all models together."""
    costs = {spec: run_costs(spec, usage) for spec, usage in used.items()}
    for spec, cost in costs.items():
        if cost is not None:
            available = psutil.virtual_memory().available
            short = _memory_advice(spec, available) if cost.memory > available else ""
            yield f"  memory up to {gigabytes(cost.memory)} ({cost.parts}){short}"
    yield estimate_time(used, calls)


def _memory_advice(spec: str, available: int) -> str:
    """What to do where a model takes more memory than programs can still get."""
    return (
        f"; only {gigabytes(available)} are available: close other programs, or keep less, as in "
        f"--llm {split_spec(spec).after},context=2048,keep=64"
    )


def estimate_time(used: Mapping[str, Usage], calls: int) -> str:
    """Return how long calls take: by the latest run of the model, and by tokens for a model in this process; one range of both.

    used: tokens by model. calls: of all models together.
    """
    models = [spec for spec in used if not is_scripted(spec)]
    measured = measured_rate(models[0]) if len(models) == 1 else None
    costs = [run_costs(spec, used[spec]) for spec in models]
    times: list[tuple[float, str]] = []
    if measured:
        rate, folder = measured
        times.append((calls / rate, f"by calls, {rate_words(rate, 'calls ')}, as in {folder}"))
    if costs and all(costs) and (not times or all(cost.measured for cost in costs)):
        speed = (
            "with the speed of the latest gguf model here"
            if all(cost.measured for cost in costs)
            else "by a first guess of the speed"
        )
        times.append((sum(cost.seconds for cost in costs), f"by tokens, {speed}"))
    if not times:
        return "  time not known: no run in runs/ has used this model; the first run will show the calls per second"
    shown = list(dict.fromkeys(duration(seconds) for seconds, _ in sorted(times)))
    reasons = [f"{duration(seconds)} {reason}" if len(shown) > 1 else reason for seconds, reason in sorted(times)]
    return f"  time about {' to '.join(shown)} on this machine ({'; '.join(reasons)})"


def measured_rate(spec: str) -> tuple[float, Path] | None:
    """Return the calls per second of a model in its latest run folder, and that folder; None without one."""
    journal = latest_journal(spec)
    return (rate, journal.parent) if journal and (rate := reply_rate(journal)) else None


def latest_journal(spec: str) -> Path | None:
    """The journal of the latest run folder in which the model was asked often enough to measure its rate."""
    wanted = split_spec(spec).name, recorded_name(spec)
    journals = sorted(RUNS.glob("*/journal.sqlite"), key=lambda path: path.stat().st_mtime, reverse=True)
    for journal in journals[:LATEST]:
        try:
            identity = read_identity(journal)
            journal_model = identity.get("backend"), identity.get("model") or ""
            if journal_model == wanted and reply_rate(journal):
                return journal
        except UserError:
            continue
    return None


def duration(seconds: float) -> str:
    """Return a duration in words, in one unit.

    >>> duration(40), duration(200), duration(7000)
    ('40 s', '3 min', '1.9 h')
    """
    if seconds < 1.5 * MINUTE:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 1.5 * HOUR else f"{seconds / HOUR:.1f} h"


def gigabytes(size: float) -> str:
    """Return a number of bytes in words.

    >>> gigabytes(98_362_432), gigabytes(14_483_498_016)
    ('0.1 GB', '14.5 GB')
    """
    return f"{size / 1e9:.1f} GB"
