"""How strongly agents are drawn to the model's own opinion, and by what others say: the law of motion, from ratings alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from parley.analysis.card.conditions import DEFAULT, Batch, empty, same, three, two
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, from_fit, mean_estimate
from parley.analysis.card.labels import percent, share
from parley.analysis.card.records import ConditionRecords, Passage, pack_passages, room_passages
from parley.analysis.card.sections import Quantity
from parley.analysis.formatting import format_number
from parley.analysis.influence_model import (
    KAPPA,
    LEAST,
    MU,
    Estimate,
    InfluenceFit,
    Unidentified,
    bias_estimate,
    fit_influence,
    fit_plain,
)
from parley.model.scenario import Scenario

SECTION = "pull"
ORDER = 1
TITLE = "Own pull and influence"
NOTE = (
    "Who hears a line moves by some percent of the distance to its speaker (influence) and by some percent of the distance to "
    "a level of the model's own (own pull). Both percentages and the level are fitted to the ratings alone, from one survey "
    "to the next; no text is read. The level is estimated apart from the Default's answer: the last row compares them. One fit "
    "over all topics, each with its own level, and one a topic."
)
NEEDS = (three, two, same, empty)
QUANTITIES = {
    "kappa": Quantity("influence, a line heard: of the remaining distance to its speaker", "rate"),
    "mu": Quantity("own pull, a line heard: of the remaining distance to the model's own level", "rate"),
    "lost": Quantity("own pull, a round of three: of the remaining distance to the model's own level", "share"),
    "half_life": Quantity("rounds of three until half of that distance is left, by the own pull alone", "rounds"),
    "level": Quantity("the model's own level", "points"),
    "level_default": Quantity("the model's own level minus the Default's answer", "points"),
    "mu_empty": Quantity("own pull in empty talk, a line heard", "rate"),
}
WATCH = ("lost",)
DEBATES = ("three", "two", "same")
HEARD = 2
"""Lines that each of three hears in a round."""
NO_FIT = "nothing tells influence and pull apart: ratings are missing, or do not differ"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    found = room_passages(held, DEBATES)
    whole = list(_fitted(found, base.subject.topics, ALL))
    each = [
        one
        for topic in base.subject.topics
        for one in _fitted([row for row in found if row.topic == topic], (topic,), topic)
    ]
    beside = [one for topic in base.subject.topics for one in _beside_default(held, each, topic)]
    return [*whole, *each, *beside, *_without_content(held, base)]


def _fitted(found: Sequence[Passage], topics: Sequence[str], named: str) -> Iterator[CardEstimate]:
    """The claims of one fit."""
    begun = [CardEstimate(SECTION, name, named) for name in ("kappa", "mu", "lost", "half_life")]
    levels = [CardEstimate(SECTION, "level", topic) for topic in topics] if len(topics) == 1 else []
    blocks = len({one.block for one in found})
    if blocks < LEAST:
        yield from [replace(one, n=blocks, reason=f"a fit needs {LEAST} blocks") for one in (*begun, *levels)]
        return
    try:
        law = fit_influence(pack_passages(found, topics))
    except Unidentified:
        yield from [replace(one, n=blocks, reason=NO_FIT) for one in (*begun, *levels)]
        return
    pull, mu = fit_plain(law, MU), _by_block(law, found, MU)
    slope = HEARD * (1 - pull.value) ** (HEARD - 1)
    away = {block: lost(pull.value) + slope * (value - pull.value) for block, value in mu.items()}
    yield from_fit(begun[0], fit_plain(law, KAPPA), blocks, _by_block(law, found, KAPPA))
    yield from_fit(begun[1], pull, blocks, mu)
    yield from_fit(begun[2], _each(pull, lost), blocks, away)
    yield _half_life(begun[3], pull, blocks)
    for claim in levels:
        yield from_fit(claim, bias_estimate(law), blocks)


def _by_block(law: InfluenceFit, found: Sequence[Passage], place: int) -> dict[str, float]:
    """The pseudo-values of a parameter; clusters are numbered as blocks first appear."""
    names = list(dict.fromkeys(one.block for one in found))
    return {names[number]: float(value[place]) for number, value in law.pseudo.items()}


def lost(mu: float) -> float:
    """The share of the distance that is lost in a round in which HEARD lines are heard: of 6% a line 11.6%."""
    return 1 - (1 - mu) ** HEARD


def _each(found: Estimate, of: Callable[[float], float]) -> Estimate:
    """The estimate of a rising function of a parameter."""
    return Estimate(of(found.value), math.nan, of(found.low), of(found.high))


def _half_life(begun: CardEstimate, pull: Estimate, blocks: int) -> CardEstimate:
    """Rounds; a pull of 0 never gets there, so that an interval that reaches 0 has no upper end."""

    def rounds(mu: float) -> float:
        return math.log(0.5) / (HEARD * math.log(1 - mu)) if 0 < mu < 1 else math.inf if mu <= 0 else 0.0

    if pull.value <= 0:
        return replace(begun, n=blocks, reason="no pull found: it never gets there")
    reason = "no upper end: the interval of the pull holds 0" if pull.low <= 0 else ""
    return replace(
        begun, estimate=rounds(pull.value), low=rounds(pull.high), high=rounds(pull.low), n=blocks, reason=reason
    )


def _beside_default(held: ConditionRecords, found: Sequence[CardEstimate], topic: str) -> Iterator[CardEstimate]:
    """Is it the Default's own answer that pulls? The level of the fit less that answer, which is taken as known."""
    level = next(one for one in found if (one.quantity, one.topic) == ("level", topic))
    ratings = held.ratings("three")
    before = ratings[(ratings["round"] == 0) & (ratings["party"] == DEFAULT) & (ratings["topic"] == topic)]
    answered = mean_estimate(CardEstimate(SECTION, "level_default", topic), before["level"])
    claim = replace(level, quantity="level_default")
    if level.known and answered.known:
        ends = level.estimate - answered.estimate, level.low - answered.estimate, level.high - answered.estimate
        claim = replace(claim, estimate=ends[0], low=ends[1], high=ends[2])
    yield claim


