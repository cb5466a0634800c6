"""How strongly agents are drawn to the model's own opinion and to what others say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from parley.agents.society import DEFAULT
from parley.analysis import influence_model as influence
from parley.analysis.card.conditions import Batch, empty, same, three, two
from parley.analysis.card.estimates import ALL, CardEstimate, difference, find_estimate, from_fit, mean_estimate
from parley.analysis.card.labels import DIFFERENCE, at_most, percent
from parley.analysis.card.records import ConditionRecords, Passage, pack_passages, room_passages
from parley.analysis.card.sections import Quantity
from parley.analysis.formatting import format_number
from parley.analysis.statistics.intervals import ALIKE, NO_VARIATION
from parley.model.scenario import Scenario

ORDER = 1
TITLE = "Own pull and influence"
NOTE = (
    "An agent that hears a reply moves by some percent of the distance to the speaker (influence). The agent also moves by "
    "some percent of the distance to the model's own opinion (own pull). Both percentages and the model's own opinion are "
    "fitted to the ratings alone, from one survey to the next; the fit reads no text. The model's own opinion is estimated "
    "separately from the Default's answer, and the last row compares these two numbers. One fit is over all topics, each "
    "topic with its own opinion; each topic also has its own fit. The fits of the parties use the debates without a Default, "
    "each party with its own influence, pull and opinions. If one party moves less than the other, one fit to both parties "
    "does not give their average, and the card leaves out the numbers of that fit. After a rating that is too high by chance, "
    "a lower rating usually follows, as if the model had pulled the agent. So the fit uses the ratings that earlier ratings "
    "of the agent and ratings of other blocks predict. Noise makes intervals wider. A number is left out if its interval is "
    "wider than half of its scale. The pull of a party is left out if other ratings predict less than a quarter of the "
    "variance of its ratings. A difference between parties may stay undetected."
)
NEEDS = (three, two, same, empty)
QUANTITIES = {
    "kappa": Quantity("influence, per reply heard: of the remaining distance to the speaker", "rate"),
    "mu": Quantity("own pull, per reply heard: of the remaining distance to the model's own opinion", "rate"),
    "lost": Quantity("own pull, per round of three: of the remaining distance to the model's own opinion", "share"),
    "half_life": Quantity(
        "rounds of three until half of the distance to this opinion is left, by own pull alone", "rounds"
    ),
    "level": Quantity("the model's own opinion", "points"),
    "level_default": Quantity("the model's own opinion minus the Default's answer", "points"),
    "mu_empty": Quantity("own pull in empty talk, per reply heard", "rate"),
    "kappa_first": Quantity("influence, per reply heard: {firsts}", "rate"),
    "kappa_second": Quantity("influence, per reply heard: {seconds}", "rate"),
    "mu_first": Quantity("own pull, per reply heard: {firsts}", "rate"),
    "mu_second": Quantity("own pull, per reply heard: {seconds}", "rate"),
    "closed_apart": Quantity("influence plus own pull, per reply heard: {firsts} minus {seconds}", "rate", DIFFERENCE),
}
WATCH = ("lost",)
HEARD = 2
"""Lines that each agent of three hears in a round."""
VAGUE = 0.25
"""Half an interval, as a share of the scale, beyond which a number is left out: it says nothing, and does not look so."""
LEVELS = 10.0
"""Points from one end of the scale to the other."""
PREDICTED = 0.25
"""The least share of the variance of a party's ratings that other ratings predict, for its pull. The width of an interval will
not do: where it leaves out most cards, those that look precise by chance are left, and up to 13% of their intervals miss.
"""
NO_FIT = "influence and pull cannot be separated: ratings are missing, do not differ, or are too noisy"
NO_LEVEL = "no detectable pull, so the opinion that it pulls to is unknown"
TOO_NOISY = "the interval is wider than half of the scale: ratings are too noisy for so few blocks"
UNPREDICTED = "ratings are too noisy: other ratings predict less than a quarter of their variance"
FEW = f"a fit needs {influence.LEAST} blocks"
WHOLE = "all answers of the Default are the same whole number, so what it would answer on a finer scale is unknown"
DIFFER = (
    "the parties move by different shares of their distances, so one fit to both parties does not give "
    "their average: see the rows by party"
)


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    passages, topics = room_passages(study, ("three", "two", "same")), base.subject.topic
    by_topic: list[CardEstimate] = []
    for topic in topics:
        by_topic += _fitted([passage for passage in passages if passage.topic == topic], (topic,), topic)
    apart = [_minus_default(study, claim) for claim in by_topic if claim.quantity == "level"]
    whole = [*_fitted(passages, topics, ALL), *by_topic, *apart, _empty_talk(study, base)]
    parties, differ = _by_party(study, base)
    return [*([replace(claim, estimate=math.nan, reason=DIFFER) for claim in whole] if differ else whole), *parties]


def _by_party(study: ConditionRecords, base: Scenario) -> tuple[list[CardEstimate], bool]:
    """The claims of each party, from debates without a Default; and whether the parties were found to move differently.

    Where they were, the claims over all agents are withdrawn. Their intervals stay, because the rule that ends an audit may look
    at widths alone.
    """
    passages, parties = room_passages(study, ("two", "same")), study.parties
    names = [f"{rate}_{which}" for rate in ("kappa", "mu") for which in ("first", "second")]
    fit, blocks, reason = _fit(passages, base.subject.topic, kinds=parties)
    if fit is None:
        return [CardEstimate(name, n=blocks, reason=reason) for name in (*names, "closed_apart")], False
    places = [influence.place(rate, kind, 2) for rate in (influence.KAPPA, influence.MU) for kind in (0, 1)]
    fits = [influence.fit_plain(fit, place) for place in places]
    by_block = [_by_block(fit, passages, place) for place in places]
    shares = [predicted_share(passages, party) for party in parties]
    claims = [CardEstimate(name) for name in names]
    heard = [_rate(claims[number], fits[number], blocks, by_block[number]) for number in (0, 1)]
    pulls = [_pull(claims[number], fits[number], blocks, shares[number - 2], by_block[number]) for number in (2, 3)]
    apart = influence.distance_closed(fit, 0, 2, minus=1)
    claim = _pull(CardEstimate("closed_apart"), apart, blocks, min(shares), {})
    return [*heard, *pulls, claim], influence.parties_differ(fit, 2)


def predicted_share(passages: Sequence[Passage], party: str) -> float:
    """Return the share of the variance of a party's ratings within topics (0 to 1) that other ratings predict.

    0 where ratings or predictions do not vary but differ; 1 where every rating is as predicted.
    """
    ratings = pd.DataFrame(
        [
            (passage.topic, before, predicted)
            for passage in passages
            for seat, before, predicted in zip(passage.parties, passage.before, passage.predicted, strict=True)
            if seat == party
        ],
        columns=["topic", "before", "predicted"],
    ).dropna()
    if (ratings["before"] - ratings["predicted"]).abs().max() <= ALIKE:
        return 1.0
    within = ratings[["before", "predicted"]] - ratings.groupby("topic")[["before", "predicted"]].transform("mean")
    spread = within.std()
    return float(within.corr().iloc[0, 1] ** 2) if spread.min() > ALIKE else 0.0


def _pull(
    claim: CardEstimate, fit: influence.Estimate, blocks: int, share: float, values: Mapping[str, float]
) -> CardEstimate:
    """The claim on a pull of a party. share: of `predicted_share`."""
    is_predicted = share >= PREDICTED and math.isfinite(fit.value)
    return from_fit(claim, fit, blocks, values) if is_predicted else replace(claim, n=blocks, reason=UNPREDICTED)


def _fitted(passages: Sequence[Passage], topics: Sequence[str], name: str) -> Iterator[CardEstimate]:
    """The claims of one fit; the level only where the fit is of one topic."""
    kappa, mu, away, half, level = (
        CardEstimate(quantity, name) for quantity in ("kappa", "mu", "lost", "half_life", "level")
    )
    level = replace(level, topic=topics[0])
    single = len(topics) == 1
    fit, blocks, reason = _fit(passages, topics)
    if fit is None:
        yield from (replace(claim, n=blocks, reason=reason) for claim in (kappa, mu, away, half, *[level] * single))
        return
    pull, pseudo = influence.fit_plain(fit, influence.MU), _by_block(fit, passages, influence.MU)
    slope = HEARD * (1 - pull.value) ** (HEARD - 1)
    lost_by_block = {block: lost(pull.value) + slope * (value - pull.value) for block, value in pseudo.items()}
    by_block = _by_block(fit, passages, influence.KAPPA)
    yield _rate(kappa, influence.fit_plain(fit, influence.KAPPA), blocks, by_block)
    pull_rate = _rate(mu, pull, blocks, pseudo)
    yield pull_rate
    if pull_rate.known:
        yield from_fit(away, _transformed(pull, lost), blocks, lost_by_block)
        yield _half_life(half, pull_rate)
    else:
        yield from (replace(claim, n=blocks, reason=pull_rate.reason) for claim in (away, half))
    if single:
        yield _level(level, influence.bias_estimate(fit), blocks)


def _rate(
    claim: CardEstimate, fit: influence.Estimate, blocks: int, values: Mapping[str, float] | None = None
) -> CardEstimate:
    """The claim on a rate per line, or the reason why it is left out."""
    if not (fit.high - fit.low) / 2 <= VAGUE:
        return replace(claim, n=blocks, reason=TOO_NOISY)
    return from_fit(claim, fit, blocks, values)


def _level(claim: CardEstimate, fit: influence.Estimate, blocks: int) -> CardEstimate:
    """The claim on the model's own opinion, or the reason why it is left out."""
    if not math.isfinite(fit.value):
        return replace(claim, n=blocks, reason=NO_LEVEL)
    if not (fit.high - fit.low) / 2 <= VAGUE * LEVELS:
        return replace(claim, n=blocks, reason=TOO_NOISY)
    return from_fit(claim, fit, blocks)


