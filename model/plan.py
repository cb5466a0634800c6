"""What a scenario will cost, before anything is asked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from parley.agents.abilities import names
from parley.agents.checker import PURPOSE as CHECK
from parley.agents.mediators import open_mediator
from parley.agents.persona import party_of
from parley.agents.questionnaire import questionnaire
from parley.agents.topic import TURNS
from parley.environments._society import Society
from parley.environments.base import Group, Room, waves
from parley.llm.backends import scripted
from parley.llm.backends.fake import Fake
from parley.llm.randomness import stream
from parley.llm.request import Request, Usage, total
from parley.model.debate import DebateModel
from parley.model.scenario import Scenario
from parley.model.seating import first_links
from parley.model.standing_in import file_of

TOKENS_PER_WORD = 4 / 3
"""A rule of thumb for English; the estimate is called one."""
FEW = 5
"""Repetitions that an estimate of how many speak is made of."""


class Plan(NamedTuple):
    """Numbers of a run in which every rating is read at the first ask. Tokens by voice are estimates (words * 4/3, every reply as
    long as is asked for); of a `full` plan the most that there can be (replies at max_tokens, surveys asked as often as may
    be).

    `others` are calls that are neither a reply nor a rating: candidates and rankings of a mediator, questionnaires, corrections;
    less the replies of a mediator that asks no model. `notes` are what agents write for themselves (agents/abilities/, and
    summaries of what they forget). `asked`
    are all calls by voice, as they would be made: the muted are not asked.
    """

    agents: int
    rooms: int
    replies: int
    ratings: int
    others: int
    notes: int
    tokens: Mapping[str, Usage]
    asked: Mapping[str, int]

    @property
    def usage(self) -> Usage:
        return total(self.tokens.values())

    def unpaid(self, scenario: Scenario) -> int:
        """The calls among them that go to scripted partners, who are no model; whom everybody speaks through is no partner."""
        own = scenario.own_llms()
        return sum(number for voice, number in self.asked.items() if voice and scripted(own[voice]))

    @property
    def calls(self) -> int:
        return self.replies + self.ratings + self.others + self.notes


def count(scenario: Scenario) -> tuple[int, int, int, int]:
    """Agents, rooms, replies and ratings of a scenario; exact when every rating is read at the first ask and nobody is muted or
    absent.

    Where chance decides how many speak (`varies`), replies are scaled up from a few repetitions.
    """
    groups, topics = scenario.build_environment().groups(), scenario.rooms_each
    sizes, heads = [len(_modelled(scenario, group)) for group in groups], [len(group.seats) for group in groups]
    held = min(scenario.repetitions, FEW) if varies(scenario) else 1
    spoken = [[_lots(scenario, group, number) for number in range(held)] for group in groups]
    turns = sum(sum(map(sum, each)) for each in spoken) / held
    each_turn = [name for name in scenario.also if name.endswith(TURNS)]
    between = len(each_turn) * sum(size * sum(map(len, each)) for size, each in zip(sizes, spoken, strict=True)) / held
    asked = 1 + len(scenario.also) - len(each_turn)
    surveys = asked * sum(scenario.surveys_after(round_) for round_ in range(scenario.rounds + 1))
    surveys += scenario.rounds * (scenario.mediated and scenario.surveys_after(scenario.rounds))  # of the statements
    rooms = topics * (len(sizes) + len(scenario.reference)) * scenario.repetitions
    seated = topics * sum(sizes) * scenario.repetitions
    held_in = topics * (sum(heads) - sum(sizes)) * scenario.repetitions
    outside = topics * len(scenario.reference) * scenario.repetitions
    return (
        seated + held_in + outside,
        rooms,
        round(topics * turns * scenario.repetitions),
        seated * (surveys + (scenario.forecast and surveys > 0))
        + outside * asked * (surveys > 0)
        + round(topics * between * scenario.repetitions),
    )


def others(scenario: Scenario) -> int:
    """Calls that are neither a reply nor a rating (see Plan)."""
    if not scenario.mediated:
        return 0
    sizes = [len(group.seats) for group in scenario.build_environment().groups()]
    calls = open_mediator(scenario.mediator).calls
    made = sum(calls(size) - 1 for size in sizes) * scenario.rounds * scenario.episodes
    asked = scenario.rounds > 0 and scenario.surveys_after(scenario.rounds)
    return (made + sum(sizes) * len(questionnaire()) * asked) * scenario.repetitions


def varies(scenario: Scenario) -> bool:
    """Whether chance decides how many speak in a round."""
    return bool(getattr(scenario.build_environment(), "varies", False))


def _modelled(scenario: Scenario, group: Group) -> set[int]:
    """The places in a group at which a model is asked: all but those held by a surrogate."""
    own, voices = scenario.stand_ins(), scenario.own_llms()
    places = enumerate(zip(group.labels, group.seats, strict=True))
    return {place for place, (label, seat) in places if not file_of(own, voices, label, party_of(seat))}


def _lots(scenario: Scenario, group: Group, repetition: int) -> list[int]:
    """How many are asked for an utterance at once, lot by lot through all rounds."""
    ids, society = tuple(range(len(group.seats))), None
    if group.networked:
        draw = partial(stream, scenario.seed, "plan", repetition)
        society = Society(first_links(scenario, group, repetition), lambda agent: None, draw)
    room = Room(ids, ids, lambda: ids, society)
    environment = scenario.build_environment()
    rounds = range(1, scenario.rounds + 1)
    asked = _modelled(scenario, group)
    lots = [lot for round_ in rounds for lot in waves(environment.turns(room, round_))]
    return [sum(turn.speaker in asked for turn in lot) for lot in lots]


def expected(scenario: Scenario) -> int:
    """About how many calls a run takes, for progress bars: at once, unless agents write notes for themselves."""
    if scenario.think != "none" or scenario.memory.startswith(("summary", "retrieve")):
        return plan(scenario).calls
    _, _, replies, ratings = count(scenario)
    return replies + ratings + others(scenario)


def plan(scenario: Scenario, full: bool = False) -> Plan:
    """The whole plan: one repetition is held with a stand-in that says as many words as are asked for (`full`: as fit into
    max_tokens), and scaled up.
    """
    words, notes, calls = defaultdict[tuple[str, str], float](float), Counter[str](), Counter[str]()
    most = int(scenario.manner().sampling.max_tokens / TOKENS_PER_WORD)
    line = " ".join(["word"] * (max(most, scenario.words) if full else scenario.words))

    def stand_in(request: Request) -> str:
        text = request.answers[0] if request.answers else _ranking(request) or line
        notes[request.purpose] += 1
        calls[request.voice] += 1
        times = scenario.asks if full and request.purpose == "survey" else 1
        words[request.voice, "prompt"] += times * sum(message.content.count(" ") + 1 for message in request.messages)
        words[request.voice, "reply"] += times * (most_of(request) if full else text.count(" ") + 1)
        return text

    DebateModel(replace(scenario, repetitions=1, archetypes=0), backend=Fake(stand_in)).run()
    scale = scenario.repetitions * TOKENS_PER_WORD
    used = {
        voice: Usage(*[int(words[voice, kind] * scale) for kind in ("prompt", "reply")])
        for voice in sorted({voice for voice, _ in words})
    }
    more = others(scenario) + scenario.repetitions * notes[CHECK]
    noted = scenario.repetitions * sum(notes[name] for name in (*names(), "reflection", "importance", "summary"))
    asked = {voice: number * scenario.repetitions for voice, number in sorted(calls.items())}
    return Plan(*count(scenario), more, noted, used, asked)


def most_of(request: Request) -> float:
    """The most words that a reply may have."""
    return request.sampling.max_tokens / TOKENS_PER_WORD


def _ranking(request: Request) -> str:
    """A ranking of what is listed as A, B, ..., where one is asked for."""
    listed = re.findall(r"(?m)^([A-Z]): ", request.messages[-1].content) if request.purpose == "ranking" else []
    return " > ".join(listed)
