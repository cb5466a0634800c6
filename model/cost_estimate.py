"""What a scenario will cost, before anything is asked: calls, tokens, money and time.

`plan_run` counts a dry run: the debates themselves, with a stand-in for the model that answers everything at once.
`estimate_lines` says the same to a person.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parley.agents.reasoning import open_ability
from parley.environments.base import MEDIATOR
from parley.llm.backends import is_scripted, split_spec
from parley.llm.backends.fake import Fake
from parley.llm.budget import Price, Prices, cost_by_model
from parley.llm.errors import UserError
from parley.llm.journal import read_identity, reply_rate, thinking_tokens
from parley.llm.request import NOTHING, Request, Usage, total
from parley.model import attendance
from parley.model.casting import seat_rooms
from parley.model.debate import DebateModel
from parley.model.events import Event, Rated, Utterance
from parley.model.interventions import intervention_spec
from parley.model.scenario import Scenario
from parley.model.titles import heading

TOKENS_PER_WORD = 4 / 3
"""A rule of thumb for English; the estimate is called one."""
SAMPLE = 5
"""Repetitions of a dry run where chance decides how many agents speak. Elsewhere one repetition is as long as any other."""
REPLIES = ("speech", "critique")
"""Purposes of what an agent says, or its representative for it."""
NOTES = ("reflection", "importance", "summary")
"""Purposes of what agents write for themselves, beside their reasoning."""
RUNS = Path("runs")
LATEST = 50
"""Run folders that are looked through for a measured rate, the latest first."""
HOUR, MINUTE = 3600, 60


@dataclass(frozen=True)
class RunPlan:
    """Numbers of a run in which every rating is read at the first ask.

    `ratings` and `replies` are those of agents that ask a model. `others` are further calls: candidates and rankings of a
    mediator, questionnaires, corrections; less the replies of a mediator that asks no model. `notes` are what agents write for
    themselves (agents/reasoning.py, and summaries of what they forget). `tokens` by voice are estimates: words * 4/3, with every
    reply as long as agents are asked for. `calls_by_voice` are all calls by the voice that they go to.
    """

    scenario: Scenario
    agents: int
    rooms: int
    replies: int
    ratings: int
    others: int
    notes: int
    tokens: Mapping[str, Usage]
    calls_by_voice: Mapping[str, int]

    @property
    def usage(self) -> Usage:
        return total(self.tokens.values())

    @property
    def calls(self) -> int:
        return self.replies + self.ratings + self.others + self.notes

    @property
    def scripted_calls(self) -> int:
        """The calls among them to scripted partners, which are no model. The speaker of everybody is no partner."""
        own = self.scenario.llm_by_party
        return sum(number for voice, number in self.calls_by_voice.items() if voice and is_scripted(own[voice]))

    @cached_property
    def most_tokens(self) -> Mapping[str, Usage]:
        """The most tokens that there can be, by voice: replies at max_tokens, surveys asked as often as may be."""
        return _dry_run(self.scenario, full=True).tokens


def plan_run(scenario: Scenario) -> RunPlan:
    """Count the calls of a scenario by a dry run.

    One repetition is run and its numbers are multiplied, because rooms of other repetitions are alike. Where chance decides how
    many agents speak, SAMPLE repetitions are. Where an intervention names rooms, all are.
    """
    return _dry_run(scenario, full=False)


def _dry_run(scenario: Scenario, full: bool) -> RunPlan:
    """The plan with replies of the length that agents are asked for, or (`full`) as long as max_tokens allows."""
    repetitions = _repetitions(scenario)
    counts = _Counts(scenario, full)
    shortened = scenario.replace(repetitions=repetitions, archetypes=0, adapters=())
    model = DebateModel(shortened, backend=Fake(counts.answer), recorder=counts, keep_going=True)
    model.run()
    scale = scenario.repetitions / repetitions
    replies = counts.statements + sum(counts.purposes[name] for name in REPLIES)
    thinks = open_ability(scenario.speech.think)
    notes = sum(counts.purposes[name] for name in (*NOTES, *((thinks.name,) if thinks else ())))
    others = sum(counts.purposes.values()) - counts.repeated - notes - replies - counts.ratings
    return RunPlan(
        scenario,
        agents=round(len(model.agents) * scale),
        rooms=round(len(model.rooms) * scale),
        replies=round(replies * scale),
        ratings=round(counts.ratings * scale),
        others=round(others * scale),
        notes=round(notes * scale),
        tokens={voice: counts.usage(voice, scale) for voice in sorted(counts.calls)},
        calls_by_voice={voice: round(number * scale) for voice, number in sorted(counts.calls.items())},
    )


def _repetitions(scenario: Scenario) -> int:
    """How many repetitions a dry run has."""
    if any(one.rooms for one in scenario.interventions):
        return scenario.repetitions
    return min(scenario.repetitions, SAMPLE) if is_stochastic(scenario) else 1


def is_stochastic(scenario: Scenario) -> bool:
    """Whether chance decides how many speak in a round."""
    return bool(getattr(scenario.environment, "varies", False))


class _Counts:
    """Answers the requests of a dry run, records its events and counts both."""

    def __init__(self, scenario: Scenario, full: bool):
        self.full, self.asks = full, scenario.surveys.asks
        longest = int(scenario.style.sampling.max_tokens / TOKENS_PER_WORD)
        self.line = " ".join(["word"] * (max(longest, scenario.speech.words) if full else scenario.speech.words))
        self.purposes, self.calls = Counter[str](), Counter[str]()
        self.words = defaultdict[tuple[str, str], float](float)
        self.statements, self.ratings, self.repeated = 0, 0, 0

    def answer(self, request: Request) -> str:
        """The first answer that is allowed, or a line of the length that is asked for."""
        text = request.answers[0] if request.answers else _ranking(request) or self.line
        self.purposes[request.purpose] += 1
        self.calls[request.voice] += 1
        times = self.asks if self.full and request.purpose == "survey" else 1
        read = sum(message.content.count(" ") + 1 for message in request.messages)
        self.words[request.voice, "prompt"] += times * read
        self.words[request.voice, "reply"] += times * (upper_bound(request) if self.full else text.count(" ") + 1)
        return text

    def write(self, events: Iterable[Event]) -> None:
        """Count a mediator's statements, and the ratings that a model is asked for."""
        for event in events:
            if isinstance(event, Utterance):
                self.statements += event.agent == MEDIATOR
            elif isinstance(event, Rated) and event.asked:
                self.ratings += 1
                self.repeated += event.asked - 1

    def usage(self, voice: str, scale: float) -> Usage:
        """The tokens of a voice."""
        return Usage(*[int(self.words[voice, kind] * scale * TOKENS_PER_WORD) for kind in ("prompt", "reply")])


