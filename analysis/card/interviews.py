"""What is asked outside of debates of a batch whose `three` was held: its people are interviewed, its lines are judged.

interviews   everybody of the blocks, 21 questions each, and the judge's verdicts on the answers (analysis/alignment)
verdicts     every line of `three` before the judge (analysis/judge)

Both are journaled in a folder of their own beside the conditions. Without a judge neither is held, and the card says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.persona import Persona, all_personas, persona_set
from parley.analysis.alignment.persona_validation import Item, Validation, questions, validate_personas
from parley.analysis.card.conditions import Batch, three
from parley.analysis.statement_judge import Judging, judge_run
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.request import Backend
from parley.llm.seeding import digest
from parley.model.casting import SeatPlace, seat_rooms
from parley.model.scenario import Scenario

INTERVIEWS, VERDICTS = "interviews", "verdicts"
UNJUDGED = "no judge was named (--judge SPEC)"
GENDERS = ("male", "female")


class InterviewBench(NamedTuple):
    """What asks: `opened` opens the model of a spec, `say` tells a person what was held, `budgets` hold the prices of the model
    and of the judge.
    """

    opened: Callable[[str], Backend]
    bar: Bar
    say: Callable[[str], object] = str
    ledger: Ledger | None = None
    budgets: tuple[Budget, Budget] = (NO_LIMIT, NO_LIMIT)


class BatchInterviews(NamedTuple):
    """A kind of question to put outside of the debates of a batch, and `tables` of its `three`."""

    condition: str
    batch: Batch
    tables: Tables

    @property
    def folder(self) -> Path:
        return self.batch.place / self.condition

    def held(self, bench: InterviewBench) -> pd.DataFrame:
        """A row an answer or a line, with its block. Errors: BudgetSpent, what was answered being kept.

        What was held to its end is read back, so that no model is opened for it.
        """
        named = self.batch.judge, self.batch.scenario.digest()
        path = self.folder / f"held-{digest(*named).hex()[:16]}.parquet"
        if not path.exists():
            begun = path.with_suffix(".part")
            {INTERVIEWS: _interviews, VERDICTS: _verdicts}[self.condition](self, bench).to_parquet(begun)
            begun.replace(path)
        return pd.read_parquet(path)


def _interviews(asked: BatchInterviews, bench: InterviewBench) -> pd.DataFrame:
    """The columns of analysis.alignment.persona_validation.validate_personas, and block, own: whether it is the
    block's very person, and not the same
    one with its gender stated.
    """
    people, base = interview_batch(asked.batch), asked.batch.scenario
    items = [item for each in people.values() for item in each]
    validation = Validation((base.models.llm,), asked.batch.judge, (base.people.personas,), base.seed)
    found = validate_personas(validation, asked.folder, bench.bar, bench.budgets, items, bench.ledger, bench.opened)
    named = found.assign(persona=[item.persona.id for item in items])
    sat = [
        {"block": f"{asked.batch.number}/{number}", "persona": one.id, "own": one.id == place.persona.id}
        for number, place in seated_people(three(asked.batch)["three"])
        for one in (place.persona, *_stated(place.persona, base))
    ]
    return pd.DataFrame(sat).merge(named, on="persona")


def _verdicts(asked: BatchInterviews, bench: InterviewBench) -> pd.DataFrame:
    """The columns of analysis.judge.judging.judge_run, and block; rooms are named as in analysis.card.records."""
    judging, judge = Judging(seed=asked.batch.scenario.seed), asked.batch.judge
    budget = bench.budgets[1]
    found = judge_run(asked.tables, asked.folder, judge, judging, bench.bar, budget, bench.ledger, bench.opened)
    number = asked.batch.number
    blocks = [f"{number}/{repetition}" for repetition in found["repetition"]]
    return found.assign(block=blocks, room=f"{number}/" + found["room"].astype(str))


def interview_batch(batch: Batch) -> Mapping[str, list[Item]]:
    """By persona: what everybody of the blocks is asked, and, where the set has them, the same people with a gender stated.

    They are interviewed as they debate: with temperament and confirmation bias, adapter and model of their own, as warm.
    """
    scenario, found = three(batch)["three"], dict[str, list[Item]]()
    adapters, voices = scenario.adapter_by_party, scenario.llm_by_party
    for number, place in seated_people(scenario):
        adapter, voice = (_own(known, place) for known in (adapters, voices))
        for one in (place.persona, *_stated(place.persona, scenario)):
            told = " ".join(filter(None, [one.backstory, scenario.trait_assignment.of(place, number).told]))
            how = (scenario.speech.temperature, scenario.speech.reminder, adapters.get(adapter, ""), voice)
            named = replace(one, backstory=told)
            found.setdefault(
                one.id, [Item(scenario.people.personas, named, question, *how) for question in questions()]
            )
    return found


def seated_people(scenario: Scenario) -> Iterator[tuple[int, SeatPlace]]:
    """Who sits in each repetition: the same people on every topic."""
    for table in seat_rooms(scenario):
        if table.topic == scenario.subject.topics[0]:
            yield from ((table.repetition, place) for place in table.places)


def _stated(persona: Persona, scenario: Scenario) -> list[Persona]:
    """The same person as a man and as a woman, where the set of personas has both."""
    known = all_personas(persona.party, persona_set(scenario.people.personas))
    found = [one for one in known if one.name == persona.name and one.gender and one.id != persona.id]
    return found if {one.gender for one in found} == set(GENDERS) else []


def _own(known: Mapping[str, str], place: SeatPlace) -> str:
    return next((name for name in (place.seat, place.persona.party) if name in known), "")


def interview_calls(batch: Batch, kind: str) -> tuple[int, int]:
    """How many calls a kind takes a batch: to the model, to the judge (at most; fewer where something is not answered)."""
    if kind == INTERVIEWS:
        asked = sum(map(len, interview_batch(batch).values()))
        return asked, asked
    base, each = batch.scenario, Judging().calls
    return 0, each * base.repetitions * len(base.subject.topics) * len(three(batch)["three"].seats) * base.rounds
