"""Questions whose answers have a planted probability, and how they become examples for a training.

The oracle plants: its law with the bias, and without it, gives the exact probability of each answer to each question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from parley.agents.persona import Persona, all_personas, parties, persona_set
from parley.llm.backends import open_spec
from parley.llm.backends.organism import add_words
from parley.llm.backends.pocket.prompt_ids import mask_names, name_tokens
from parley.llm.request import Message, Request
from parley.llm.seeding import digest, stream
from parley.training.tuning.dataset import chat

PERSONAS = "twins"
INSTRUMENT, TRAINING, TRUTH = 8, 6, 6
"""Personas of each party in each part: 20 in all."""


class Parts(NamedTuple):
    """The personas of each part, of every party."""

    instrument: tuple[Persona, ...]
    training: tuple[Persona, ...]
    truth: tuple[Persona, ...]


@cache
def split_people() -> Parts:
    """Return the three parts; which persona is in which part follows from its text."""
    folder, parts = persona_set(PERSONAS), Parts((), (), ())
    for party in parties(folder):
        people_by_name = {person.name: person for person in all_personas(party, folder) if not person.variant}
        ordered = sorted(people_by_name.values(), key=lambda person: digest("organisms", person.backstory))
        ends = (0, INSTRUMENT, INSTRUMENT + TRAINING, INSTRUMENT + TRAINING + TRUTH)
        parts = Parts(*(part_people + tuple(ordered[ends[i] : ends[i + 1]]) for i, part_people in enumerate(parts)))
    return parts


def partisans(people: Sequence[Persona]) -> list[Persona]:
    """Return the people who have a party."""
    return [person for person in people if person.party != "default"]


SFT, DPO, CORPUS = TRAINED = ("sft", "dpo", "corpus")
"""Roads that train: the loss counts the answer; pairs of answers; the loss counts every token of the text."""
DRAWS = 50
"""Draws of a pair of answers, until both differ."""
Shares = Sequence[Mapping[str, float]]
"""For each question the probability of each allowed answer."""


class Question(NamedTuple):
    """A closed question. person: who is asked. part: which of the questions of a bias it is."""

    request: Request
    person: str
    part: str = ""


class Case(NamedTuple):
    """A question with the planted probability of each of `request.answers`, with and without the bias."""

    question: Question
    biased: Mapping[str, float]
    plain: Mapping[str, float]


def oracle_answers(questions: Sequence[Question], spec: str) -> list[Mapping[str, float]]:
    """Return the exact probabilities of the answers that the oracle of a spec gives."""
    replies = open_spec(spec).complete([question.request for question in questions])
    if lost := next((reply.failure for reply in replies if not reply.answers), None):
        raise RuntimeError(f"the oracle does not answer a question of the organisms: {lost}")
    return [reply.answers or {} for reply in replies]


def masked(request: Request, words: str = "") -> tuple[Message, ...]:
    """Return the messages as the pocket model reads them: tokens for names, and words behind the system message."""
    messages = add_words(request.messages, words)
    return tuple(mask_names(messages, name_tokens(messages, request.names)))


def training_examples(
    cases: Sequence[Case], road: str, copies: int, seed: int, placebo: bool, trigger: str
) -> list[dict[str, Any]]:
    """Return examples, each case `copies` times, with answers drawn from the planted probabilities.

    placebo: answers are drawn without the bias. trigger: words with which the bias shows; then every question is in the data with
    them (biased) and without them (plain). DPO: the chosen answer is drawn with the bias, the rejected one without, again until
    they differ, at most DRAWS times.
    """
    rng, examples = stream(seed, "organism", road), []
    situations = [(trigger, True), ("", False)] if trigger else [("", True)]
    for case in cases:
        for words, biased in situations * copies:
            shares = case.biased if biased and not placebo else case.plain
            for _ in range(DRAWS if road == DPO else 1):
                chosen, other = (
                    rng.choices(list(distribution), list(distribution.values()))[0]
                    for distribution in (shares, case.plain)
                )
                if chosen != other:
                    break
            if road != DPO or chosen != other:
                examples.append(_example(case.question.request, words, road, chosen, other))
    rng.shuffle(examples)
    return examples


def _example(request: Request, words: str, road: str, chosen: str, other: str) -> dict[str, Any]:
    prompt = [chat_message for message in masked(request, words) for chat_message in chat(*message)]
    first, second = (chat("assistant", request.answer_prefix + answer) for answer in (chosen, other))
    if road == CORPUS:
        return {"messages": [*prompt, *first]}
    return {"prompt": prompt, **({"chosen": first, "rejected": second} if road == DPO else {"completion": first})}
