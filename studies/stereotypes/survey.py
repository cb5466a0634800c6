"""A survey of personas: each answers the question of each topic for itself, and as people of each party would.

The system message is the persona. With an interview about its life, its turns come next, each asked with all turns before it.
An answer that contradicts age, work or family of what was said before (clashes.toml of the language; none in German) is asked
for again. Source: Higher-Order Binding (2025); README.md lists the departures. Then every question of the survey is
asked alone. Where the model gives probabilities the answer is their mean, else the number in the reply.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.language import Language, language_of_study
from parley.agents.own_people import people_folder
from parley.agents.persona import Persona, load_personas, parties
from parley.agents.persona_generator import find_clash
from parley.agents.probe import Probe
from parley.agents.society import DEFAULT, US, Society, load_society
from parley.agents.topic import Topic, load_topic
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.respondents import check_names
from parley.analysis.table_export import write_csv
from parley.llm.backends import identity_spec, open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar, Conversation, ask, ask_all
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

HERE = Path(__file__).parent
ATTEMPTS = 3
WORDS, TOKENS = 80, 200


class Interview(NamedTuple):
    """The turns of a finished interview as messages of a chat, and why it ended early ("": it did not)."""

    turns: tuple[Message, ...]
    reason: str = ""
    again: int = 0


def life_questions(language: Language, count: int) -> tuple[str, ...]:
    """Return the first `count` questions of the interview. Errors: UserError without the file, and for more than there are."""
    questions = tuple(language_of_study(language, HERE).data("life_interview")["questions"])
    if count > len(questions):
        raise UserError(
            f"the interview has only {len(questions)} questions: give --interview {len(questions)} or less, not {count}"
        )
    return questions[:count]


def interview_life(
    persona: Persona, questions: tuple[str, ...], language: Language, seed: int
) -> Conversation[Interview]:
    """Return the interview of a persona. It ends, with a reason, where a question has no usable answer in ATTEMPTS replies."""
    turns: tuple[Message, ...] = (Message("system", persona.backstory),)
    again = 0
    for number, question in enumerate(questions):
        messages = (*turns, Message("user", language.prompt("interview").fill(question=question, words=WORDS)))
        wrong: str | None = None
        for attempt in range(ATTEMPTS):
            question_seed = derive(seed, "life", persona.party, persona.variant, persona.name, number, attempt)
            facts: Facts = {"question": question, "words": WORDS}
            reply = yield from ask(
                Request(messages, Sampling(1.0, TOKENS), question_seed, (), "interview", facts=facts)
            )
            if (wrong := answer_problem(reply, messages, language)) is None:
                break
            again += 1
        if wrong is not None:
            return Interview(turns[1:], f"question {number + 1}: {wrong}", again)
        turns = (*messages, Message("assistant", " ".join((reply.text or "").split())))
    return Interview(turns[1:], "", again)


def answer_problem(reply: Reply, before: tuple[Message, ...], language: Language) -> str | None:
    """Return what is wrong with an answer after these messages, or None: a failure, no words, or a contradiction."""
    if reply.failure:
        return reply.failure.name
    if not (reply.text or "").strip():
        return "empty"
    system, *turns = [message for message in before if message.role != "user"]
    earlier_text = " ".join(message.content for message in turns)
    already, now = (
        find_clash(f"{system.content} {_second_person(text, language)}", language)
        for text in (earlier_text, f"{earlier_text} {reply.text}")
    )
    return f"contradiction ({now})" if now and now != already else None


def _second_person(text: str, language: Language) -> str:
    for word, form in language_of_study(language, HERE).data("life_interview")["second_person"]:
        text = re.sub(rf"\b{re.escape(word)}\b", form, text)
    return text


FRAME = "conversation"
COLUMNS = ["group", "person", "question", "about", "answer", "reason"]


@dataclass(frozen=True)
class PersonaSurvey:
    """Who is asked what. turns: questions of the interview before the survey; 0: no interview."""

    personas: str
    topics: tuple[str, ...]
    turns: int = 0
    seed: int = 0
    society: str = US

    def people(self) -> list[Persona]:
        """Return the personas without a variant, by party. Errors: UserError below two parties, and as `check_names`."""
        society = load_society(self.society)
        folder = people_folder(self.personas, society)
        named = [party for party in parties(folder) if party != DEFAULT and party in society.parties]
        if len(named) < 2:
            raise UserError(
                f"the set {self.personas} has personas of fewer than two parties, so groups cannot be compared"
            )
        people = [person for party in named for person in load_personas(party, folder)]
        check_names(people)
        return people

    @property
    def calls(self) -> int:
        """How many calls a model gets, if each person answers every question of the interview at once."""
        people, parties = self.people(), [party for party in load_society(self.society).parties if party != DEFAULT]
        return len(people) * (self.turns + len(self.topics) * (1 + len(parties)))


def run_survey(
    survey: PersonaSurvey, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT, ledger: Ledger | None = None
) -> pd.DataFrame:
    """Return one row per answer, also written to answers.csv: COLUMNS; about: the party asked about ("": oneself).

    answer: an attitude from 0 to 10, NaN if missing. ledger: as for
    `run_journaled`. Errors: UserError on a folder of another survey; BudgetSpent.
    """
    society, people = load_society(survey.society), survey.people()
    topics = [load_topic(society.qualified(name)) for name in survey.topics]
    with lock_folder(folder):
        _check_folder(folder, survey, spec, people, topics, society)
        conversations = [_survey_person(person, topics, survey, society) for person in people]
        parts = run_journaled(conversations, open_spec(spec), folder, bar, f"personas {spec}", budget, ledger, _why)
        table = pd.concat(parts, ignore_index=True)
        write_csv(table, folder / "answers.csv")
    return table


def _why(table: pd.DataFrame) -> str | None:
    """Return why nothing of a person could be read, or None."""
    return None if table["answer"].notna().any() else str(table["reason"].iloc[0])


def _survey_person(
    person: Persona, topics: Sequence[Topic], survey: PersonaSurvey, society: Society
) -> Conversation[pd.DataFrame]:
    language, lived = society.language, Interview(())
    if survey.turns:
        lived = yield from interview_life(person, life_questions(language, survey.turns), language, survey.seed)
    named = [party for party in society.parties if party != DEFAULT]
    plan = [(topic, about) for topic in topics for about in ("", *named)]
    if lived.reason:
        rows = [(topic.slug, about, math.nan, f"interview ended at {lived.reason}") for topic, about in plan]
    else:
        chat = (Message("system", person.backstory), *lived.turns)
        replies = yield from ask_all([compose_question(chat, person, *each, survey.seed, society) for each in plan])
        read = [_read(topic.probe("attitude"), reply) for (topic, _), reply in zip(plan, replies, strict=True)]
        rows = [(topic.slug, about, *answer) for (topic, about), answer in zip(plan, read, strict=True)]
    return pd.DataFrame([(person.party, person.name, *row) for row in rows], columns=COLUMNS)


def compose_question(
    chat: tuple[Message, ...], person: Persona, topic: Topic, about: str, seed: int, society: Society
) -> Request:
    """Return the question of a topic, to the person itself, or on what people of the party `about` would answer."""
    probe, facts = topic.probe("attitude"), Facts()
    question_seed = derive(seed, "persona survey", person.party, person.name, topic.slug, about)
    asked_probe = probe
    if about:
        text = (
            language_of_study(society.language, HERE)
            .prompt("perception")
            .fill(who=society.parties[about].person, question=probe.question)
        )
        asked_probe, facts = replace(probe, question=text), Facts(party=about)
    messages = (*chat, Message("user", asked_probe.ask(FRAME)))
    more, kind = Facts(**{**probe.facts, **facts, "topic": topic.title}), "perception" if about else "survey"
    return Request(
        messages, Sampling(1.0, ANSWER_TOKENS), question_seed, probe.scale.answers, kind, probe.prefix, facts=more
    )


def _read(probe: Probe, reply: Reply) -> tuple[float, str]:
    """Return an attitude and "", or NaN and the reason."""
    if reply.failure:
        return math.nan, reply.failure.name
    if reply.answers:
        return probe.attitude(probe.scale.expected(reply.answers)), ""
    reading = probe.read(reply.text)
    return (math.nan, reading.reason or "empty") if reading.value is None else (probe.attitude(reading.value), "")


def check_topics_of(society: Society, names: Sequence[str], available: Sequence[str]) -> tuple[str, ...]:
    """Return topics by name, all of those `available` for none. Errors: UserError on an unknown name."""
    for name in names:
        if name not in available and not name.endswith(".toml"):
            raise unknown_name(f"topic of {society.name}", name, available)
    return tuple(names or available)


def _check_folder(
    folder: Path, survey: PersonaSurvey, spec: str, people: Sequence[Persona], topics: Sequence[Topic], society: Society
) -> None:
    texts = {"perception": language_of_study(society.language, HERE).prompt("perception").text}
    if survey.turns:
        texts |= {"interview": society.language.prompt("interview").text, "attempts": str(ATTEMPTS)}
    about = {
        "personas": survey.personas,
        "model": identity_spec(spec),
        "seed": survey.seed,
        "society": survey.society,
        "people": {person.id: person.backstory for person in people},
        "questions": {topic.slug: topic.probe("attitude").ask(FRAME) for topic in topics},
        "interview": list(life_questions(society.language, survey.turns)) if survey.turns else [],
        "prompts": texts,
    }
    check_manifest(folder / "survey.json", about, "survey of personas")