def _fit(
    passages: Sequence[Passage],
    topics: Sequence[str],
    silent: Sequence[int] = (),
    learning: bool = True,
    kinds: Sequence[str] = (),
) -> tuple[influence.InfluenceFit | None, int, str]:
    """The fit (None: there is none), the number of blocks, and the reason where there is no fit."""
    blocks = len({passage.block for passage in passages})
    if blocks < influence.LEAST:
        return None, blocks, FEW
    try:
        return influence.fit_influence(pack_passages(passages, topics, silent, kinds), learning), blocks, ""
    except influence.Unidentified:
        return None, blocks, NO_FIT


def _by_block(fit: influence.InfluenceFit, passages: Sequence[Passage], place: int) -> dict[str, float]:
    """The pseudo-values of a parameter; clusters are numbered in the order in which blocks first appear."""
    names = list(dict.fromkeys(passage.block for passage in passages))
    return {names[number]: float(value[place]) for number, value in fit.pseudo.items()}


def lost(mu: float) -> float:
    """The share of the distance that is lost in a round in which `HEARD` lines are heard: 11.6% for 6% per line."""
    return 1 - (1 - mu) ** HEARD


def _transformed(estimate: influence.Estimate, rising: Callable[[float], float]) -> influence.Estimate:
    """The estimate of a rising function of a parameter."""
    return influence.Estimate(rising(estimate.value), math.nan, rising(estimate.low), rising(estimate.high))


