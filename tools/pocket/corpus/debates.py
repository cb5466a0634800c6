"""Debates of the corpus: rooms of the real agents, and what each of them was asked as one document."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import mesa

from parley.agents.agent import Debater
from parley.agents.society import DEFAULT
from parley.agents.speech import DebateStyle
from parley.agents.topic import Topic, load_topic
from parley.environments.base import Order, Room, Turn
from parley.environments.round_table import RoundTable
from parley.llm.driver import drive
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.room import RoomState, RunContext
from parley.model.round import run_round
from parley.model.surveys import run_survey
from parley.training.capability.tasks import any_listing
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker, puppet
from tools.pocket.corpus.documents import Document, Fork
from tools.pocket.corpus.people import PARTIES, SIDES, any_topic, person
from tools.pocket.corpus.survey_questions import any_probes, survey

SEATS = ((1, 2, 3, 4, 5), (0.06, 0.26, 0.44, 0.14, 0.10))
ROUNDS = (range(11), (0.06, 0.12, 0.16, 0.20, 0.16, 0.14, 0.06, 0.04, 0.02, 0.02, 0.02))
LINES = 30
"""Most lines of a debate: about 2,000 tokens with the persona."""
PUPPET_ROOMS, PUPPET_SEATS, SHIFTED, SURVEYED, LEANING = 0.85, 0.8, 0.2, 0.45, 0.2
FIRST, LAST, ALONE = 0.5, 3, 0.2
"""Share of rooms surveyed before the debate, surveys at its end, share kept of surveys that are no addition to a chat."""


def rooms(seed: int, stage: CorpusSpeaker, count: int) -> Iterator[list[Document]]:
    """The documents of `count` rooms, room by room (one for each real speaker in it)."""
    population = mesa.Model(rng=seed)
    for number in range(count):
        yield _room(random.Random(f"{seed} {number}"), stage, population)
        population.remove_all_agents()


def _room(rng: random.Random, stage: CorpusSpeaker, population: mesa.Model) -> list[Document]:
    topic, style = load_topic(any_topic(rng)), _manner(rng)
    lean = rng.choice(SIDES) if rng.random() < LEANING else ""
    stage.lean(lean)
    size = rng.choices(*SEATS)[0]
    rounds = min(rng.choices(*ROUNDS)[0], LINES // size, 10 if size > 1 else 2)
    taken: set[str] = set()
    people = [person(rng.choice(PARTIES), taken, rng, stage) for _ in range(size)]
    members = {
        number: Debater(population, persona, topic, [other.name for other in people if other is not persona], style)
        for number, persona in enumerate(people, 1)
    }
    openings = {number: member.memory.opening for number, member in members.items()}
    stage.roles, late = _roles(rng, stage, members, openings)
    stage.asked = []
    _hold(rng, stage, members, topic, rounds)
    puppets = set(stage.roles) - late
    by_seat: dict[str, list[tuple[Request, Reply]]] = defaultdict(list)
    for request, reply in stage.asked:
        by_seat[request.messages[1].content.split("\n\n")[0]].append((request, reply))
    documents = []
    for opening, seat_calls in by_seat.items():
        if opening not in puppets:
            some = seat_calls[0][0]
            documents += [
                stage.annotated(
                    replace(document, lean=lean, hidden=int(opening in late)), replace(some, messages=document.messages)
                )
                for document in _documents(seat_calls, opening in late, style.memory == "whole", stage, rng)
            ]
    stage.roles, stage.asked = {}, []
    stage.lean("")
    return documents


def _manner(rng: random.Random) -> DebateStyle:
    words = rng.choice((60, 60, 60, 60, 60, 30, 40, 50, 80, 100))
    memory = rng.choices(("whole", "last", "summary"), (0.95, 0.025, 0.025))[0]
    memory = memory if memory == "whole" else f"{memory}:{rng.choice((3, 4, 6, 8, 12))}"
    frame = rng.choice(("debate", "debate", "conversation"))
    return DebateStyle(frame, words, Sampling(), 1.0, memory, "strict", listing=any_listing(rng))


def _roles(
    rng: random.Random, stage: CorpusSpeaker, members: dict[int, Debater], openings: dict[int, str]
) -> tuple[dict, set[str]]:
    """Who is a puppet, and which Default has another bias (learned from its second reply on: the first one shows it)."""
    roles, late = {}, set()
    played = list(members)[1:] if rng.random() < PUPPET_ROOMS else []
    for number, member in members.items():
        if number in played and rng.random() < PUPPET_SEATS:
            roles[openings[number]] = puppet(rng)
        elif member.persona.party == DEFAULT and rng.random() < SHIFTED:
            roles[openings[number]] = stage.shifted(rng.uniform(0.0, 10.0))
            late.add(openings[number])
    return roles, late


def _hold(rng: random.Random, stage: CorpusSpeaker, members: dict[int, Debater], topic: Topic, rounds: int) -> None:
    ids = tuple(members)
    shuffled = tuple(rng.sample(ids, len(ids)))
    seated = Room(ids, shuffled, lambda: tuple(rng.sample(ids, len(ids))))
    order: Order = rng.choice(("random_first", "random_first", "random", "reshuffled"))
    seats, context = {number: str(number) for number in ids}, RunContext(rng.getrandbits(31))
    room = RoomState("corpus", topic.slug, "", 0, dict(members), seats, context)
    for round_ in range(rounds + 1):
        room.round = round_
        if round_:
            turns: Iterator[Turn] = RoundTable(order=order).turns(seated, round_)
            drive([run_round(room, turns)], stage)
        for name in _probes(rng, topic.slug, round_, rounds):
            drive([run_survey(room, {topic.spoken: topic.probe(name)})], stage)


def _probes(rng: random.Random, slug: str, round_: int, rounds: int) -> list[str]:
    """The surveys after a round, each once: most of them at the end, where there is most to be read."""
    share = FIRST if round_ == 0 else SURVEYED
    count = LAST if round_ == rounds else int(rng.random() < share)
    return sorted(set(any_probes(rng, slug, count)))


def _documents(
    seat_calls: list[tuple[Request, Reply]], late: bool, whole: bool, stage: CorpusSpeaker, rng: random.Random
) -> Iterator[Document]:
    """The longest chat of a seat with all surveys as forks of it; what is not an addition to it is a document of its own."""
    answered = [(request, reply) for request, reply in seat_calls if reply.text is not None]
    speeches = [(request, reply) for request, reply in answered if request.purpose == "speech"]
    spoken = [(*request.messages, Message("assistant", reply.text or "")) for request, reply in speeches]
    trunk = spoken[-1] if spoken else seat_calls[0][0].messages[:1]
    alone = [messages for messages in spoken[:-1] if messages != trunk[: len(messages)]]
    forks: list[Fork] = []
    for request, reply in answered:
        kept = len(request.messages) - 1
        if request.purpose == "summary":
            yield Document(
                "summary", (*request.messages, Message("assistant", reply.text or "")), (), _own(request.messages)
            )
        elif request.purpose == "survey" and request.messages[:kept] == trunk[:kept]:
            if not late or kept > 2:
                forks.append(survey(request, reply, stage, rng))
        elif request.purpose == "survey" and not late and rng.random() < ALONE:
            yield Document("survey", request.messages[:kept], (survey(request, reply, stage, rng),), 99)
    if whole:
        yield Document("debate", trunk, tuple(forks), int(late))
    else:  # a memory that forgets: each reply has a chat of its own, learned at its end only
        yield Document("window", trunk, tuple(forks), max(_own(trunk) - 1, int(late)))
    for messages in alone:
        if not late or _own(messages) > 1:
            yield Document("window", messages, (), _own(messages) - 1)


def _own(messages: tuple[Message, ...]) -> int:
    return sum(message.role == "assistant" for message in messages)
