"""The plain values of a debate: how it is run, what an agent said, and how it answered a survey question."""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.request import Sampling

HEARD = "intervention"
"""The form of a line from outside that is heard like any other line."""


class DebateStyle(NamedTuple):
    """How debates are run: what they are called, lengths and temperatures, memory, and how ratings are read.

    frame       what the prompts call it: debate, conversation
    words       how many words a reply may have
    cut         what happens to a longer reply: none (it stays), sentence (its last whole sentence within the limit),
                last (its last words)
    reader      how ratings are read (agents/scales.py)
    format      free, or structured (a case, a question, a role, opening and closing statements)
    think       what an agent does before it speaks (agents/reasoning.py)
    importance  and reflect: see `agents.memory.Retrieval`
    listing     the order in which the answers to a survey question are listed (`agents.probe.answer_order`)
    reminder    whether the prompt says who the agent is before every utterance, survey and private thought (not before
                summaries, reflections, ratings of importance, interviews and the questionnaire)
    chain       survey questions of whose last answers the agent is reminded before it speaks or acts, and in a survey of
                those before the question asked
    evidence    whether insights cite the memories that they follow from
    spacing     the white space of prompts (llm/spacing.py)
    steering    struck: without the sentences of personas that say how to debate (agents/steering.py)
    plan        the rounds of a day, at whose start an agent writes a plan; 0: no plans
    """

    frame: str
    words: int
    sampling: Sampling
    survey_temperature: float
    memory: str
    reader: str
    format: str = "free"
    cut: str = "none"
    think: str = "none"
    importance: str = "novelty"
    reflect: int = 0
    listing: str = "given"
    reminder: bool = False
    chain: tuple[str, ...] = ()
    evidence: bool = False
    plan: int = 0
    spacing: str = "given"
    steering: str = "given"


RELABELLED = "relabelled"
"""What was mended in a reply: a label of another agent in front was cut."""
UNSAID = frozenset({"empty", "echo", "refusal", "spoke_for_others"})
"""Reasons why a reply that the model gave holds no line of the agent: it is asked again."""


class Speech(NamedTuple):
    """What an agent said, or None and the reason why it said nothing. mended: what was mended in the reply (RELABELLED)."""

    text: str | None
    reason: str | None
    mended: str | None = None


class Rating(NamedTuple):
    """One answer to a survey question: the value on the probe's scale (or None and a reason), and the raw reply.

    attitude       the value on the topic's 0-10 axis (None if the probe measures something else)
    expected       the mean of the answer distribution on that axis (None in the same case)
    probabilities  the answer distribution, if the backend gives it
    how            the reader, and the way in which a closed question was answered if a backend has several (`strict,
                   logprobs`)
    covered        the probability of all allowed answers together before they were scaled to sum to 1 (None if unknown)
    """

    probe: str
    value: float | None
    reason: str | None
    attitude: float | None
    expected: float | None
    probabilities: tuple[float, ...] | None
    raw: str | None
    how: str
    covered: float | None = None