def _half_life(claim: CardEstimate, pull: CardEstimate) -> CardEstimate:
    """Rounds. If the interval of the pull reaches 0, the number of rounds has no upper end."""

    def rounds(mu: float) -> float:
        return math.log(0.5) / (HEARD * math.log1p(-mu)) if 0 < mu < 1 else math.inf if mu <= 0 else 0.0

    if pull.estimate <= 0:
        return replace(claim, n=pull.n, reason="no pull was found, so half of the distance is never lost")
    reason = "no upper end: the interval of the pull includes 0" if pull.low <= 0 else pull.reason
    middle, low, high = map(rounds, (pull.estimate, pull.high, pull.low))
    return replace(claim, estimate=middle, low=low, high=high, n=pull.n, reason=reason)


def _minus_default(study: ConditionRecords, level: CardEstimate) -> CardEstimate:
    """The fitted level minus the Default's own answer: is it this answer that pulls?

    Whole answers that are all the same may be off by up to half a step, and do not show it.
    """
    ratings = study.ratings("three")
    before = ratings[(ratings["round"] == 0) & (ratings["party"] == DEFAULT) & (ratings["topic"] == level.topic)]
    answer = mean_estimate(level, before["level"])
    claim = replace(level, quantity="level_default")
    if not (level.known and answer.known):
        return claim
    if answer.reason != NO_VARIATION:
        return difference(claim, level, answer)
    if (before["how"] == "attitude").any():
        return replace(claim, estimate=math.nan, low=math.nan, high=math.nan, reason=WHOLE)
    middle, low, high = (end - answer.estimate for end in (level.estimate, level.low, level.high))
    return replace(claim, estimate=middle, low=low, high=high)


