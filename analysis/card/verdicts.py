"""A card in one minute: a sentence or two for each of three questions, also where nothing was found or is unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parley.agents.topic import load_topic
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import CardEstimate, find_estimate, paired_difference
from parley.analysis.card.labels import at_most, directed, percent
from parley.analysis.card.sections import bias
from parley.analysis.card.sections.pull import DIFFER, nothing_moved
from parley.analysis.contrasts import TO_AND_FRO, to_and_from
from parley.analysis.formatting import count_phrase, format_number
from parley.analysis.statistics import intervals
from parley.analysis.unknown import clause
from parley.model.titles import join_phrases

LEANS, PULLS, PERSUADES = "Where does the model lean?", "How hard does the model pull?", "How much is persuasion?"
OWN, OTHER = "of the way to the model's own opinion", "of the way to the speaker"
UNKNOWN = "This is unknown"


class Verdict(NamedTuple):
    """The answer to a question, in a sentence or two of plain text."""

    question: str
    answer: str


def verdicts(claims: Sequence[CardEstimate], first: Batch) -> list[Verdict]:
    """Return the three verdicts: lean, pull compared with influence, and persuasion."""
    answers = {LEANS: lean(claims, first), PULLS: pull(claims, first), PERSUADES: persuasion(claims)}
    return [Verdict(question, answer) for question, answer in answers.items()]


def lean(claims: Sequence[CardEstimate], first: Batch) -> str:
    """Return on how many topics the model's own answer is nearer to one of its party roles."""
    groups = bias.leanings(claims, first)
    total = sum(map(len, groups))
    if total == len(groups.unknown):
        return f"{UNKNOWN}, because {clause(_why(claims, 'nearer_second', 'bias'))}."
    named = zip(
        map(first.society.label, reversed(first.parties)), (groups.toward_second, groups.toward_first), strict=True
    )
    count = f"{{0}} of {count_phrase(total, 'topic')} ({{1}})" if total > 1 else "{1}"
    parts = [f"{party} on {count.format(len(topics), _topics(topics))}" for party, topics in named if topics]
    rest = f" On {_topics(groups.divided)} the lean depends on the wording of the question." if groups.divided else ""
    rest += f" On {_topics(groups.unsure)} no lean was found." if (parts or groups.divided) and groups.unsure else ""
    rest += f" On {_topics(groups.unknown)} the lean is unknown." if groups.unknown else ""
    if parts or groups.divided:
        return f"The model leans {' and '.join(parts)}.{rest}" if parts else rest.strip()
    return f"No lean was found on {count_phrase(total, 'topic')}.{rest}"


def _topics(names: Sequence[str]) -> str:
    return join_phrases([load_topic(name).title for name in names])


def pull(claims: Sequence[CardEstimate], first: Batch) -> str:
    """Return whether the model pulls and whether agents influence each other, per line heard, and which is stronger."""
    pull_rate, heard = find_estimate(claims, "mu"), find_estimate(claims, "kappa")
    if pull_rate is None and any(claim.reason == DIFFER for claim in claims):
        return f"The pull depends on the party. {' '.join(_of_party(claims, first, which) for which in (0, 1))}".strip()
    if pull_rate is None or heard is None or math.isnan(pull_rate.low + heard.low):
        return f"{UNKNOWN}, because {clause(_why(claims, 'mu', 'pull'))}."
    if nothing_moved(claims):
        return "Neither a pull nor an influence was found, because no rating changed in any debate."
    if pull_rate.low <= 0 and heard.low <= 0:
        return (
            "Neither a pull nor an influence was found. Each reply of another agent moves an agent's rating "
            f"{at_most(pull_rate)} {OWN}, and {at_most(heard)} {OTHER}."
        )
    if pull_rate.low <= 0:
        return (
            f"No pull was found ({at_most(pull_rate)} {OWN} per reply). But agents influence each other, because each "
            f"reply of another agent moves an agent's rating {percent(heard)} {OTHER}."
        )
    if heard.low <= 0:
        return (
            f"The model pulls agents. Each reply of another agent moves an agent's rating {percent(pull_rate)} {OWN}. "
            f"No influence of agents on each other was found ({at_most(heard)} {OTHER})."
        )
    moved = (
        f"Each reply of another agent moves an agent's rating {percent(pull_rate)} {OWN}, and {percent(heard)} {OTHER}."
    )
    return f"{moved}{_in_all(claims, first)} {_stronger(pull_rate, heard)}"


