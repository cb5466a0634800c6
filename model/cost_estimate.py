"""What a scenario will cost, before anything is asked: calls, tokens, money and time, as numbers (`plan_run`) and as lines for a
person (`estimate_lines`).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from parley.agents.fact_checker import PURPOSE as CHECK
from parley.agents.mediators import open_mediator
from parley.agents.persona import party_of
from parley.agents.questionnaire import questionnaire
from parley.agents.reasoning import open_ability
from parley.agents.topic import TURNS
from parley.environments._social_graph import SocialGraph
from parley.environments.base import Group, Room, concurrent_turns
from parley.llm.backends import is_scripted, split_spec
from parley.llm.backends.fake import Fake
from parley.llm.budget import Price, Prices, cost_by_model
from parley.llm.errors import UserError
from parley.llm.journal import read_identity, reply_rate, thinking_tokens
from parley.llm.request import NOTHING, Request, Usage, total
from parley.llm.seeding import stream
from parley.model import attendance
from parley.model.casting import first_links, seat_rooms
from parley.model.debate import DebateModel
from parley.model.interventions import intervention_spec
from parley.model.scenario import Scenario
from parley.model.surrogate_seats import surrogate_for
from parley.model.titles import heading

RUNS = Path("runs")
LATEST = 50
"""Run folders that are looked through for a measured rate, the latest first."""
HOUR, MINUTE = 3600, 60


def estimate_lines(scenario: Scenario, prices: Prices) -> Iterator[str]:
    """The plan for a person."""
    made = plan_run(scenario)
    yield f"{scenario.name}: {heading(scenario)}"
    yield (
        f"  {made.rooms:,} rooms, {made.agents:,} agents; {_subjects(scenario)}, "
        f"repetitions {scenario.repetitions}, rounds {scenario.rounds}"
    )
    yield f"  {attendance.attendance_lines(attendance.planned_attendance(scenario), attendance.personas_of(scenario))}"
    more = f", and {made.others:,} of mediators, checkers and the questionnaire" if made.others > 0 else ""
    about = "about " if is_stochastic(scenario) else ""
    more += f", and {made.notes:,} notes to themselves" if made.notes else ""
    yield (
        f"  {about}{made.calls:,} calls to {scenario.models.llm}: {about}{made.replies:,} replies "
        f"and {made.ratings:,} ratings{more} ({_again(scenario, made)}{_fewer(scenario)})"
    )
    if any(table.weights for table in seat_rooms(scenario.replace(repetitions=1))):
        yield "  the weights of the graph's links are recorded; debates ignore them"
    if unpaid := made.unpaid(scenario):
        yield f"  {unpaid:,} of these calls go to scripted partners, which are no model and cost nothing"
    for one in scenario.interventions:
        yield f"  before round {one.round}: {intervention_spec(one)}"
    yield from estimate_cost([(scenario, 1)], [prices])
    yield estimate_time([scenario], made.calls)


def estimate_cost(runs: Sequence[tuple[Scenario, int]], prices: Sequence[Prices]) -> Iterator[str]:
    """Tokens and money of some scenarios, each held so many times, at the prices of each; and what of it is not known."""
    used, most, known = dict[str, Usage](), dict[str, Usage](), dict[str, Price | None]()
    for (scenario, times), priced in zip(runs, prices, strict=True):
        named = _named(scenario)
        for found, made in ((used, plan_run(scenario)), (most, plan_run(scenario, full=True))):
            for voice, usage in made.tokens.items():
                if not (voice and is_scripted(named[voice])):
                    found[named[voice]] = total([found.get(named[voice], NOTHING), *[usage] * times])
        known |= {named[voice]: price for voice, price in priced.items()}
    about, bound = total(used.values()), total(most.values())
    yield (
        f"  about {_rounded(about.prompt_tokens)} tokens in and {_rounded(about.completion_tokens)} out (estimated from words); "
        f"at most about {_rounded(bound.prompt_tokens)} and {_rounded(bound.completion_tokens)} (max_tokens)"
    )
    if money := cost_by_model(used, known, 2):
        highest = sum(price.of(most[name]) for name in most if (price := known.get(name)))
        yield f"  cost about {money}; at most about {highest:.2g}"
    for name in used:
        if name in known and known[name] is None:
            yield f"  no price is known for {name}: give --price IN,OUT (per million tokens), or a table with --prices FILE"
    for name in [name for name in used if split_spec(name)[0] == "openai"]:
        yield from _thoughts(name, sum(plan_run(scenario).calls * times for scenario, times in runs), known.get(name))


def _thoughts(name: str, calls: int, price: Price | None) -> Iterator[str]:
    """What a model may think before it answers, which nobody hears and somebody pays: by its latest run, or at most."""
    from parley.llm.backends.openai.capabilities import THINKING

    journal = _latest(name)
    measured = thinking_tokens(journal) if journal else None
    if measured == 0:
        return
    each = float(THINKING) if measured is None else measured
    tokens = round(each * calls)
    told = f"{_rounded(tokens)} tokens out ({each:,.0f} a call)"
    told += f", a cost of {price.of(Usage(0, tokens)):.2g}" if price else ""
    if journal and measured:
        yield f"  and about {told}, for what {name} thinks before it answers, as in {journal.parent}"
    else:
        yield f"  and, if {name} thinks before it answers, at most {told}; its first run says how many"


def estimate_time(scenarios: Sequence[Scenario], calls: int) -> str:
    """How long so many calls take, by the latest run folder of the same model; where there is none, that it is not known."""
    specs = {scenario.models.llm for scenario in scenarios} | {
        one for each in scenarios for one in each.llm_by_party.values()
    }
    asked = [one for one in specs if not is_scripted(one)]
    found = measured_rate(asked[0]) if len(asked) == 1 else None
    if found is None:
        return "  time not known: no run of this model is in runs/; the first one says its calls a second"
    rate, folder = found
    return f"  time about {duration(calls / rate)} ({rate:,.3g} calls a second, as in {folder})"


def measured_rate(spec: str) -> tuple[float, Path] | None:
    """Calls a second of a model in the latest of the run folders, and that folder; None where it was not asked."""
    journal = _latest(spec)
    return (rate, journal.parent) if journal and (rate := reply_rate(journal)) else None


def _latest(spec: str) -> Path | None:
    """The journal of the latest of the run folders in which a model was asked often enough to tell its rate."""
    name, model, _ = split_spec(spec)
    journals = sorted(RUNS.glob("*/journal.sqlite"), key=lambda path: path.stat().st_mtime, reverse=True)
    for journal in journals[:LATEST]:
        try:
            identity = read_identity(journal)
            if (identity.get("backend"), identity.get("model") or "") == (
                name,
                model.rsplit("/", 1)[-1],
            ) and reply_rate(journal):
                return journal
        except (UserError, json.JSONDecodeError):
            continue
    return None


def duration(seconds: float) -> str:
    """In words, one unit.

    >>> duration(40), duration(200), duration(7000)
    ('40 s', '3 min', '1.9 h')
    """
    if seconds < 1.5 * MINUTE:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 1.5 * HOUR else f"{seconds / HOUR:.1f} h"


def _again(scenario: Scenario, made: RunPlan) -> str:
    """How many more there are where ratings have to be asked again."""
    more = made.ratings * (scenario.surveys.asks - 1)
    return f"up to {more:,} more where ratings have to be asked again" if more else "no rating is asked twice"


def _named(scenario: Scenario) -> Mapping[str, str]:
    """What each voice is called: by its model."""
    return {"": bare_spec(scenario.models.llm)} | {
        voice: bare_spec(one) for voice, one in scenario.llm_by_party.items()
    }


def bare_spec(spec: str) -> str:
    """Backend and model without options: `openai:gpt-4o`."""
    return spec.split(",")[0]


def _fewer(scenario: Scenario) -> str:
    return (
        f"; fewer, as {scenario.people.archetypes} of a kind answer for the others"
        if scenario.people.archetypes
        else ""
    )


def _subjects(scenario: Scenario) -> str:
    if scenario.subject.questions:
        return f"questions {len(scenario.subject.question_pool)}, episodes {scenario.subject.episodes}"
    return f"topics {len(scenario.subject.topics)}"


def _rounded(tokens: int) -> str:
    """Two digits: 4,630,453 is 4,600,000."""
    return f"{float(f'{tokens:.2g}'):,.0f}"


TOKENS_PER_WORD = 4 / 3
"""A rule of thumb for English; the estimate is called one."""
FEW = 5
"""Repetitions that an estimate of how many speak is made of."""


class RunPlan(NamedTuple):
    """Numbers of a run in which every rating is read at the first ask. Tokens by voice are estimates (words * 4/3, every reply as
    long as is asked for); of a `full` plan the most that there can be (replies at max_tokens, surveys asked as often as may
    be).

    `others` are calls that are neither a reply nor a rating: candidates and rankings of a mediator, questionnaires, corrections;
    less the replies of a mediator that asks no model. `notes` are what agents write for themselves (agents/reasoning/, and
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
        own = scenario.llm_by_party
        return sum(number for voice, number in self.asked.items() if voice and is_scripted(own[voice]))

    @property
    def calls(self) -> int:
        return self.replies + self.ratings + self.others + self.notes


def count_calls(scenario: Scenario) -> tuple[int, int, int, int]:
    """Agents, rooms, replies and ratings of a scenario; exact when every rating is read at the first ask and nobody is muted or
    absent.

    Where chance decides how many speak (`is_stochastic`), replies are scaled up from a few repetitions.
    """
    groups, topics = scenario.groups, scenario.subject.rooms_per_repetition
    sizes, heads = [len(_modelled(scenario, group)) for group in groups], [len(group.seats) for group in groups]
    held = min(scenario.repetitions, FEW) if is_stochastic(scenario) else 1
    spoken = [[_lots(scenario, group, number) for number in range(held)] for group in groups]
    turns = sum(sum(map(sum, each)) for each in spoken) / held
    each_turn = [name for name in scenario.surveys.also if name.endswith(TURNS)]
    between = len(each_turn) * sum(size * sum(map(len, each)) for size, each in zip(sizes, spoken, strict=True)) / held
    asked = 1 + len(scenario.surveys.also) - len(each_turn)
    surveys = asked * sum(scenario.surveys_after(round_) for round_ in range(scenario.rounds + 1))
    surveys += scenario.rounds * (scenario.mediated and scenario.surveys_after(scenario.rounds))  # of the statements
    rooms = topics * (len(sizes) + len(scenario.people.reference)) * scenario.repetitions
    seated = topics * sum(sizes) * scenario.repetitions
    held_in = topics * (sum(heads) - sum(sizes)) * scenario.repetitions
    outside = topics * len(scenario.people.reference) * scenario.repetitions
    return (
        seated + held_in + outside,
        rooms,
        round(topics * turns * scenario.repetitions),
        seated * (surveys + (scenario.surveys.forecast and surveys > 0))
        + outside * asked * (surveys > 0)
        + round(topics * between * scenario.repetitions),
    )


def extra_calls(scenario: Scenario) -> int:
    """Calls that are neither a reply nor a rating (see Plan)."""
    if not scenario.mediated:
        return 0
    sizes = [len(group.seats) for group in scenario.groups]
    calls = open_mediator(scenario.speech.mediator).calls
    made = sum(calls(size) - 1 for size in sizes) * scenario.rounds * scenario.subject.episodes
    asked = scenario.rounds > 0 and scenario.surveys_after(scenario.rounds)
    return (made + sum(sizes) * len(questionnaire()) * asked) * scenario.repetitions


def is_stochastic(scenario: Scenario) -> bool:
    """Whether chance decides how many speak in a round."""
    return bool(getattr(scenario.environment, "varies", False))


def _modelled(scenario: Scenario, group: Group) -> set[int]:
    """The places in a group at which a model is asked: all but those held by a surrogate."""
    own, voices = scenario.surrogate_by_party, scenario.llm_by_party
    places = enumerate(zip(group.labels, group.seats, strict=True))
    return {place for place, (label, seat) in places if not surrogate_for(own, voices, label, party_of(seat))}


def _lots(scenario: Scenario, group: Group, repetition: int) -> list[int]:
    """How many are asked for an utterance at once, lot by lot through all rounds."""
    ids, society = tuple(range(len(group.seats))), None
    if group.networked:
        draw = partial(stream, scenario.seed, "plan", repetition)
        society = SocialGraph(first_links(scenario, group, repetition), lambda agent: None, draw)
    room = Room(ids, ids, lambda: ids, society)
    environment = scenario.environment
    rounds = range(1, scenario.rounds + 1)
    asked = _modelled(scenario, group)
    lots = [lot for round_ in rounds for lot in concurrent_turns(environment.turns(room, round_))]
    return [sum(turn.speaker in asked for turn in lot) for lot in lots]


def expected_usage(scenario: Scenario) -> int:
    """About how many calls a run takes, for progress bars: at once, unless agents write notes for themselves."""
    if scenario.speech.think != "none" or scenario.speech.memory.startswith(("summary", "retrieve")):
        return plan_run(scenario).calls
    _, _, replies, ratings = count_calls(scenario)
    return replies + ratings + extra_calls(scenario)


def plan_run(scenario: Scenario, full: bool = False) -> RunPlan:
    """The whole plan: one repetition is held with a stand-in that says as many words as are asked for (`full`: as fit into
    max_tokens), and scaled up.
    """
    words, notes, calls = defaultdict[tuple[str, str], float](float), Counter[str](), Counter[str]()
    most = int(scenario.style.sampling.max_tokens / TOKENS_PER_WORD)
    line = " ".join(["word"] * (max(most, scenario.speech.words) if full else scenario.speech.words))

    def stand_in(request: Request) -> str:
        text = request.answers[0] if request.answers else _ranking(request) or line
        notes[request.purpose] += 1
        calls[request.voice] += 1
        times = scenario.surveys.asks if full and request.purpose == "survey" else 1
        words[request.voice, "prompt"] += times * sum(message.content.count(" ") + 1 for message in request.messages)
        words[request.voice, "reply"] += times * (upper_bound(request) if full else text.count(" ") + 1)
        return text

    DebateModel(scenario.replace(repetitions=1, archetypes=0), backend=Fake(stand_in)).run()
    scale = scenario.repetitions * TOKENS_PER_WORD
    used = {
        voice: Usage(*[int(words[voice, kind] * scale) for kind in ("prompt", "reply")])
        for voice in sorted({voice for voice, _ in words})
    }
    more = extra_calls(scenario) + scenario.repetitions * notes[CHECK]
    thinks = open_ability(scenario.speech.think)
    purposes = ("reflection", "importance", "summary", *((thinks.name,) if thinks else ()))
    noted = scenario.repetitions * sum(notes[name] for name in purposes)
    asked = {voice: number * scenario.repetitions for voice, number in sorted(calls.items())}
    return RunPlan(*count_calls(scenario), more, noted, used, asked)


def upper_bound(request: Request) -> float:
    """The most words that a reply may have."""
    return request.sampling.max_tokens / TOKENS_PER_WORD


def _ranking(request: Request) -> str:
    """A ranking of what is listed as A, B, ..., where one is asked for."""
    listed = re.findall(r"(?m)^([A-Z]): ", request.messages[-1].content) if request.purpose == "ranking" else []
    return " > ".join(listed)