def estimate_lines(scenario: Scenario, prices: Prices) -> Iterator[str]:
    """The plan for a person."""
    made = plan_run(scenario)
    yield f"{scenario.name}: {heading(scenario)}"
    yield (
        f"  {made.rooms:,} rooms, {made.agents:,} agents; {_subjects(scenario)}, "
        f"repetitions {scenario.repetitions}, rounds {scenario.rounds}"
    )
    yield f"  {attendance.attendance_lines(attendance.planned_attendance(scenario), attendance.cast_name(scenario))}"
    more = f", and {made.others:,} of mediators, checkers and the questionnaire" if made.others > 0 else ""
    about = "about " if is_stochastic(scenario) else ""
    more += f", and {made.notes:,} notes to themselves" if made.notes else ""
    yield (
        f"  {about}{made.calls:,} calls to {scenario.models.llm}: {about}{made.replies:,} replies "
        f"and {made.ratings:,} ratings{more} ({_again(scenario, made)}{_fewer(scenario)})"
    )
    if any(table.weights for table in seat_rooms(scenario.replace(repetitions=1))):
        yield "  the weights of the graph's links are recorded; debates ignore them"
    if unpaid := made.scripted_calls:
        yield f"  {unpaid:,} of these calls go to scripted partners, which are no model and cost nothing"
    for one in scenario.interventions:
        yield f"  before round {one.round}: {intervention_spec(one)}"
    yield from estimate_cost([(made, 1)], [prices])
    yield estimate_time([scenario], made.calls)


def estimate_cost(plans: Sequence[tuple[RunPlan, int]], prices: Sequence[Prices]) -> Iterator[str]:
    """Tokens and money of some plans, each run so many times, at the prices of each; and what of it is not known."""
    used, most, known = dict[str, Usage](), dict[str, Usage](), dict[str, Price | None]()
    for (plan, times), priced in zip(plans, prices, strict=True):
        names = _named(plan.scenario)
        for sums, tokens in ((used, plan.tokens), (most, plan.most_tokens)):
            for voice, usage in tokens.items():
                if not (voice and is_scripted(names[voice])):
                    sums[names[voice]] = total([sums.get(names[voice], NOTHING), *[usage] * times])
        known |= {names[voice]: price for voice, price in priced.items()}
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
        yield from _thoughts(name, sum(plan.calls * times for plan, times in plans), known.get(name))


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


def upper_bound(request: Request) -> float:
    """The most words that a reply may have."""
    return request.sampling.max_tokens / TOKENS_PER_WORD


def _ranking(request: Request) -> str:
    """A ranking of what is listed as A, B, ..., where one is asked for."""
    listed = re.findall(r"(?m)^([A-Z]): ", request.messages[-1].content) if request.purpose == "ranking" else []
    return " > ".join(listed)
