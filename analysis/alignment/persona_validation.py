"""Every persona of some sets before some models and a judge: journaled, so that a killed one goes on and asks nothing twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from parley.agents.persona import all_personas, parties, persona_set
from parley.analysis.alignment.interviews import (
    PROMPTS,
    QUESTIONS,
    RUBRIC,
    Item,
    interview,
    person,
    questions,
    verdict_item,
)
from parley.analysis.alignment.review import items_to_review
from parley.analysis.formatting import cell
from parley.analysis.journaled_calls import check_manifest, open_journal, run_journaled
from parley.analysis.judging import Judge, Verdict
from parley.llm.backends import check_spec, identity_spec, open_spec
from parley.llm.budget import FREE, NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.journal import shared_ledger
from parley.llm.request import Backend, Reply
from parley.llm.seeding import derive
from parley.model.scenario_run import JOURNAL, lock_folder

NONE = "none"
"""The variant that states neither gender nor age."""


@dataclass(frozen=True)
class Validation:
    """Which models are interviewed as which sets of personas, and which model judges."""

    models: tuple[str, ...]
    judge: str
    personas: tuple[str, ...] = ("simple", "enhanced")
    seed: int = 0

    def __post_init__(self) -> None:
        for spec in (*self.models, self.judge):
            check_spec(spec)
        for what, named in (
            ("model", [identity_spec(spec) for spec in self.models]),
            ("set of personas", self.personas),
        ):
            if not named or len(set(named)) < len(named):
                raise UserError(f"name at least one {what}, and none twice")


def interview_items(validation: Validation) -> list[Item]:
    """Every persona and question. Errors: UserError on an unknown set, and on a party that cannot be judged."""
    found = []
    for name in validation.personas:
        folder = persona_set(name)
        people = [one for party in parties(folder) if person(party) for one in all_personas(party, folder)]
        found += [Item(name, one, question) for one in people for question in questions()]
    return found


def validate_personas(
    validation: Validation,
    folder: Path,
    bar: Bar,
    budgets: Sequence[Budget] = (),
    asked: Sequence[Item] = (),
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> pd.DataFrame:
    """A row an answer: item (its number), personas, model, party, variant, name, about, question, answer, verdict (Aligned, Not
    aligned, or empty), reason (why there is none), review (random, not aligned: see review.py). Written to answers.csv too.

    budgets: one limit for all of it, with the prices of each model and then of the judge. What earlier sittings spent is counted
    at the highest of these prices, as one journal does not say whose the tokens were. asked: these in place of every persona of
    the sets. ledger: what others share, whose owner has counted earlier sittings. opened: what opens a model.
    Errors: UserError on a folder of another validation; BudgetSpent, what was answered being kept.
    """
    asked = asked or interview_items(validation)
    with lock_folder(folder):
        _claim(folder, validation, asked)
        each = list(budgets) or [NO_LIMIT] * (len(validation.models) + 1)
        dearest = max(each, key=lambda one: sum(one.prices.get("", FREE)))
        ledger = ledger or shared_ledger(each[0], [(folder / JOURNAL, dearest)])
        answers = {
            spec: run_journaled(
                [interview(item, validation.seed) for item in asked],
                opened(spec),
                folder,
                bar,
                f"interviews {spec}",
                budget,
                ledger,
                lambda reply: reply.failure.name if reply.failure else None,
            )
            for spec, budget in zip(validation.models, each, strict=False)
        }
        pairs = [(item, reply) for replies in answers.values() for item, reply in zip(asked, replies, strict=True)]
        with open_journal(opened(validation.judge), folder / JOURNAL, each[-1], ledger) as journal:
            judge = Judge(journal, bar, validation.judge, each[-1].keep_going)
            verdicts = judge.judge_items(RUBRIC, [verdict_item(*pair) for pair in pairs], validation.seed)
        found = items_to_review(_rows(validation, pairs, verdicts), random.Random(derive(validation.seed, "review")))
        harmless = {name: found[name].map(cell) for name in ("personas", "party", "name", "answer")}
        found.assign(**harmless).to_csv(folder / "answers.csv", index=False)
    return found


def _rows(validation: Validation, pairs: Sequence[tuple[Item, Reply]], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    each = len(pairs) // len(validation.models)
    rows = [
        {
            "item": number,
            "personas": item.personas,
            "model": validation.models[(number - 1) // each],
            "party": item.persona.party,
            "variant": item.persona.variant or NONE,
            "name": item.persona.name,
            "about": item.question.about,
            "question": item.question.text,
            "answer": reply.text or "",
            "verdict": "" if found.value is None else RUBRIC.scale.labels[int(found.value)],
            "reason": found.reason,
        }
        for number, ((item, reply), found) in enumerate(zip(pairs, verdicts, strict=True), 1)
    ]
    return pd.DataFrame(rows)


def _claim(folder: Path, validation: Validation, asked: Sequence[Item]) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*sorted(PROMPTS.glob("*.txt")), QUESTIONS)}
    told = {"models": [identity_spec(spec) for spec in validation.models], "judge": identity_spec(validation.judge)}
    people = {f"{item.personas} {item.persona.id}": item.persona.backstory for item in asked}
    asked_by = {"prompts": texts, "case": [RUBRIC.rules, RUBRIC.case], "people": people}
    check_manifest(folder / "validation.json", {**asdict(validation), **told, **asked_by}, "validation")