def _without_content(held: ConditionRecords, base: Scenario) -> Iterator[CardEstimate]:
    """The pull where there is no influence to be had: only one party of each room is rated, and nobody can be read."""
    claim = CardEstimate(SECTION, "mu_empty", ALL)
    found = room_passages(held, [name for name in held.records if name.startswith("empty")])
    blocks = len({one.block for one in found})
    if blocks < LEAST:
        yield replace(claim, n=blocks, reason=f"a fit needs {LEAST} blocks")
        return
    try:
        law = fit_influence(
            pack_passages(found, base.subject.topics, silent=range(len(found[0].before))), influence=False
        )
    except Unidentified:
        yield replace(claim, n=blocks, reason=NO_FIT)
        return
    yield from_fit(claim, fit_plain(law, MU), blocks)


def sentences(found: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For the first screen: both of a line heard, then what that is a round."""
    pull, away, heard = (find_estimate(found, name) for name in ("mu", "lost", "kappa"))
    if pull is None or away is None:
        return
    goal = "the remaining distance to the model's own level (the rating that agents drift to, fitted to how they move)"
    if pull.low > 0:
        told = f"**Pull to its own opinion.** With each line heard an agent moves {percent(pull)} of {goal}"
        rounds = f"its own pull alone covers {percent(away)} of the distance to that level"
    else:
        told = (
            "**No pull to its own opinion was found.** With each line heard an agent moves "
            f"{_most(pull)} ({share(pull.low)} to {share(pull.high)}) of {goal}"
        )
        rounds = f"its own pull alone covers {_most(away)} of the distance to that level"
    if heard:
        told += f", and {percent(heard) if heard.low > 0 else _most(heard)} of the distance to who spoke"
    yield f"{told}. In a round of three, with two lines heard, {rounds}."


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    half = find_estimate(found, "half_life")
    if half is None or not math.isfinite(half.high):
        return ""
    return (
        "By the own pull alone half of the distance to the model's own level is left "
        f"after {format_number(half.estimate)} rounds of "
        f"three ({format_number(half.low)} to {format_number(half.high)}); these debates had {first.base.rounds}."
    )


def _most(claim: CardEstimate) -> str:
    """The upper end."""
    return f"at most {share(max(claim.high, 0))}"
