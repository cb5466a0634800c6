"""A social medium of 100,000 people who act by a law, and of 1,000 people on a model over an endpoint.

    python benchmarks/social_medium.py                   both
    python benchmarks/social_medium.py people [AGENTS]   a step of people who act by the planted law: seconds and memory
    python benchmarks/social_medium.py model [SECONDS]   1,000 people over an endpoint that takes so long to answer (0.05)

`people`: everyone is active in every step, follows eight others, and every recommender of a population is tried. Seconds are
those of the processor. `model`: the server is a process of its own on loopback (benchmarks/endpoint.py) and answers the
questions about acts with post, like, share, follow or nothing. Each round of the model, with journal and record, is followed by
its requests sent once more by the client alone. Figures are medians of rounds. Nothing is asserted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from benchmarks.endpoint import IN_FLIGHT, resident, server
from benchmarks.round import Listening, seconds
from parley.environments.sparse_platforms import PLATFORMS
from parley.llm.backends import open_spec
from parley.llm.driver import complete_all
from parley.llm.journal import Journal
from parley.model.debate import DebateModel
from parley.model.population import PopulationModel
from parley.model.recorder import FileRecorder
from parley.model.scenario import load_preset

STEPS, ROUNDS, PEOPLE = 8, 4, 1000
ANSWERS = "post,like,like,share,follow,nothing,nothing"


def act_by_law(agents: int) -> None:
    """Print the median seconds of a step from the fourth one on, when posts of three steps are there."""
    for name in PLATFORMS.builtin():
        model = PopulationModel("degroot", "random,degree=8", agents=agents, steps=STEPS, rng=1, platform=name)
        times = []
        while not model.over:
            times.append(seconds(model.step)[1])
        assert model.medium
        frame = model.datacollector.get_model_vars_dataframe()
        print(
            f"{name:<14} {statistics.median(times[3:]):6.2f} s a step, {resident() / 1024:.2f} GB resident; "
            f"{int(frame['visits'].sum()):,} visits, {model.medium.written:,} posts, {model.medium.views:,} views",
            flush=True,
        )


def act_by_model(wait: float) -> None:
    """Print the rate of the model with journal and record, and of the client alone."""
    settings = {"repetitions": 1, "size": PEOPLE, "rounds": ROUNDS + 1, "survey": "never", "activation": "every"}
    with server(wait, ANSWERS) as url, tempfile.TemporaryDirectory() as folder:
        spec = f"openai:echo,base_url={url},closed=text,in_flight={IN_FLIGHT}"
        heard = Listening(open_spec(spec))
        journal, recorder = Journal(Path(folder) / "j.sqlite", heard), FileRecorder(Path(folder) / "r.jsonl")
        model = DebateModel(
            load_preset("platform").with_settings(settings | {"llm": spec}), backend=journal, recorder=recorder
        )
        rows = []
        for _ in range(ROUNDS + 1):
            heard.sent.clear()
            held = seconds(model.step)
            assert model.error is None, model.error
            calls = list(heard.sent)
            rows.append((len(calls), *held, *seconds(lambda sent=calls: complete_all(heard.inner, sent))))  # type: ignore[misc]
        journal.close()
        recorder.close()
    calls, wall, cpu, alone, alone_cpu = (statistics.median([row[place] for row in rows[1:]]) for place in range(5))
    print(
        f"{PEOPLE:,} people on a model, {wait:g} s to answer, {IN_FLIGHT} in flight, {calls:,.0f} calls a round. "
        f"Wall: {wall:.2f} s, {calls / wall:,.0f} calls/s (the client alone {calls / alone:,.0f}). "
        f"Processor: {1000 * cpu / calls:.2f} ms a call (the client alone {1000 * alone_cpu / calls:.2f}). "
        f"{resident() / 1024:.2f} GB resident"
    )


def main() -> None:
    mode, number = [*sys.argv[1:3], "", ""][:2]
    if mode in ("", "people"):
        act_by_law(int(number or 100_000))
    if mode in ("", "model"):
        act_by_model(float(number or 0.05))


if __name__ == "__main__":
    main()
