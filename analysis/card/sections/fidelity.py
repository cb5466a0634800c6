"""Do agents keep their role? Interviews of the blocks' personas, refusals, and ratings that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from parley.agents.reply_cleaning import is_refusal
from parley.agents.society import DEFAULT, SEATS
from parley.analysis.alignment.persona_validation import ALIGNED, questions
from parley.analysis.card import estimates
from parley.analysis.card.conditions import Batch, three
from parley.analysis.card.estimates import CardEstimate, find_estimate, mean_estimate, proportion
from parley.analysis.card.interviews import INTERVIEWS, UNJUDGED
from parley.analysis.card.labels import DIFFERENCE, NAMES, judge, percent, share
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity, texts
from parley.analysis.formatting import count_table
from parley.analysis.tables import Tables
from parley.llm.backends import is_scripted
from parley.model.scenario import Scenario

ORDER = 5
TITLE = "Do agents keep their role?"
NOTE = (
    "Each agent answers {questions} questions about politics in its role, outside any debate. The judge says whether each "
    "answer fits a member of the agent's party. Shares count only answers with a verdict, and intervals are over blocks. The "
    "Default has no party; the Default's shares are over agents. *Refused* counts the turns of a debate in which the model "
    "steps out of its role. *Could not be read* counts the ratings without a number. Both counts are shares of all turns or "
    "ratings, with intervals over agents. If something never happened, its upper limit treats turns and ratings as independent."
)
NEEDS = (three,)
OUTSIDE = (INTERVIEWS,)
CONDITIONS = {name: NAMES[name] for name in ("asked", "three", "two", "same", "alone", "copy", "empty", "shuffled")}
CONDITIONS["other"] = "all other conditions"
SPOKEN = {name: title for name, title in CONDITIONS.items() if name not in ("asked", "alone")}
"""Conditions in which agents speak."""
QUANTITIES = {
    "aligned": Quantity("answers that fit the role's party", "share"),
    **{f"{seat}_aligned": Quantity(f"answers that fit, {{{seat}s}} alone", "share") for seat in SEATS},
    f"{DEFAULT}_aligned": Quantity("answers that fit, Defaults alone", "share"),
    "women_men": Quantity("answers that fit: the same agents as women minus as men", "share", DIFFERENCE),
    "stepped_out": Quantity("answers that step out of the role", "share"),
    "without_verdict": Quantity("answers without a verdict", "share"),
    **{f"refused_{name}": Quantity(f"refused to speak: {title}", "share") for name, title in SPOKEN.items()},
    **{f"unsaid_{name}": Quantity(f"no reply for another reason: {title}", "share") for name, title in SPOKEN.items()},
    **{
        f"unread_{name}": Quantity(f"ratings that could not be read: {title}", "share")
        for name, title in CONDITIONS.items()
    },
}
WATCH = ()
ONE_GENDER = "this set of personas does not have the same personas as women and as men"


def slots(first: Batch) -> dict[str, str]:
    """How many questions there are."""
    return {"questions": str(len(questions(first.society)))}


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    if (interviews := study.answers_to(INTERVIEWS)) is not None:
        return [*_interviewed(interviews, study.parties), *_rates(study)]
    names = [name for name in QUANTITIES if not name.startswith(("refused", "unsaid", "unread"))]
    return [*(CardEstimate(name, reason=UNJUDGED) for name in names), *_rates(study)]


def _interviewed(answers: pd.DataFrame, debaters: Sequence[str]) -> Iterator[CardEstimate]:
    seated_answers = answers[answers["own"]]
    people, none = (
        seated_answers[seated_answers["party"] != DEFAULT],
        f"no answer has a verdict: {count_table(seated_answers['reason'])}",
    )
    seated = zip(SEATS, debaters, strict=True)
    shares = {"aligned": people} | {f"{seat}_aligned": people[people["party"] == party] for seat, party in seated}
    for name, rows in shares.items():
        yield estimates.is_possible(mean_estimate(CardEstimate(name, reason=none), fitting(rows)))
    once = seated_answers.drop_duplicates(["persona", "question"])
    default = once[once["party"] == DEFAULT]
    if len(default):
        judged = default[default["verdict"] != ""]
        yield proportion(
            CardEstimate(f"{DEFAULT}_aligned", unit="answer"), judged["verdict"] == ALIGNED, estimates.agents(judged)
        )
    women, men = (fitting(answers[answers["variant"] == variant]) for variant in ("female", "male"))
    yield mean_estimate(CardEstimate("women_men", reason=ONE_GENDER), women - men)
    yield proportion(CardEstimate("stepped_out", unit="answer"), once["answer"].map(is_refusal), estimates.agents(once))
    yield proportion(CardEstimate("without_verdict", unit="answer"), once["verdict"] == "", estimates.agents(once))


def fitting(answers: pd.DataFrame) -> pd.Series:
    """By block: the share of the answers with a verdict that fit."""
    judged = answers[answers["verdict"] != ""]
    return (judged["verdict"] == ALIGNED).groupby(judged["block"], sort=False).mean().rename_axis("block")


def _rates(study: ConditionRecords) -> Iterator[CardEstimate]:
    """Shares of the model's own turns and ratings, for every condition that was run."""
    kinds: dict[str, list[Tables]] = {}
    for name, records in study.records.items():
        kind = name.partition(" ")[0]
        kinds.setdefault(kind if kind in CONDITIONS else "other", []).extend(records)
    for kind, records in kinds.items():
        rated = pd.concat(
            [_own(each, frame) for each in records for frame in (each.attitudes, each.probes) if len(frame)]
        )
        yield proportion(
            CardEstimate(f"unread_{kind}", unit=estimates.RATING), rated["rating"].isna(), estimates.agents(rated)
        )
        if kind in SPOKEN:
            turns = pd.concat([_own(each, each.utterances) for each in records])
            turns = turns[~turns["reason"].isin(["muted", "absent"])]
            refused, silent = turns["reason"] == "refusal", turns["reason"].notna()
            yield proportion(CardEstimate(f"refused_{kind}", unit="turn"), refused, estimates.agents(turns))
            yield proportion(CardEstimate(f"unsaid_{kind}", unit="turn"), silent & ~refused, estimates.agents(turns))


def _own(tables: Tables, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of agents that speak through a model, without scripted partners."""
    entries = dict(entry.split("=", 1) for entry in tables.header.scenario["llms"])
    partners = [voice for voice, spec in entries.items() if is_scripted(spec)]
    return rows[~(rows["party"].isin(partners) | rows["seat"].isin(partners))]


def sentences(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short": what the judge says of interviews and of lines, unless the judge is unreliable."""
    if list(texts.warnings(claims, first)):
        return
    fits, against = find_estimate(claims, "aligned"), find_estimate(claims, "contradicts")
    parts = [f"{percent(fits)} of the answers on politics fit the role's party"] if fits else []
    if against:
        parts.append(
            f"{percent(against)} of the replies are on the other side of the question than the speaker's own rating"
        )
    if parts:
        yield f"**Do agents keep their role?** According to {judge(first)}, {'; '.join(parts)}."


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    fits, refused, unread = (find_estimate(claims, name) for name in ("aligned", "refused_three", "unread_three"))
    parts = [f"{percent(fits)} of the answers fit the role's party, according to {judge(first)}"] if fits else []
    if refused and unread:
        parts.append(
            f"in debates of three {share(refused.estimate)} of the turns were refusals and {share(unread.estimate)} of the "
            "ratings could not be read"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""