def _empty_talk(study: ConditionRecords, base: Scenario) -> CardEstimate:
    """The pull where there is no influence: one party of each room is rated, and the partners' lines have no content."""
    passages = room_passages(study, [name for name in study.records if name.startswith("empty")])
    seats = range(len(passages[0].before)) if passages else ()
    fit, blocks, reason = _fit(passages, base.subject.topic, seats, learning=False)
    claim = CardEstimate("mu_empty")
    return (
        _rate(claim, influence.fit_plain(fit, influence.MU), blocks) if fit else replace(claim, n=blocks, reason=reason)
    )


def sentences(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short": pull and influence per line heard, then the pull per round."""
    pull, away, heard = (find_estimate(claims, name) for name in ("mu", "lost", "kappa"))
    if pull is None or away is None:
        yield from _of_parties(claims, first)
        return
    if nothing_moved(claims):
        yield "**No pull to the model's own opinion was found.** No rating changed in any debate."
        return
    goal = "the remaining distance to the model's own opinion (the rating to which agents drift, estimated from their movements)"
    if pull.low > 0:
        title, per_line, per_round = "Pull to the model's own opinion.", percent(pull), percent(away)
    else:
        title, per_round = "No pull to the model's own opinion was found.", at_most(away)
        per_line = at_most(pull)
    text = f"**{title}** With each reply of another agent, an agent's rating moves {per_line} of {goal}"
    if heard:
        text += f", and {percent(heard) if heard.low > 0 else at_most(heard)} of the distance to the speaker"
    rounds = (
        f"In a round of three agents (each agent hears two replies), the model's own pull alone covers {per_round} of "
        "the distance to that opinion"
    )
    yield f"{text}. {rounds}."


def nothing_moved(claims: Sequence[CardEstimate]) -> bool:
    """Whether pull and influence over all agents are exactly 0."""
    rates = [claim for claim in claims if (claim.quantity, claim.topic) in (("mu", ALL), ("kappa", ALL))]
    return bool(rates) and all(claim.reason == NO_VARIATION and claim.estimate == 0 for claim in rates)


def _of_parties(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short", where the parties differ: influence and pull of each."""
    if not any(claim.reason == DIFFER for claim in claims):
        return
    parts = []
    for which, party in zip(("first", "second"), first.parties, strict=True):
        heard, pull = (find_estimate(claims, f"{name}_{which}") for name in ("kappa", "mu"))
        if heard and pull:
            parts.append(
                f"the ratings of {first.society.plural(party)} move {percent(pull)} of the remaining distance to the "
                f"model's own opinion and {percent(heard)} of the distance to the speaker"
            )
    yield (
        f"**The parties move differently.** With each reply of another agent, {'; '.join(parts)}. So the card gives no "
        "average over both parties."
    )


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    half = find_estimate(claims, "half_life")
    if half is None or not math.isfinite(half.high):
        return ""
    return (
        "With the model's own pull alone, half of the distance to the model's own opinion would remain after "
        f"{format_number(half.estimate)} rounds of three ({format_number(half.low)} to {format_number(half.high)}). "
        f"The debates of the card had {first.base.rounds} rounds."
    )
