"""Do personas hold? Every persona answers questions in an interview, a judge rates each answer, and people review a part.

Calls are journaled, so that a killed validation continues and asks nothing twice. People review a random tenth and all answers
that the judge calls not aligned, as in the study. The sheet shows neither the judge's verdict nor why an answer is in it, and its
rows are shuffled, because a person who knows what the judge said agrees with it. Agreement is therefore counted twice: over all
reviewed answers (where disagreement is likely), and over the random tenth alone (which represents all answers).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.own_people import people_folder
from parley.agents.persona import Persona, all_personas, parties, persona_reminder
from parley.agents.reply_cleaning import clean_speech
from parley.agents.society import US, Society, load_society
from parley.analysis import judging
from parley.analysis.journaled_calls import check_manifest, open_journal, run_journaled
from parley.analysis.judging import Judge, load_rubric
from parley.analysis.table_export import write_csv
from parley.analysis.table_files import read_table
from parley.llm.backends import check_spec, identity_spec, open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar, Conversation, ask
from parley.llm.errors import UserError
from parley.llm.journal import shared_ledger
from parley.llm.prices import FREE
from parley.llm.purposes import Facts
from parley.llm.request import DECLINED, Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.files import JOURNAL
from parley.model.scenario_run import lock_folder

LEANINGS = ("left", "right", "neutral")
RUBRIC = load_rubric("alignment")
NOT, ALIGNED = RUBRIC.scale.answers
VERDICT_WORDS = {"": "", ALIGNED.lower(): ALIGNED, NOT.lower(): NOT}
WORDS = 50
ANSWER_TOKENS = 120
WARM = 1.0
"""The temperature of an interview (the study's public code)."""
SHARE = 0.1
RANDOM = "random"
NONE = "none"
"""The variant that states neither gender nor age."""


class Question(NamedTuple):
    """`about`: the leaning under which the study lists it (left, right, neutral)."""

    text: str
    about: str


class Item(NamedTuple):
    """A persona of a set and a question; the temperature, whether the persona is reminded of its role, its adapter and voice."""

    personas: str
    persona: Persona
    question: Question
    warmth: float = WARM
    reminded: bool = False
    adapter: str = ""
    voice: str = ""


@dataclass(frozen=True)
class Validation:
    """The models that are interviewed, the sets of personas, and the model that judges."""

    models: tuple[str, ...]
    judge: str
    personas: tuple[str, ...] = ("simple", "enhanced")
    seed: int = 0
    society: str = US

    def __post_init__(self) -> None:
        for spec in (*self.models, self.judge):
            check_spec(spec)
        models = [identity_spec(spec) for spec in self.models]
        for what, names in (("model", models), ("set of personas", self.personas)):
            if not names or len(set(names)) < len(names):
                raise UserError(f"give at least one {what}, and each {what} only once")


@cache
def questions(society: Society) -> tuple[Question, ...]:
    """The questions of a society (validation.toml), in its order: the 21 of the UCL study for `us`."""
    questions_by_subject = society.read("validation.toml")
    return tuple(Question(text, about) for about in LEANINGS for text in questions_by_subject.get(about, ()))


def person(party: str, society: Society) -> str:
    """The description of a party's persona for a judge. Errors: UserError on a party that the society does not have."""
    if party not in society.parties:
        raise UserError(
            f"only the parties {', '.join(society.parties)} can be judged, not {party}: add parties/{party}.toml"
        )
    return society.parties[party].person


def interview(item: Item, seed: int) -> Conversation[Reply]:
    """The persona's answer."""
    persona, language = item.persona, load_society(item.persona.society).language
    text = language.prompt("interview").fill(question=item.question.text, words=WORDS)
    key = (item.personas, persona.party, persona.variant, persona.name, item.question.text)
    question = f"{persona_reminder(persona.backstory, language)}\n\n{text}" if item.reminded else text
    messages = (Message("system", persona.backstory), Message("user", question))
    sampling, speaks = Sampling(item.warmth, ANSWER_TOKENS), (item.adapter, item.voice)
    facts: Facts = {"question": item.question.text, "words": WORDS}
    interview_seed = derive(seed, "interview", *key)
    return (yield from ask(Request(messages, sampling, interview_seed, (), "interview", "", *speaks, facts=facts)))


def verdict_item(item: Item, answer: Reply) -> judging.Item | judging.Verdict:
    """The question whether an answer fits its persona; for an answer that failed, a missing verdict."""
    if answer.notes.get(DECLINED):
        return judging.missing("no answer (declined)")
    if answer.text is None or not answer.text.strip():
        return judging.missing(f"no answer ({answer.failure.name if answer.failure else 'empty'})")
    described = person(item.persona.party, load_society(item.persona.society))
    slots = {
        "question": item.question.text,
        "statement": clean_speech(answer.text, item.persona.name, None),
        "person": described,
    }
    return judging.Item((), slots)


def items_to_review(answers: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """The answers with a column `review`: random (a tenth of the answers, rounded up), not aligned, or empty."""
    answered_items = answers.loc[answers["answer"] != "", "item"].tolist()
    drawn = answers["item"].isin(rng.sample(answered_items, math.ceil(SHARE * len(answered_items))))
    return answers.assign(review=np.select([drawn, answers["verdict"] == NOT], [RANDOM, NOT.lower()], ""))


def review_sheet(answers: pd.DataFrame, rng: random.Random, society: Society) -> pd.DataFrame:
    """The rows to review, shuffled: item, person, question, answer, human (empty, to be filled in)."""
    wanted = answers[answers["review"] != ""]
    order = rng.sample(range(len(wanted)), len(wanted))
    shown = wanted.iloc[order][["item", "party", "question", "answer"]].rename(columns={"party": "person"})
    return shown.assign(person=[person(party, society) for party in shown["person"]], human="")


def review_ratings(file: Path, folder: Path) -> pd.DataFrame:
    """One row per item that a person reviewed: review (why it was chosen), judge, and the columns that begin with `human`.

    The index is the item's number; verdicts are Aligned, Not aligned, or empty. Errors: UserError on a sheet without these
    columns, on values that are no verdicts, on items that the folder does not have.
    """
    filled = read_table(file, ("item",), "docs/personas.md")
    answers = read_table(folder / "answers.csv", ("item", "review", "verdict"), "docs/personas.md").set_index("item")
    humans = [name for name in filled.columns if name.startswith("human")]
    if not humans:
        raise UserError(f"{file} lacks the column human: write {ALIGNED} or {NOT} into it (docs/personas.md)")
    items = filled["item"]
    if wrong := [*items[~items.isin(answers.index)], *items[items.duplicated()]]:
        raise UserError(
            f"{file}: the item {wrong[0] or '(empty)'} is not in {folder}, or is listed twice: correct the column item"
        )
    ratings = filled.set_index("item")[humans].map(lambda text: _verdict(text, file))
    ratings = ratings[(ratings != "").any(axis=1)]
    if ratings.empty:
        raise UserError(f"{file}: no verdict is filled in: write {ALIGNED} or {NOT} into the column human")
    judged = answers.loc[ratings.index, ["review", "verdict"]].rename(columns={"verdict": "judge"})
    return pd.concat([judged, ratings], axis=1)


def _verdict(text: str, file: Path) -> str:
    plain = " ".join(text.split()).lower()
    if plain not in VERDICT_WORDS:
        raise UserError(f"{file}: {text!r} is not a verdict: write {ALIGNED} or {NOT}, or leave the cell empty")
    return VERDICT_WORDS[plain]


def interview_items(validation: Validation) -> list[Item]:
    """Every persona and question. Errors: UserError on an unknown set, and on a party that cannot be judged."""
    items, society = [], load_society(validation.society)
    for name in validation.personas:
        folder = people_folder(name, society)
        people = [
            member for party in parties(folder) if person(party, society) for member in all_personas(party, folder)
        ]
        items += [Item(name, member, question) for member in people for question in questions(society)]
    return items


def validate_personas(
    validation: Validation,
    folder: Path,
    bar: Bar,
    budgets: Sequence[Budget] = (),
    items: Sequence[Item] = (),
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> pd.DataFrame:
    """One row per answer, also written to answers.csv.

    Columns: item (its number), personas, model, party, variant, name, about, question, answer, verdict (Aligned, Not aligned, or
    empty), reason (why there is none), review (see `items_to_review`).

    budgets: one limit for everything, with the prices of each model and then of the judge. Earlier sessions are counted at the
    highest of these prices, because one journal does not say which model used the tokens. items: these items instead of every
    persona of the sets. ledger: shared with others, whose owner has counted earlier sessions. opened: opens a model.
    Errors: UserError on a folder of another validation; BudgetSpent (what was answered is kept).
    """
    items = items or interview_items(validation)
    with lock_folder(folder):
        _check_folder(folder, validation, items)
        each = list(budgets) or [NO_LIMIT] * (len(validation.models) + 1)
        dearest = max(each, key=lambda budget: (budget.prices.get("") or FREE).in_and_out)
        ledger = ledger or shared_ledger(each[0], [(folder / JOURNAL, dearest)])
        replies: list[Reply] = []
        for spec, budget in zip(validation.models, each, strict=False):
            conversations = [interview(item, validation.seed) for item in items]
            where = opened(spec), folder, bar, f"interviews {spec}", budget, ledger
            replies += run_journaled(conversations, *where, lambda reply: reply.failure.name if reply.failure else None)
        pairs = list(zip([*items] * len(validation.models), replies, strict=True))
        with open_journal(opened(validation.judge), folder / JOURNAL, each[-1], ledger) as journal:
            judge = Judge(journal, bar, validation.judge, each[-1].keep_going)
            verdicts = judge.judge_items(RUBRIC, [verdict_item(*pair) for pair in pairs], validation.seed)
        answers = _answer_table(validation, pairs, verdicts)
        write_csv(answers, folder / "answers.csv")
    return answers


def _answer_table(
    validation: Validation, pairs: Sequence[tuple[Item, Reply]], verdicts: Sequence[judging.Verdict]
) -> pd.DataFrame:
    each, rows = len(pairs) // len(validation.models), []
    for number, ((item, reply), verdict) in enumerate(zip(pairs, verdicts, strict=True)):
        persona, question = item.persona, item.question
        model, label = validation.models[number // each], RUBRIC.scale.labels
        who = (item.personas, model, persona.party, persona.variant or NONE, persona.name)
        judged = ("" if verdict.value is None else label[int(verdict.value)], verdict.reason)
        rows.append((number + 1, *who, question.about, question.text, reply.text or "", *judged))
    columns = [
        "item",
        "personas",
        "model",
        "party",
        "variant",
        "name",
        "about",
        "question",
        "answer",
        "verdict",
        "reason",
    ]
    return items_to_review(pd.DataFrame(rows, columns=columns), random.Random(derive(validation.seed, "review")))


def _check_folder(folder: Path, validation: Validation, items: Sequence[Item]) -> None:
    society = load_society(validation.society)
    texts = {"question.txt": society.language.prompt("interview").text, "questions": society.read("validation.toml")}
    models = {"models": [identity_spec(spec) for spec in validation.models], "judge": identity_spec(validation.judge)}
    people = {f"{item.personas} {item.persona.id}": item.persona.backstory for item in items}
    questions = {"prompts": texts, "case": [RUBRIC.rules, RUBRIC.case], "people": people}
    check_manifest(folder / "validation.json", {**asdict(validation), **models, **questions}, "validation")
