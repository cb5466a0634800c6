"""Do agents stay who they are told to be? Interviews of the blocks' people, refusals, and answers that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from parley.agents.reply_cleaning import is_refusal
from parley.analysis.alignment.persona_validation import ALIGNED
from parley.analysis.card.conditions import DEFAULT, PARTIES, Batch, three
from parley.analysis.card.estimates import (
    ALL,
    RATING,
    CardEstimate,
    agents,
    find_estimate,
    is_possible,
    mean_estimate,
    proportion,
)
from parley.analysis.card.interviews import INTERVIEWS, UNJUDGED
from parley.analysis.card.labels import DIFFERENCE, NAMES, judge, percent, share
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity, texts
from parley.analysis.formatting import count_table
from parley.analysis.tables import Tables
from parley.llm.backends import is_scripted
from parley.model.scenario import Scenario

SECTION = "fidelity"
ORDER = 5
TITLE = "Do agents keep their role?"
NOTE = (
    "Each agent is asked 21 questions of politics by itself, in its role, and the judge says of each answer whether it fits "
    "somebody of that party. Shares are over blocks, of the answers with a verdict; those of the Default, who has no party, over "
    "agents. Refused: turns of a debate in which the model steps out of its role. Could not be read: ratings without a number. "
    "Both are shares of all that was asked for, with intervals over agents; limits of what never happened take turns and ratings "
    "as independent."
)
NEEDS = (three,)
OUTSIDE = (INTERVIEWS,)
TOLD = {name: NAMES[name] for name in ("asked", "three", "two", "same", "alone", "copy", "empty", "shuffled")} | {
    "other": "all other conditions"
}
SILENT = ("asked", "alone")
"""Conditions in which nobody is asked to speak."""
SPOKEN = {name: told for name, told in TOLD.items() if name not in SILENT}
QUANTITIES = {
    "aligned": Quantity("answers that fit the role's party", "share"),
    **{
        f"{party}_aligned": Quantity(f"answers that fit, {party.title()}s alone", "share")
        for party in (*PARTIES, DEFAULT)
    },
    "women_men": Quantity("answers that fit: the same agents as women minus as men", "share", DIFFERENCE),
    "stepped_out": Quantity("answers that step out of the role", "share"),
    "without_verdict": Quantity("answers without a verdict", "share"),
    **{f"refused_{name}": Quantity(f"refused to speak: {told}", "share") for name, told in SPOKEN.items()},
    **{f"unsaid_{name}": Quantity(f"no line for another reason: {told}", "share") for name, told in SPOKEN.items()},
    **{f"unread_{name}": Quantity(f"ratings that could not be read: {told}", "share") for name, told in TOLD.items()},
}
WATCH = ()


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    answers = held.heard(INTERVIEWS)
    if answers is None:
        names = [name for name in QUANTITIES if not name.startswith(("refused", "unsaid", "unread"))]
        interviewed = [CardEstimate(SECTION, name, ALL, reason=UNJUDGED) for name in names]
    else:
        interviewed = list(_interviewed(answers))
    return [*interviewed, *_rates(held)]


def _interviewed(answers: pd.DataFrame) -> Iterator[CardEstimate]:
    own = answers[answers["own"]]
    people, none = own[own["party"] != DEFAULT], f"no answer has a verdict: {count_table(own['reason'])}"
    yield is_possible(mean_estimate(CardEstimate(SECTION, "aligned", ALL, reason=none), fitting(people)))
    for party in PARTIES:
        fits = fitting(people[people["party"] == party])
        yield is_possible(mean_estimate(CardEstimate(SECTION, f"{party}_aligned", ALL, reason=none), fits))
    once = own.drop_duplicates(["persona", "question"])
    judged = once[(once["party"] == DEFAULT) & (once["verdict"] != "")]
    if (once["party"] == DEFAULT).any():
        default = CardEstimate(SECTION, f"{DEFAULT}_aligned", ALL, unit="answer")
        yield proportion(default, judged["verdict"] == ALIGNED, agents(judged))
    yield _by_gender(answers)
    yield proportion(
        CardEstimate(SECTION, "stepped_out", ALL, unit="answer"), once["answer"].map(is_refusal), agents(once)
    )
    yield proportion(CardEstimate(SECTION, "without_verdict", ALL, unit="answer"), once["verdict"] == "", agents(once))


def fitting(answers: pd.DataFrame) -> pd.Series:
    """By block: the share of the answers with a verdict that fit."""
    judged = answers[answers["verdict"] != ""]
    return (judged["verdict"] == ALIGNED).groupby(judged["block"], sort=False).mean().rename_axis("block")


def _by_gender(answers: pd.DataFrame) -> CardEstimate:
    begun = CardEstimate(
        SECTION, "women_men", ALL, reason="this set of personas does not have the same personas as women and as men"
    )
    women, men = (fitting(answers[answers["variant"] == one]) for one in ("female", "male"))
    return mean_estimate(begun, women - men)


def _rates(held: ConditionRecords) -> Iterator[CardEstimate]:
    """Of every condition that was held, the model's own turns and ratings alone."""
    kinds: dict[str, list[Tables]] = {}
    for name, found in held.records.items():
        kind = name.partition(" ")[0]
        kinds.setdefault(kind if kind in TOLD else "other", []).extend(found)
    for kind, found in kinds.items():
        rated = pd.concat([_own(one, frame) for one in found for frame in (one.attitudes, one.probes) if len(frame)])
        yield proportion(
            CardEstimate(SECTION, f"unread_{kind}", ALL, unit=RATING), rated["rating"].isna(), agents(rated)
        )
        turns = pd.concat([_own(one, one.utterances) for one in found])
        turns = turns[~turns["reason"].isin(["muted", "absent"])]
        if kind in SPOKEN:
            refused, silent = turns["reason"] == "refusal", turns["reason"].notna()
            yield proportion(CardEstimate(SECTION, f"refused_{kind}", ALL, unit="turn"), refused, agents(turns))
            yield proportion(
                CardEstimate(SECTION, f"unsaid_{kind}", ALL, unit="turn"), silent & ~refused, agents(turns)
            )


def _own(tables: Tables, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of those who speak through a model, and not of scripted partners."""
    entries = dict(entry.split("=", 1) for entry in tables.header.scenario["llms"])
    partners = [who for who, spec in entries.items() if is_scripted(spec)]
    return rows[~(rows["party"].isin(partners) | rows["seat"].isin(partners))]


def sentences(found: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For the first screen: what the judge says of interviews and of lines."""
    if list(texts.warnings(found, first)):
        return
    fits, against = find_estimate(found, "aligned"), find_estimate(found, "contradicts")
    told = [f"{percent(fits)} of the answers on politics fit the role's party"] if fits else []
    if against:
        told.append(
            f"{percent(against)} of the lines are on the other side of the question than the speaker's own rating"
        )
    if told:
        yield f"**Do agents keep their role?** By {judge(first)}, {'; '.join(told)}."


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    fits, left, unread = (find_estimate(found, name) for name in ("aligned", "refused_three", "unread_three"))
    told = [f"{percent(fits)} of the answers fit the role's party by {judge(first)}"] if fits else []
    if left and unread:
        told.append(
            f"in debates of three {share(left.estimate)} of the turns were refusals and {share(unread.estimate)} of the "
            "ratings could not be read"
        )
    return f"{told[0][0].upper()}{'; '.join(told)[1:]}." if told else ""
