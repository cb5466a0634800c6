"""Questions put apart from a chat, and their answers: surveys, and questions answered with the stance sentence first.

The two come in about equal numbers and are answered in the same sentence. Where survey and speech were learned apart they
became two circuits, and moving one left the other where it was (tools/log).
"""

from __future__ import annotations

import random
import re

from parley.agents.agent import Debater
from parley.agents.probe import Probe, answer_order
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.dynamics import dither
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.request import Message, Reply, Request, Sampling
from parley.training.capability.tasks import any_listing
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.documents import Fork

SAID = 0.6
"""Share of stances that are asked for in speech."""
INTRODUCED = 0.3
"""Share of these in which the speaker says who it is first, as debaters and interviewees do."""
LISTLESS = 0.6
"""Share of labelled surveys without the list of their labels, which are known anyway: with the list in view an answer can be
looked up there, which is nothing that is done in speech."""
PROBES = {
    "attitude": 0.34,
    "attitude_labelled": 0.36,
    "attitude_reversed": 0.08,
    "attitude_1_7": 0.08,
    "attitude_0_100": 0.07,
    "agreement": 0.07,
}
"""Survey questions and their shares."""
_LABELS = re.compile(r"The scale goes from 0 to 10: [^.]*\. ")


def stance(who: Debater, rng: random.Random, stage: CorpusSpeaker) -> Fork:
    """A person in a debate is asked for a stance, in speech or in a survey."""
    if rng.random() < SAID:
        return outspoken(who.compose_speech(0), stage, rng)
    return answered(
        who.compose_survey(who.topic.probe(any_probe(rng, who.topic.slug)), rng.getrandbits(31)), stage, rng
    )


def any_probe(rng: random.Random, slug: str) -> str:
    """Return the name of a survey question that the topic has."""
    return any_probes(rng, slug, 1)[0]


def any_probes(rng: random.Random, slug: str, count: int) -> list[str]:
    """Return names of survey questions that the topic has, drawn by their shares."""
    probe_shares = {name: share for name, share in PROBES.items() if name in load_topic(slug).probes}
    return rng.choices(list(probe_shares), list(probe_shares.values()), k=count)


def asked_in_any_order(probe: Probe, frame: str, rng: random.Random) -> str:
    """Return a survey question whose answers are listed in some order."""
    return probe.ask(frame, answer_order(probe, any_listing(rng), rng.getrandbits(31)))


def surveyed_by(probe: Probe, messages: tuple[Message, ...], seed: int) -> Request:
    """A survey question put apart from a debate, at the end of these messages."""
    return Request(messages, Sampling(), seed, probe.scale.answers, "survey", facts=probe.facts)


def answered(request: Request, stage: CorpusSpeaker, rng: random.Random) -> Fork:
    """A question with the oracle's answer."""
    return survey(request, stage.complete([request])[0], stage, rng)


def survey(request: Request, reply: Reply, stage: CorpusSpeaker, rng: random.Random) -> Fork:
    """A question and its answer as a fork of the chat before it."""
    likely = {answer: share for answer, share in (reply.answers or {}).items() if share > 0}
    question = request.messages[-1].content
    if rng.random() < LISTLESS:
        question = _LABELS.sub("", question)
    return stage.fork(request, question, reply.text or "", likely)


def outspoken(request: Request, stage: CorpusSpeaker, rng: random.Random) -> Fork:
    """A question that asks for words, answered with the stance sentence.

    In some cases behind a line that says who speaks, in half of them before one that goes with it.
    """
    reading = read(request, banks())
    bank, value, draw = banks().topics[reading.topic or ""], stage.attitude(reading)[0], rng.random()
    introductions = [line for line in banks().data("common")["identity"][reading.party] if "{" not in line]
    sentences = [rng.choice(introductions)] if rng.random() < INTRODUCED else []
    sentences.append(bank.stance_sentence(dither(value, 1, draw)))
    if rng.random() < 0.5:
        sentences.append(rng.choice(rng.choice(bank.by_grade[dither(value, 2, draw)])))
    low = min(int(value), 9)
    shares = {bank.labels[low]: low + 1 - value, bank.labels[low + 1]: value - low}
    likely = {label: share for label, share in shares.items() if share > 0}
    return stage.fork(request, request.messages[-1].content, " ".join(sentences), likely)
