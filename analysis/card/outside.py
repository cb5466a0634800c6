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

from parley.agents.persona import Persona, everybody, persona_set
from parley.analysis.alignment.bench import Validation, validated
from parley.analysis.alignment.interview import Item, questions
from parley.analysis.card.conditions import Batch, three
from parley.analysis.judge.bench import judged
from parley.analysis.judge.verdicts import Judging
from parley.analysis.load import Tables
from parley.llm.driver import Bar
from parley.llm.limits import NO_LIMIT, Budget, Ledger
from parley.llm.randomness import digest
from parley.llm.request import Backend
from parley.model.endowment import endowments
from parley.model.scenario import Scenario
from parley.model.seating import Place, tables

INTERVIEWS, VERDICTS = "interviews", "verdicts"
UNJUDGED = "no judge was named (--judge SPEC)"
GENDERS = ("male", "female")


class Bench(NamedTuple):
    """What asks: `opened` opens the model of a spec, `say` tells a person what was held, `budgets` hold the prices of the model
    and of the judge.
    """

    opened: Callable[[str], Backend]
    bar: Bar
    say: Callable[[str], object] = str
    ledger: Ledger | None = None
    budgets: tuple[Budget, Budget] = (NO_LIMIT, NO_LIMIT)


class Outside(NamedTuple):
    """A kind of question to put outside of the debates of a batch, and `tables` of its `three`."""

    condition: str
    batch: Batch
    tables: Tables

    @property
    def folder(self) -> Path:
        return self.batch.place / self.condition

    def held(self, bench: Bench) -> pd.DataFrame:
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


def _interviews(asked: Outside, bench: Bench) -> pd.DataFrame:
    """The columns of analysis.alignment.bench.validated, and block, own: whether it is the block's very person, and not the same
    one with its gender stated.
    """
    people, base = interviewed(asked.batch), asked.batch.scenario
    items = [item for each in people.values() for item in each]
    validation = Validation((base.llm,), asked.batch.judge, (base.personas,), base.seed)
    found = validated(validation, asked.folder, bench.bar, bench.budgets, items, bench.ledger, bench.opened)
    named = found.assign(persona=[item.persona.id for item in items])
    sat = [
        {"block": f"{asked.batch.number}/{number}", "persona": one.id, "own": one.id == place.persona.id}
        for number, place in seated(three(asked.batch)["three"])
        for one in (place.persona, *_stated(place.persona, base))
    ]
    return pd.DataFrame(sat).merge(named, on="persona")


def _verdicts(asked: Outside, bench: Bench) -> pd.DataFrame:
    """The columns of analysis.judge.bench.judged, and block; rooms are named as in analysis.card.held."""
    judging, judge = Judging(seed=asked.batch.scenario.seed), asked.batch.judge
    budget = bench.budgets[1]
    found = judged(asked.tables, asked.folder, judge, judging, bench.bar, budget, bench.ledger, bench.opened)
    number = asked.batch.number
    blocks = [f"{number}/{repetition}" for repetition in found["repetition"]]
    return found.assign(block=blocks, room=f"{number}/" + found["room"].astype(str))


def interviewed(batch: Batch) -> Mapping[str, list[Item]]:
    """By persona: what everybody of the blocks is asked, and, where the set has them, the same people with a gender stated.

    They are interviewed as they debate: with temperament and confirmation bias, adapter and model of their own, as warm.
    """
    scenario, found = three(batch)["three"], dict[str, list[Item]]()
    characters, adapters, voices = endowments(scenario), scenario.own_adapters(), scenario.own_llms()
    for number, place in seated(scenario):
        adapter, voice = (_own(known, place) for known in (adapters, voices))
        for one in (place.persona, *_stated(place.persona, scenario)):
            told = " ".join(filter(None, [one.backstory, characters(place, number).told]))
            how = (scenario.temperature, scenario.reminder, adapters.get(adapter, ""), voice)
            named = replace(one, backstory=told)
            found.setdefault(one.id, [Item(scenario.personas, named, question, *how) for question in questions()])
    return found


def seated(scenario: Scenario) -> Iterator[tuple[int, Place]]:
    """Who sits in each repetition: the same people on every topic."""
    for table in tables(scenario):
        if table.topic == scenario.topics[0]:
            yield from ((table.repetition, place) for place in table.places)


def _stated(persona: Persona, scenario: Scenario) -> list[Persona]:
    """The same person as a man and as a woman, where the set of personas has both."""
    known = everybody(persona.party, persona_set(scenario.personas))
    found = [one for one in known if one.name == persona.name and one.gender and one.id != persona.id]
    return found if {one.gender for one in found} == set(GENDERS) else []


def _own(known: Mapping[str, str], place: Place) -> str:
    return next((name for name in (place.seat, place.persona.party) if name in known), "")


def calls(batch: Batch, kind: str) -> tuple[int, int]:
    """How many calls a kind takes a batch: to the model, to the judge (at most; fewer where something is not answered)."""
    if kind == INTERVIEWS:
        asked = sum(map(len, interviewed(batch).values()))
        return asked, asked
    base, each = batch.scenario, Judging().calls
    return 0, each * base.repetitions * len(base.topics) * len(three(batch)["three"].seats()) * base.rounds
