"""The planted law of debates: the attitude that follows from a persona and the lines that it has heard.

An attitude lies between 0 and 10 on the axis of the topic. `move` is the law: each line heard moves the attitude by social
influence and by the pull of the speaker's own bias; the numbers are in oracle/parameters.toml of a society. Deliberations have
a law of their own (positions.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial

from parley.llm.backends.oracle.belief_network import BeliefNetwork
from parley.llm.backends.oracle.ignored import without
from parley.llm.backends.oracle.laws import USUAL_LAWS, Laws
from parley.llm.backends.oracle.own_topics import ByTopic
from parley.llm.backends.oracle.party_files import NO_PARTY
from parley.llm.backends.oracle.phrases import US, Banks, banks, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.seeding import digest

REACH = {"weak": 5.0, "strong": 2.0}
"""The distance (on 0-10) up to which a line has influence, by the confirmation bias of the hearer."""
BEGINS = {"believer": 9.0, "susceptible": 2.0}
"""Where people begin whose prompt says that they believe an item of news, or do not; half a point of noise (SD) is added."""
BELIEF_QUIRK = 0.5
LEVELS = ("very_low", "low", "average", "high", "very_high")
"""Levels of a trait; the middle one is 0, and each is one more than the one before."""
UNMOVED: Mapping[str, float] = {}


@dataclass(frozen=True)
class Parameters:
    """Per topic, on the 0-10 axis, per line heard. See oracle/parameters.toml of a society for the effect of each.

    start        where each party begins
    stubbornness by party, the share by which each move of its people is smaller; 0 for a party that is not named
    """

    bias: float
    kappa: float
    mu: float
    sigma: float
    epsilon: float
    start: Mapping[str, float]
    stubbornness: Mapping[str, float] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.bias, self.kappa, self.mu, self.sigma, self.epsilon, *self.start.items()))

    def stays(self, party: str) -> float:
        """Return the share of a move that a person of the party does not make."""
        return self.stubbornness.get(party, 0.0)


def planted(changes: Mapping[str, float] | None = None, society: str = US) -> dict[str, Parameters]:
    """Return the parameters of a society by topic, with `changes` set for every topic."""
    make = partial(_planted_on, dict(changes or {}), society)
    return ByTopic({slug: make(slug) for slug in banks(society).parameters}, make)


def _planted_on(changes: Mapping[str, float], society: str, slug: str) -> Parameters:
    names = {field.name for field in fields(Parameters)}
    table = banks(society).parameters[slug]
    return Parameters(**{name: value for name, value in table.items() if name in names} | dict(changes))


@lru_cache(maxsize=1024)
def biased(planted: Parameters, bias: str) -> Parameters:
    """Return the parameters of a person with a confirmation bias: a line farther away than REACH has no influence."""
    return replace(planted, epsilon=min(planted.epsilon, REACH[bias])) if bias else planted


def start(banks: Banks, persona: str, slug: str, planted: Parameters, belief: str = "") -> float:
    """Return the attitude before any line: that of `expected_start`, plus a quirk for who has a level or a party.

    belief: what the prompt says that a person thinks of an item of news (BEGINS); then nothing else counts.
    """
    if belief in BEGINS:
        return _clip(BEGINS[belief] + BELIEF_QUIRK * normal(digest("quirk", persona, slug)))
    value = expected_start(banks, persona, slug, planted)
    if stated_level(banks, persona, slug) is None and banks.party(persona) == NO_PARTY:
        return value
    quirk = banks.parameters[slug].get("quirk", banks.data("parameters")["quirk"])
    return _clip(value + quirk * normal(digest("quirk", persona, slug)))


def expected_start(banks: Banks, persona: str, slug: str, planted: Parameters) -> float:
    """Return the level that the persona states, else its party's; without either the bias."""
    level = stated_level(banks, persona, slug)
    return planted.start.get(banks.party(persona), planted.bias) if level is None else level


def expected_attitude(
    banks: Banks, persona: str, slug: str, heard: Sequence[tuple[str, str]], planted: Parameters
) -> list[float]:
    """Return the attitudes before any line and after each of the lines heard, without quirk and noise."""
    values, moves = [expected_start(banks, persona, slug, planted)], 1 - planted.stays(banks.party(persona))
    for _, text in heard:
        values.append(_clip(values[-1] + moves * move(values[-1], _grade(banks, slug, text), planted)))
    return values


def attitude(
    banks: Banks,
    persona: str,
    slug: str,
    heard: Sequence[tuple[str, str]],
    planted: Parameters,
    belief: str = "",
    shifts: Mapping[str, float] = UNMOVED,
) -> tuple[float, int]:
    """Return the attitude after the lines heard, and how many lines could not be read.

    An unread line has no influence, but the drift toward the bias acts. shifts: by how much lines from outside with a form of
    their own move the attitude, by their texts; they have no other influence.
    """
    value, unread = start(banks, persona, slug, planted, belief), 0
    moves = 1 - planted.stays(banks.party(persona))
    chain = digest("noise", persona, slug)
    for name, text in heard:
        chain = digest(chain.hex(), name, text)
        if text in shifts:
            value = _clip(value + shifts[text])
            continue
        grade = _grade(banks, slug, text)
        unread += grade is None
        moved = value + move(value, grade, planted) + planted.sigma * normal(chain)
        value = _clip(moved if moves == 1 else value + moves * (moved - value))
    return value, unread


