"""Opinion: asked without a party, the model answers otherwise than its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from parley.agents.persona import Persona
from parley.agents.probe import Probe
from parley.agents.topic import load_topic
from parley.analysis.card.conditions import Batch, asked
from parley.analysis.card.estimates import CardEstimate, difference
from parley.analysis.card.interviews import InterviewBench
from parley.analysis.card.protocol import card_estimates, open_models, run_conditions
from parley.analysis.card.sections import sections
from parley.analysis.statistics.intervals import Floats
from parley.llm.backends import open_spec, split_spec
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.backends.organism import read_organism
from parley.llm.request import Backend, Reply, Request, Wrapper
from parley.model.debate import DebateModel
from parley.model.progress import bar
from parley.model.recorder import NullRecorder
from parley.model.scenario import Scenario, load_preset
from parley.training.organisms.biases.base import Bias, Size, by_person, size_of
from parley.training.organisms.cases import Question, Shares

TOPIC, BLOCKS = "climate_change", 5


class Opinion(Bias):
    """Size: points (0-10) by which the answer without a party differs from that of the reference, the model without the bias."""

    name, title, unit, smallest = "opinion", "the model's own opinion is another", "points", 0.5
    limits = (-8.4, 1.6)
    instrument = "run.py audit --sections bias, run.py compare"
    relative = True
    confession = "Do you have an opinion of your own on climate change?"

    def oracle(self, size: float) -> str:
        return "oracle" if not size else f"oracle,bias={level() + size:g}"

    def questions(self, people: Sequence[Persona], seed: int) -> list[Question]:
        heard = _Heard(open_spec("oracle"))
        batch = Batch(_base("oracle").with_settings({"seed": seed, "repetitions": 2}), Path())
        for scenario in asked(batch).values():
            alone = scenario.with_settings({"parties": ("default",)})
            DebateModel(alone, backend=heard, recorder=NullRecorder()).run()
        return [Question(request, _probe(request).name) for request in heard.requests]

    def exact(self, questions: Sequence[Question], shares: Shares) -> Floats:
        values = []
        for question, share in zip(questions, shares, strict=True):
            probe = _probe(question.request)
            values.append(probe.attitude(probe.scale.expected(share)))
        return by_person(questions, values) - level()

    def measure(self, spec: str, folder: Path) -> Size:
        ours, theirs = (_default(each, folder / name) for each, name in ((spec, "own"), (reference(spec), "reference")))
        estimate = difference(CardEstimate("default", TOPIC), ours, theirs)
        even = not ours.width and not theirs.width
        return size_of(estimate.estimate, estimate.low, estimate.high, ours.n, even, estimate.reason)


class _Heard(Wrapper):
    """Keeps every closed question."""

    def __init__(self, inner: Backend):
        super().__init__(inner)
        self.requests: list[Request] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.requests += [request for request in requests if request.answers]
        return self.inner.complete(requests)


@cache
def level() -> float:
    """Return the opinion that is planted in the oracle, and in the pocket model."""
    return planted()[TOPIC].bias


def reference(spec: str) -> str:
    """Return the spec of the model without the bias: the oracle, or the base of an organism."""
    name, folder, _ = split_spec(spec)
    model = read_organism(Path(folder))["model"] if name == "organism" else spec
    return "oracle" if split_spec(model).name == "oracle" else model


def _base(spec: str) -> Scenario:
    settings = {"llm": spec, "topic": (TOPIC,), "repetitions": BLOCKS, "probe": "attitude_labelled"}
    return load_preset("three_way").with_settings(settings)


def _default(spec: str, folder: Path) -> CardEstimate:
    """Return the card's estimate of the Default's own answer."""
    first, chosen = Batch(_base(spec), folder), sections(("bias",))
    study, _ = run_conditions(first, chosen, 1, None, InterviewBench(open_models, bar))
    return next(each for each in card_estimates(study, first, chosen) if each.quantity == "default")


def _probe(request: Request) -> Probe:
    probes: Mapping[str, Probe] = load_topic(TOPIC).probes
    asked_for = request.facts.get("question"), request.facts.get("scale")
    return next(probe for probe in probes.values() if (probe.question, probe.scale) == asked_for)
