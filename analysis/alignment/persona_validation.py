"""One question to one persona, and the question to a judge whether its answer fits.

What people are to check, and what they found: a random tenth and all that the judge calls not aligned, as the study had it.

The sheet shows neither the judge's verdict nor why an answer is in it, and its rows are shuffled: a person who knows what the
judge said agrees with it. Agreement is therefore counted twice: over all that was reviewed (where disagreement is likely to be),
and over the random tenth alone (which stands for all answers).

Every persona of some sets before some models and a judge: journaled, so that a killed one goes on and asks nothing twice.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona, all_personas, parties, persona_reminder, persona_set
from parley.analysis import judging
from parley.analysis.formatting import cell
from parley.analysis.journaled_calls import check_manifest, open_journal, run_journaled
from parley.analysis.judging import Judge, Verdict, load_rubric, one_line
from parley.llm.backends import check_spec, identity_spec, open_spec
from parley.llm.budget import FREE, NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar, Conversation, ask
from parley.llm.errors import UserError
from parley.llm.journal import shared_ledger
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import JOURNAL, lock_folder

HERE = Path(__file__).parent
PROMPTS = HERE / "prompts"
QUESTIONS = HERE / "questions.toml"
LEANINGS = ("left", "right", "neutral")
RUBRIC = load_rubric("alignment")
NOT, ALIGNED = RUBRIC.scale.answers
WORDS = 50
ANSWER_TOKENS = 120
WARM = 1.0
"""The temperature of an interview (the study's public code)."""


class Question(NamedTuple):
    """`about`: the leaning under which the study lists it (left, right, neutral)."""

    text: str
    about: str


class Item(NamedTuple):
    """A persona of a set, and what it is asked; how warm, whether it is told once more who it is, and through which adapter and
    voice it speaks.
    """

    personas: str
    persona: Persona
    question: Question
    warmth: float = WARM
    reminded: bool = False
    adapter: str = ""
    voice: str = ""


@cache
def questions() -> tuple[Question, ...]:
    """The 21, as they stand in questions.toml."""
    return tuple(Question(text, about) for about in LEANINGS for text in _data()[about])


def person(party: str) -> str:
    """How a party's persona is described to a judge. Errors: UserError on a party without a description."""
    known = _data()["person"]
    if party not in known:
        raise UserError(f"only {', '.join(known)} can be judged, not {party}")
    return str(known[party])


def interview(item: Item, seed: int) -> Conversation[Reply]:
    """The persona's answer."""
    one, text = item.persona, prompt(PROMPTS, "question").fill(question=item.question.text, words=WORDS)
    own = derive(seed, "interview", item.personas, one.party, one.variant, one.name, item.question.text)
    told = f"{persona_reminder(one.backstory)}\n\n{text}" if item.reminded else text
    messages = (Message("system", one.backstory), Message("user", told))
    sampling, speaks = Sampling(item.warmth, ANSWER_TOKENS), (item.adapter, item.voice)
    facts: Facts = {"question": item.question.text, "words": WORDS}
    return (yield from ask(Request(messages, sampling, own, (), "interview", "", *speaks, facts=facts)))


def verdict_item(item: Item, answer: Reply) -> judging.Item | judging.Verdict:
    """The question whether an answer fits its persona; an answer that failed is judged by nobody."""
    if answer.text is None or not answer.text.strip():
        return judging.missing(f"no answer ({answer.failure.name if answer.failure else 'empty'})")
    slots = {"question": item.question.text, "statement": one_line(answer.text), "person": person(item.persona.party)}
    return judging.Item((), slots)


@cache
def _data() -> dict[str, Any]:
    return read_toml(QUESTIONS)


SHARE = 0.1
RANDOM = "random"
VERDICT_WORDS = {ALIGNED.lower(): ALIGNED, NOT.lower(): NOT}


def items_to_review(answers: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """The answers with a column `review`: random (a tenth of the answers there are, rounded up), not aligned, or empty."""
    there = answers.loc[answers["answer"] != "", "item"].tolist()
    drawn = set(rng.sample(there, math.ceil(SHARE * len(there))))
    marks = [
        RANDOM if item in drawn else NOT.lower() if verdict == NOT else ""
        for item, verdict in zip(answers["item"], answers["verdict"], strict=True)
    ]
    return answers.assign(review=marks)


def review_sheet(answers: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """The rows to review, shuffled: item, person, question, answer, human (empty, to be filled in)."""
    wanted = answers[answers["review"] != ""]
    order = rng.sample(range(len(wanted)), len(wanted))
    shown = wanted.iloc[order][["item", "party", "question", "answer"]].rename(columns={"party": "person"})
    return shown.assign(person=shown["person"].map(person), answer=shown["answer"].map(cell), human="")


def review_ratings(file: Path, folder: Path) -> pd.DataFrame:
    """A row an item reviewed by anybody, its number as index: review (why it was chosen), judge, and a column for each column of
    the sheet that begins with `human`; Aligned, Not aligned, or empty where a rater says nothing.

    Errors: UserError on a sheet without these columns, on values that are no verdicts, on items that the folder does not have.
    """
    filled, answers = _read(file), _read(folder / "answers.csv").set_index("item")
    humans = [name for name in filled.columns if name.startswith("human")]
    if "item" not in filled.columns or not humans:
        raise UserError(
            f"{file} lacks the column {'human' if 'item' in filled.columns else 'item'} (a CSV with commas)"
        )
    if wrong := [item for item in filled["item"] if item not in answers.index] or _twice(filled["item"]):
        raise UserError(f"{file}: item {wrong[0] or '(empty)'} is not one of {folder}, or is there twice")
    read = filled.set_index("item")[humans].apply(lambda column: column.map(lambda text: _verdict(text, file)))
    read = read[(read != "").any(axis=1)]
    if read.empty:
        raise UserError(f"{file}: nobody has filled in a verdict ({ALIGNED} or {NOT})")
    mine = answers.loc[read.index, ["review", "verdict"]].rename(columns={"verdict": "judge"})
    return pd.concat([mine, read], axis=1)


def _verdict(text: str, file: Path) -> str:
    plain = " ".join(text.split()).lower()
    if plain and plain not in VERDICT_WORDS:
        raise UserError(f"{file}: {text!r} is no verdict: {ALIGNED}, {NOT}, or nothing")
    return VERDICT_WORDS.get(plain, "")


def _twice(column: pd.Series) -> list[str]:
    return list(column[column.duplicated()])


def _read(file: Path) -> pd.DataFrame:
    """A CSV as texts. Errors: UserError when it cannot be read."""
    try:
        return pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is no CSV: {str(error).splitlines()[0]}") from error


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
