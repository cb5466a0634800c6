"""What is asked outside of the debates of a batch, after its `three` was run.

interviews   each persona of the blocks answers questions, and a judge rates each answer (analysis/alignment)
verdicts     a judge scores every line of `three` (analysis/statement_judge.py)

Each is journaled in its own folder, next to those of the conditions. Without a judge neither is run, and the card says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.persona import Persona, all_personas
from parley.analysis.alignment.persona_validation import Item, Validation, questions, validate_personas
from parley.analysis.card.conditions import GENDERS, Batch, three
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


class InterviewBench(NamedTuple):
    """What interviews need.

    opened: opens the model of a spec. say: prints a line. budgets: of the model and of the judge.
    """

    opened: Callable[[str], Backend]
    bar: Bar
    say: Callable[[str], object] = str
    ledger: Ledger | None = None
    budgets: tuple[Budget, Budget] = (NO_LIMIT, NO_LIMIT)


class BatchInterviews(NamedTuple):
    """One kind of question outside of the debates of a batch, and the `tables` of its `three`."""

    condition: str
    batch: Batch
    tables: Tables

    @property
    def folder(self) -> Path:
        return self.batch.place / self.condition

    def run(self, bench: InterviewBench) -> pd.DataFrame:
        """One row per answer or line, with its block. Errors: BudgetSpent; what was answered is kept.

        A complete result is read back from its file, so that no model is opened for it.
        """
        parts = self.batch.judge, self.batch.scenario.digest()
        path = self.folder / f"held-{digest(*parts).hex()[:16]}.parquet"
        if not path.exists():
            unfinished = path.with_suffix(".part")
            ask = _interviews if self.condition == INTERVIEWS else _verdicts
            ask(self, bench).to_parquet(unfinished)
            unfinished.replace(path)
        return pd.read_parquet(path)


def _interviews(step: BatchInterviews, bench: InterviewBench) -> pd.DataFrame:
    """The columns of `validate_personas`, and: block, own (whether it is the persona of the block, and not the same person
    with its gender stated).
    """
    batch, base = step.batch, step.batch.scenario
    items = [item for each in interview_batch(batch).values() for item in each]
    validation = Validation((base.models.llm,), batch.judge, (base.people.personas,), base.seed)
    answers = validate_personas(validation, step.folder, bench.bar, bench.budgets, items, bench.ledger, bench.opened)
    seats = [
        {"block": f"{batch.number}/{number}", "persona": persona.id, "own": persona.id == place.persona.id}
        for number, place in seated_people(three(batch)["three"])
        for persona in (place.persona, *_by_gender(place.persona, base))
    ]
    return pd.DataFrame(seats).merge(answers.assign(persona=[item.persona.id for item in items]), on="persona")


def _verdicts(step: BatchInterviews, bench: InterviewBench) -> pd.DataFrame:
    """The columns of `judge_run`, and block; rooms are named as in records.py."""
    batch, judging = step.batch, Judging(seed=step.batch.scenario.seed)
    arguments = step.tables, step.folder, batch.judge, judging, bench.bar, bench.budgets[1], bench.ledger, bench.opened
    verdicts = judge_run(*arguments)
    blocks = [f"{batch.number}/{repetition}" for repetition in verdicts["repetition"]]
    return verdicts.assign(block=blocks, room=f"{batch.number}/" + verdicts["room"].astype(str))


def interview_batch(batch: Batch) -> Mapping[str, list[Item]]:
    """By persona id: its questions. If the set has them, the same person as a man and as a woman is asked too.

    Agents are interviewed as they debate: with temperament, confirmation bias, adapter, model and temperature of their own.
    """
    scenario, items = three(batch)["three"], dict[str, list[Item]]()
    adapters, voices = scenario.adapter_by_party, scenario.llm_by_party
    for number, place in seated_people(scenario):
        adapter, voice = (_own(by_seat, place) for by_seat in (adapters, voices))
        how = (scenario.speech.temperature, scenario.speech.reminder, adapters.get(adapter, ""), voice)
        traits = scenario.trait_assignment.of(place, number).backstory
        for persona in (place.persona, *_by_gender(place.persona, scenario)):
            persona = replace(persona, backstory=" ".join(filter(None, [persona.backstory, traits])))
            persona_items = [
                Item(scenario.people.personas, persona, question, *how) for question in questions(scenario.society)
            ]
            items.setdefault(persona.id, persona_items)
    return items


def seated_people(scenario: Scenario) -> Iterator[tuple[int, SeatPlace]]:
    """The seats of each repetition; the same people sit on every topic."""
    for table in seat_rooms(scenario):
        if table.topic == scenario.subject.topic[0]:
            yield from ((table.repetition, place) for place in table.places)


def _by_gender(persona: Persona, scenario: Scenario) -> list[Persona]:
    """The same person as a man and as a woman, if the set of personas has both."""
    party_people = all_personas(persona.party, scenario.persona_folder)
    variants = [
        namesake
        for namesake in party_people
        if namesake.name == persona.name and namesake.gender and namesake.id != persona.id
    ]
    return variants if {variant.gender for variant in variants} == set(GENDERS.values()) else []


def _own(by_seat: Mapping[str, str], place: SeatPlace) -> str:
    return next((name for name in (place.seat, place.persona.party) if name in by_seat), "")


def interview_calls(batch: Batch, kind: str) -> tuple[int, int]:
    """The calls of a kind per batch: to the model, and to the judge (at most: fewer if answers are missing)."""
    if kind == INTERVIEWS:
        calls = sum(map(len, interview_batch(batch).values()))
        return calls, calls
    base = batch.scenario
    turns = base.repetitions * len(base.subject.topic) * len(three(batch)["three"].seats) * base.rounds
    return 0, Judging().calls * turns