def receptive(planted: Parameters, by_trait: Mapping[str, float], levels: Mapping[str, str]) -> Parameters:
    """Return the parameters of a person whose traits have these levels: each step above the middle adds a share to kappa.

    >>> round(receptive(Parameters(8.0, 0.1, 0.0, 0.0, 10.0, {}), {"openness": 0.3}, {"openness": "very_high"}).kappa, 9)
    0.16
    """
    steps = sum(share * (LEVELS.index(levels[trait]) - 2) for trait, share in by_trait.items() if trait in levels)
    return replace(planted, kappa=max(0.0, planted.kappa * (1 + steps))) if steps else planted


def move(value: float, grade: float | None, planted: Parameters) -> float:
    """Return the expected change on hearing one line of a grade (None: a line that cannot be read).

    >>> move(2.0, 8.0, Parameters(8.0, 0.05, 0.06, 0.15, 10.0, {}))
    0.66
    """
    social = planted.kappa * (grade - value) if grade is not None and abs(grade - value) <= planted.epsilon else 0.0
    return social + planted.mu * (planted.bias - value)


def dither(value: float, step: int, draw: float | None) -> int:
    """Return one of the two multiples of `step` around a value, whose mean over draws in [0, 1) is the value.

    Without a draw (None) it is the nearer one.

    >>> [dither(4.6, 2, draw) for draw in (0.1, 0.5, None)]
    [6, 4, 4]
    """
    low = step * math.floor(value / step)
    share = (value - low) / step
    return low + step * (share > 0.5 if draw is None else draw < share)


def normal(seed: bytes) -> float:
    """Return a standard normal number from 16 bytes (Box-Muller)."""
    radius = (int.from_bytes(seed[:8], "big") + 1) / (2**64 + 1)
    angle = int.from_bytes(seed[8:16], "big") / 2**64
    return math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * angle)


def _clip(value: float) -> float:
    return min(max(value, 0.0), 10.0)


@lru_cache(maxsize=1 << 18)
def _grade(banks: Banks, slug: str, text: str) -> float | None:
    return banks.topics[slug].grade(text)


@lru_cache(maxsize=1 << 14)
def stated_level(banks: Banks, persona: str, slug: str) -> float | None:
    """Return the level that a persona states for a topic, in a sentence that names the topic."""
    parameters = banks.data("parameters")
    levels = parameters["levels"] | parameters.get("reworded_levels", {})
    about = [sentence for sentence in sentences(persona) if banks.recognised(sentence) == slug]
    stated = (float(level) for sentence in about for phrase, level in levels.items() if phrase in sentence)
    return next(stated, None)


class Speaker:
    """What the oracle holds to be true: `parameters` by topic, which an analysis should recover, the `pull` of statements, and
    the other planted `laws`.

    `stance_in_speech` and `stance_in_interviews` are the shares of replies with the stance sentence, which also answers a
    labelled survey (docs/oracle.md). With `stance_first` it comes before the sentences that go with it, else anywhere.
    """

    stance_in_speech, stance_in_interviews, stance_first = 0.4, 0.55, False

    def __init__(
        self,
        changes: Mapping[str, float] | None = None,
        pull: float | None = None,
        society: str = US,
        laws: Laws = USUAL_LAWS,
    ):
        self.banks = banks(society)
        self.banks.check()
        self.parameters = planted(changes, society)
        self.pull = self.banks.law("pull") if pull is None else pull
        self.laws = laws

    def start(self, persona: str, slug: str) -> float:
        """Return the attitude on a topic before any line."""
        return start(self.banks, persona, slug, self.parameters[slug])

    def attitude(self, reading: Reading) -> tuple[float, int]:
        """Return the attitude on the reading's topic, and the number of lines that could not be read."""
        reading = without(reading, self.laws.ignored) if self.laws.ignored else reading
        if reading.topic is None:
            raise ValueError("the reading has no topic")
        parameters = biased(self.parameters[reading.topic], reading.bias)
        facts = reading.facts
        if self.laws.network:
            return self._network_attitude(reading, self.laws.network)
        if self.laws.by_trait:
            parameters = receptive(parameters, self.laws.by_trait, facts.get("traits", {}))
        arguments = reading.banks, reading.persona, reading.topic, reading.heard, parameters, facts.get("belief", "")
        shifts = {text: self.laws.shift(form) for text, form in facts.get("outside", {}).items()}
        value, unread = attitude(*arguments, shifts)
        return value, unread + reading.unheard

    def _network_attitude(self, reading: Reading, network: BeliefNetwork) -> tuple[float, int]:
        banks, persona, slug, heard = (
            reading.banks,
            reading.persona,
            str(reading.topic),
            [text for _, text in reading.heard],
        )
        before = start(banks, persona, slug, self.parameters[slug], reading.facts.get("belief", ""))
        value, unread = network.belief(banks, slug, before, heard)
        noise = network.report * normal(digest("report", persona, slug, *heard)) if network.report else 0.0
        return _clip(value + noise), unread + reading.unheard
