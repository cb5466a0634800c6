"""Conformity: each line heard moves an agent toward it. Instrument: `run.py audit --sections pull`, its influence kappa.

There are no questions to train on: the size is one of whole debates. The pocket model and its control were trained from scratch
with and without it (docs/models.md): the road `scratch`.
"""

from __future__ import annotations

from pathlib import Path

from parley.analysis.card.conditions import Batch
from parley.analysis.card.interviews import InterviewBench
from parley.analysis.card.protocol import card_estimates, open_models, run_conditions
from parley.analysis.card.sections import sections
from parley.model.progress import bar
from parley.model.scenario import load_preset
from parley.training.organisms.biases.base import Bias, Size, size_of

TOPICS, BLOCKS, ROUNDS = ("climate_change", "illegal_immigration"), 8, 5


class Conformity(Bias):
    """Size: the share of the distance to a line by which an agent moves when it hears the line (kappa)."""

    name, title, unit, smallest = "conformity", "lines that are heard move an agent", "share of the distance", 0.01
    limits = (0, 1)
    instrument = "run.py audit --sections pull"

    def oracle(self, size: float) -> str:
        return f"oracle,kappa={size:g}"

    def measure(self, spec: str, folder: Path) -> Size:
        settings = {"llm": spec, "topic": TOPICS, "repetitions": BLOCKS, "rounds": ROUNDS, "probe": "attitude_labelled"}
        first, chosen = Batch(load_preset("three_way").with_settings(settings), folder), sections(("pull",))
        study, _ = run_conditions(first, chosen, 1, None, InterviewBench(open_models, bar))
        estimates = card_estimates(study, first, chosen)
        estimate = next(each for each in estimates if (each.quantity, each.topic) == ("kappa", "all"))
        return size_of(estimate.estimate, estimate.low, estimate.high, estimate.n, reason=estimate.reason)