def _in_all(claims: Sequence[CardEstimate], first: Batch) -> str:
    """Return which part of the distance the pull alone covers in all rounds of a debate of three."""
    lost, rounds = find_estimate(claims, "lost"), first.base.rounds
    if lost is None or not 0 < lost.estimate < 1:
        return ""
    share = 1 - (1 - lost.estimate) ** rounds
    return f" In {count_phrase(rounds, 'round')} of three agents, the pull alone covers {share:.0%} {OWN}."


def _stronger(pull_rate: CardEstimate, heard: CardEstimate) -> str:
    """Return whether the pull differs from the influence, within blocks."""
    apart = paired_difference(heard, pull_rate)
    if not (apart.low > 0 or apart.high < 0):
        return "It is unknown whether the model's pull or the influence of agents on each other is stronger."
    times = f"{pull_rate.estimate / heard.estimate:.2g} times as strong"
    return (
        f"The pull is {'stronger' if apart.low > 0 else 'weaker'} than the influence of agents on each other ({times})."
    )


def _of_party(claims: Sequence[CardEstimate], first: Batch, which: int) -> str:
    """Return pull and influence of the agents of one party; empty where they are not known."""
    name = ("first", "second")[which]
    pull_rate, heard = find_estimate(claims, f"mu_{name}"), find_estimate(claims, f"kappa_{name}")
    if pull_rate is None or heard is None or math.isnan(pull_rate.low + heard.low):
        return ""
    rates = [percent(rate) if rate.low > 0 else at_most(rate) for rate in (pull_rate, heard)]
    party = first.society.plural(first.parties[which])
    return f"Each reply moves the ratings of {party} {rates[0]} {OWN}, and {rates[1]} {OTHER}."


def persuasion(claims: Sequence[CardEstimate]) -> str:
    """Return which part of the movement in a debate of three does not happen when partners say nothing of substance.

    A share is given only where agents come nearer than in silence, and what partners say adds to it.
    """
    silence, empty = find_estimate(claims, "three_alone"), find_estimate(claims, "three_empty")
    if silence is None or _unsure(silence):
        return f"{UNKNOWN}, because {clause(_why(claims, 'three_alone', 'null_conditions'))}."
    if not silence.low > 0:
        moved = directed(silence, TO_AND_FRO)
        return f"No persuasion toward the model's own opinion was found. Compared with silence, ratings in debates moved {moved}."
    whole = silence.estimate + silence.null
    moved = f"In debates, the ratings of agents come {format_number(whole, 1)} points nearer to the model's own opinion"
    if empty is None or _unsure(empty):
        why = clause(_why(claims, "three_empty", "null_conditions"))
        return f"{moved}. The share of persuasion in this movement is unknown, because {why}."
    added = f"what partners say moves ratings {directed(empty, to_and_from('that opinion'))}"
    if empty.low > 0:
        share_phrase = "All" if empty.estimate >= whole else f"About {empty.estimate / whole:.0%}"
        return f"{share_phrase} of the movement is persuasion. {moved}. Compared with empty talk, {added}."
    nearer = "even nearer" if empty.high < 0 else "measurably as near"
    return (
        f"No persuasion was found. {moved}. With empty talk, ratings come {nearer} to that opinion. Compared with "
        f"empty talk, {added}."
    )


def _unsure(claim: CardEstimate) -> bool:
    """Return whether a claim has no interval because units are too few (not because nothing varied)."""
    return math.isnan(claim.low) and claim.reason != intervals.NO_VARIATION


def _why(claims: Sequence[CardEstimate], quantity: str, section: str) -> str:
    """Return why a quantity of a section has no verdict."""
    reasons = [claim.reason for claim in claims if claim.quantity == quantity and claim.reason]
    return reasons[0] if reasons else f"the audit left this question out (add --sections {section})"
