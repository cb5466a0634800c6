"""The golden run. Refresh it, on purpose only: `python tests/golden.py` from the top of the checkout."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

GOLDEN = Path(__file__).with_name("golden.json")


def fingerprint() -> dict[str, object]:
    """Digest of all events of a small run on the known-truth speaker, and figures that tell a reader what changed."""
    from parley.llm.seeding import digest
    from parley.model.debate import DebateModel
    from parley.model.events import Rated, Utterance
    from parley.model.recorder import MemoryRecorder, to_line
    from parley.model.scenario import load_preset

    recorder = MemoryRecorder()
    scenario = load_preset("three_way").with_settings(
        {"topic": "climate_change,abortion", "repetitions": 4, "rounds": 3, "llm": "oracle"}
    )
    DebateModel(scenario, recorder=recorder).run()
    ratings = [event for event in recorder.events if isinstance(event, Rated)]
    means = {
        round_: statistics.fmean(event.attitude or 0 for event in ratings if event.round == round_)
        for round_ in range(4)
    }
    lines = [event.text for event in recorder.events if isinstance(event, Utterance)]
    return {
        "events": len(recorder.events),
        "mean attitude by round": [round(mean, 6) for mean in means.values()],
        "first line": lines[0],
        "last line": lines[-1],
        "digest": digest([to_line(event) for event in recorder.events]).hex(),
    }


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit("golden.py takes no arguments: it rewrites golden.json")
    sys.path.insert(0, str(Path(__file__).parents[1]))
    GOLDEN.write_text(json.dumps(fingerprint(), indent=1) + "\n")
    print(GOLDEN.read_text())  # noqa: T201
