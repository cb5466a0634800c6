"""The plan of a run before it runs: how many calls, tokens and batches it will have, counted by a dry run.

A dry run is the debates themselves, with a stand-in for the model that answers everything at once.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from parley.agents.reasoning import open_ability
from parley.environments.base import MEDIATOR
from parley.llm.backends import is_scripted
from parley.llm.backends.fake import Fake
from parley.llm.backends.replay import Replay
from parley.llm.errors import MissingRecording
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Backend, Reply, Request, Usage, total
from parley.model.debate import DebateModel
from parley.model.events import Called, Event, Rated, Utterance
from parley.model.model_shares import has_models_by_person
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario
from parley.model.titles import size_phrase

TOKENS_PER_WORD = 4 / 3
"""A rule of thumb for English."""
SAMPLE = 5
"""Repetitions of a dry run if the number of speakers is random. Otherwise one is enough, because all repetitions are alike."""
SIZES, MOST_LINKS = (100, 200), 30
"""Sizes at which a larger network is counted, if its graph has a mean number of links of at most this."""
REPLIES = ("speech", "critique")
"""Purposes of calls for what an agent, or its representative, says; where agents choose, also the form of turns."""
ACTS = ("act", "target", "search")
"""Purposes of calls for what people do on a social medium."""
NOTES = (EMBEDDING, "reflection", "importance", "plan", "summary")
"""Purposes of calls for notes of an agent to itself, in addition to its reasoning."""


@dataclass(frozen=True)
class RunPlan:
    """The numbers of a run in which every rating can be read from the first reply.

    `ratings` and `replies` count the agents that ask a model. `acts` are choices on a social medium, and of the posts that they
    are about. `others` are further calls, less the statements of a mediator that asks no model; `other_purposes` says what for
    (llm/purposes.py), the most frequent first. `notes` are notes of agents to themselves (agents/reasoning.py, and summaries).
    `tokens` by voice are estimates: words * 4/3, with every reply as long as agents are asked for. `repeated` is the part of the
    prompts that repeats the beginning of what the same agent sent before (model/room.py). `steps` are the times at which calls of
    all rooms wait at once: each is a batch, for a model that is asked in batches. `calls_by_voice` are all calls by the voice
    that they go to. `known` is a journal whose replies are not asked for again; the numbers then count only the
    other calls.
    """

    scenario: Scenario
    agents: int
    rooms: int
    replies: int
    ratings: int
    others: int
    acts: int
    notes: int
    tokens: Mapping[str, Usage]
    calls_by_voice: Mapping[str, int]
    other_purposes: tuple[str, ...] = ()
    known: Path | None = None
    repeated: float = 0.0
    steps: int = 0

    @property
    def usage(self) -> Usage:
        return total(self.tokens.values())

    @property
    def calls(self) -> int:
        return self.replies + self.ratings + self.others + self.acts + self.notes

    @property
    def debates(self) -> int:
        """The rooms with a debate. In the others, the reference, one agent alone answers the surveys."""
        return self.rooms - self._alone

    @property
    def size(self) -> str:
        """The rooms and agents in words."""
        return size_phrase(self.debates, self.agents - self._alone, self._alone)

    @property
    def _alone(self) -> int:
        scenario = self.scenario
        return len(scenario.people.reference) * len(scenario.subject.topic) * scenario.repetitions

    @property
    def scripted_calls(self) -> int:
        """The calls to scripted partners, which are no models. A scripted speaker for all parties is not counted."""
        specs = self.scenario.llm_by_party
        return sum(number for voice, number in self.calls_by_voice.items() if voice and is_scripted(specs[voice]))

    @cached_property
    def most_tokens(self) -> Mapping[str, Usage]:
        """The upper bound of tokens by voice: replies of max_tokens, and every survey asked as often as allowed."""
        return _planned(self.scenario, True, self.known).tokens


def plan_run(scenario: Scenario, journal: Path | None = None) -> RunPlan:
    """Return the plan of a scenario, counted by a dry run of one repetition and multiplied.

    If the number of speakers is random, SAMPLE repetitions are run. If interventions differ by room, if some people have a model
    that others of their party do not have, or with a `journal` of known replies, all are. A large network is counted at two
    smaller sizes: all numbers grow in a straight line with its size, as the people of a graph have a mean number of links.
    """
    return _planned(scenario, False, journal)


def _planned(scenario: Scenario, full: bool, journal: Path | None) -> RunPlan:
    links = getattr(getattr(scenario.environment, "_graph", None), "degree", math.inf)
    size = int(getattr(scenario.environment, "size", 0))
    if journal or links > MOST_LINKS or size <= SIZES[-1]:
        return _dry_run(scenario, full, journal)
    small, large = (_dry_run(scenario.with_settings({"size": number}), full) for number in SIZES)
    return _at_size(scenario, small, large, (size - SIZES[0]) / (SIZES[1] - SIZES[0]))


def _at_size(scenario: Scenario, small: RunPlan, large: RunPlan, steps: float) -> RunPlan:
    """Return the plan of a size that is so many steps from `small`; `large` is one step from it."""

    def reached(first: float, second: float) -> int:
        return round(first + steps * (second - first))

    names = ("agents", "rooms", "replies", "ratings", "others", "acts", "notes")
    numbers: dict[str, Any] = {name: reached(getattr(small, name), getattr(large, name)) for name in names}
    tokens = {
        voice: Usage(
            reached(small.tokens[voice].prompt_tokens, usage.prompt_tokens),
            reached(small.tokens[voice].completion_tokens, usage.completion_tokens),
        )
        for voice, usage in large.tokens.items()
    }
    calls = {voice: reached(small.calls_by_voice[voice], number) for voice, number in large.calls_by_voice.items()}
    return replace(large, scenario=scenario, tokens=tokens, calls_by_voice=calls, **numbers)


def rehearse_run(scenario: Scenario) -> list[Event]:
    """Return the events of one repetition of a scenario, with stand-ins for all replies: which kinds of events a run has."""
    recorder, answer = MemoryRecorder(), Fake(_Counter(scenario, False).answer)
    repetitions = scenario.repetitions if _differs_by_room(scenario) else 1
    shortened = scenario.replace(repetitions=repetitions, archetypes=0, adapters=())
    DebateModel(shortened, backend=answer, recorder=recorder, keep_going=True).run()
    return recorder.events


def _dry_run(scenario: Scenario, full: bool, journal: Path | None = None) -> RunPlan:
    """The plan with replies of the length that agents are asked for, or (`full`) of max_tokens."""
    repetitions = 1
    if journal or has_models_by_person(scenario) or _differs_by_room(scenario):
        repetitions = scenario.repetitions
    elif has_random_turns(scenario):
        repetitions = min(scenario.repetitions, SAMPLE)
    counter = _Counter(scenario, full)
    shortened = scenario if journal else scenario.replace(repetitions=repetitions, archetypes=0, adapters=())
    answer = _StandIn(counter.answer)
    backend = KnownReplies(journal, answer) if journal else answer
    model = DebateModel(shortened, backend=backend, recorder=counter, keep_going=True)
    model.run()
    scale = scenario.repetitions / repetitions
    ability = open_ability(scenario.speech.think)
    spoken_purposes = (*REPLIES, counter.form)
    replies = counter.statements + sum(counter.purposes[name] for name in spoken_purposes)
    noted = (*NOTES, *((ability.name,) if ability else ()))
    notes = sum(counter.purposes[name] for name in noted)
    ratings = counter.purposes["survey"] if journal else counter.ratings
    acts = sum(counter.purposes[name] for name in ACTS)
    others = sum(counter.purposes.values()) - counter.repeated - notes - replies - acts - ratings
    named = {*spoken_purposes, *ACTS, *noted, "survey"}
    purposes = tuple(name for name, _ in counter.purposes.most_common() if name not in named)

    def scaled(number: int) -> int:
        return round(number * scale)

    sizes = scaled(len(model.agents)), scaled(len(model.rooms))
    calls = scaled(replies), scaled(ratings), scaled(others), scaled(acts), scaled(notes)
    tokens = {voice: counter.usage(voice, scale) for voice in sorted(counter.calls)}
    calls_by_voice = {voice: scaled(number) for voice, number in sorted(counter.calls.items())}
    return RunPlan(
        scenario, *sizes, *calls, tokens, calls_by_voice, purposes, journal, counter.repeated_part, answer.steps
    )


class _StandIn(Fake):
    """Answers all rooms at once, and counts how often it is asked."""

    batch_size = sys.maxsize
    steps = 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.steps += 1
        return super().complete(requests)


class KnownReplies(Replay):
    """Answers from a journal, and lets a stand-in answer what the journal lacks. `unknown` counts the latter."""

    def __init__(self, journal: Path, stand_in: Backend):
        super().__init__(journal)
        self.stand_in, self.unknown = stand_in, 0

    def _reply(self, request: Request) -> Reply:
        try:
            return super()._reply(request)
        except MissingRecording:
            self.unknown += 1
            return self.stand_in.complete([request])[0]


def has_random_turns(scenario: Scenario) -> bool:
    """Whether the number of speakers of a round is random."""
    return bool(getattr(scenario.environment, "varies", False))


def may_end_early(scenario: Scenario) -> bool:
    """Whether turns of a round may fall away, which a dry run counts."""
    return bool(getattr(scenario.environment, "may_end_early", False))


def _differs_by_room(scenario: Scenario) -> bool:
    """Whether an intervention names rooms, or reaches a share of people that is drawn in every room."""
    return any(intervention.rooms or intervention.share < 1 for intervention in scenario.interventions)


class _Counter:
    """Answers the requests of a dry run, records its events, and counts both."""

    def __init__(self, scenario: Scenario, full: bool):
        self.full, self.asks = full, scenario.surveys.asks
        self.form = getattr(scenario.environment, "form", "")
        self.embeds = scenario.speech.relevance == "embedding"
        longest = int(scenario.style.sampling.max_tokens / TOKENS_PER_WORD)
        self.line = " ".join(["word"] * (max(longest, scenario.speech.words) if full else scenario.speech.words))
        self.purposes, self.calls = Counter[str](), Counter[str]()
        self.words = defaultdict[tuple[str, str], float](float)
        self.statements, self.ratings, self.repeated = 0, 0, 0
        self._sent, self._sent_before = 0, 0

    def answer(self, request: Request) -> str:
        """Return an allowed answer, a ranking, or a line of the length that is asked for.

        The answer is the first one; of a choice as a turn the middle one, so that no later turn falls away.
        """
        allowed = request.answers[len(request.answers) // 2 if request.purpose == self.form else 0 :]
        text = allowed[0] if allowed else "[1]" if request.purpose == EMBEDDING else self.line
        if request.purpose == "ranking" and not request.answers:
            text = " > ".join(re.findall(r"(?m)^([A-Z]): ", request.messages[-1].content)) or self.line
        if self.embeds and request.purpose == "speech":  # each text is embedded once, so no two lines may be alike
            text = f"{self.purposes['speech']} {text.partition(' ')[2]}"
        self.purposes[request.purpose] += 1
        self.calls[request.voice] += 1
        times = self.asks if self.full and request.purpose in ("survey", "speech") else 1
        prompt = sum(message.content.count(" ") + 1 for message in request.messages)
        reply = request.sampling.max_tokens / TOKENS_PER_WORD if self.full else text.count(" ") + 1
        self.words[request.voice, "prompt"] += times * prompt
        self.words[request.voice, "reply"] += times * reply
        return text

    def write(self, events: Iterable[Event]) -> None:
        """Count a mediator's statements, the ratings that a model is asked for, and what prompts repeat."""
        for event in events:
            if isinstance(event, Called):
                self._sent, self._sent_before = self._sent + event.prompt_chars, self._sent_before + event.sent_before
            if isinstance(event, Utterance):
                self.statements += event.agent == MEDIATOR
            elif isinstance(event, Rated) and event.asked:
                self.ratings += 1
                self.repeated += event.asked - 1

    @property
    def repeated_part(self) -> float:
        """The part of the prompts that repeats the beginning of what the same agent sent before."""
        return self._sent_before / self._sent if self._sent else 0.0

    def usage(self, voice: str, scale: float) -> Usage:
        """Return the tokens of a voice."""
        return Usage(*[int(self.words[voice, kind] * scale * TOKENS_PER_WORD) for kind in ("prompt", "reply")])
