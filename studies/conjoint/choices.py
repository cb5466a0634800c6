"""Choices between pairs of drawn profiles, in both orders; choices of people, read from a file.

Sources: Hainmueller, Hopkins and Yamamoto 2014; Goplerud, Imai and others (JerzakLabs) 2025 on optimal profiles. README.md
lists the departures. The unit of analysis is the respondent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.closed_answers import read_share
from parley.agents.persona import Persona
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.respondents import draw_people
from parley.analysis.table_files import read_table
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import derive, digest, stream

from .design import ConjointDesign, Profile

LEAD = ["respondent", "party", "task", "profile"]
CHOICES = ["chosen", "in_a", "in_b", "reason"]
"""chosen: the probability that the profile is chosen, the mean of both orders. in_a, in_b: the same, shown as A or as B."""


class Comparison(NamedTuple):
    """A pair that a person compares: the probability of choosing A with the first profile as A, and with the second as A.

    None: missing, with the reason.
    """

    first_as_a: float | None
    second_as_a: float | None
    reason: str | None


class Task(NamedTuple):
    """A person, the number of the task, the pair of profiles, and the order of the attributes."""

    person: Persona
    number: int
    pair: tuple[Profile, Profile]
    order: tuple[str, ...]


@dataclass(frozen=True)
class ConjointStudy:
    """The design, the model, the set of personas, and how many of them answer (0: all). asked: who answers instead of these."""

    design: ConjointDesign
    llm: str
    personas: str = "voters"
    respondents: int = 0
    seed: int = 0
    asked: tuple[Persona, ...] = ()

    @cached_property
    def people(self) -> tuple[Persona, ...]:
        """The respondents, drawn with the seed, of each party in turn. Errors: UserError if the set has too few personas."""
        return self.asked or draw_people(self.personas, self.respondents, self.seed, "conjoint", "respondents")

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks of all respondents. The profiles of a respondent do not depend on who else answers."""
        tasks = []
        for person in self.people:
            rng = stream(self.seed, "profiles", person.party, person.id)
            order = tuple(rng.sample(list(self.design.attributes), len(self.design.attributes)))
            for number in range(1, self.design.tasks + 1):
                tasks.append(Task(person, number, (self.design.draw(rng), self.design.draw(rng)), order))
        return tuple(tasks)

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        design, people = self.design, [person.backstory for person in self.people]
        return {
            "llm": identity_spec(self.llm), "question": design.question, "language": design.language.code,
            "attributes": {name: list(levels) for name, levels in design.attributes.items()}, "tasks": design.tasks,
            "forbidden": [dict(combination) for combination in design.forbidden], "people": digest(*people).hex(),
            "seed": self.seed,
        }  # fmt: skip

    def run(self, desk: CallDesk) -> pd.DataFrame:
        """Ask all respondents; return one row per profile: LEAD, the attributes, and CHOICES (NaN: missing, with the reason)."""
        conversations = [self._compare(task) for task in self.tasks]
        comparisons = desk.ask(conversations, self.llm, "choices", lambda comparison: comparison.reason)
        return choice_table(self.design, self.tasks, comparisons)

    def _compare(self, task: Task) -> Conversation[Comparison]:
        shares: list[float | None] = []
        reasons: list[str | None] = []
        for place in (0, 1):
            seed = derive(self.seed, "conjoint", task.person.party, task.person.id, task.number, place)
            pair = (task.pair[place], task.pair[1 - place])
            share, reason = read_share((yield from ask(self.design.compose(task.person, pair, task.order, seed))))
            shares.append(share)
            reasons.append(reason)
        return Comparison(shares[0], shares[1], next(filter(None, reasons), None))


def choice_table(design: ConjointDesign, tasks: Sequence[Task], comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return one row per profile, as `ConjointStudy.run`. A pair counts only if both orders have an answer."""
    rows = []
    for task, (first, second, reason) in zip(tasks, comparisons, strict=True):
        shares: Sequence[tuple[float | None, ...]] = ((None, None, None), (None, None, None))
        if first is not None and second is not None:
            first_share, other = (first + 1 - second) / 2, (second + 1 - first) / 2
            shares = ((first_share, first, 1 - second), (other, second, 1 - first))
        for number, (profile, profile_shares) in enumerate(zip(task.pair, shares, strict=True), 1):
            lead = (f"{task.person.party} {task.person.name}", task.person.party, task.number, number)
            rows.append((*lead, *(profile[name] for name in design.attributes), *profile_shares, reason or ""))
    table = pd.DataFrame(rows, columns=[*LEAD, *design.attributes, *CHOICES])
    return table.astype(dict.fromkeys(CHOICES[:3], "float64"))


KEYS = ["respondent", "task", "profile"]


def read_choices(path: Path, design: ConjointDesign) -> pd.DataFrame:
    """Return one row per profile: respondent, task, profile, the attributes, chosen (NaN: missing, in both rows of the task).

    Errors: UserError on a file that cannot be read or is empty, a missing column, a level that the design does not have, a task
    without two profiles, and a task whose two choices do not add up to 1.
    """
    needed = [*KEYS, *design.attributes, "chosen"]
    table = read_table(path, needed, "studies/conjoint/README.md", filled=KEYS, ends={"chosen": (0.0, 1.0)})
    for name, levels in design.attributes.items():
        if wrong := sorted(set(table[name]) - set(levels)):
            raise unknown_name(f"level of {name} in {path}", wrong[0], levels)
    return _whole_tasks(table[needed], path)


def _whole_tasks(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the table with a choice only where both profiles of the task have one."""
    tasks = table.groupby(["respondent", "task"])
    sizes, kinds = tasks["profile"].transform("size"), tasks["profile"].transform("nunique")
    if len(wrong := table[(sizes != 2) | (kinds != 2)]):
        first = wrong.iloc[0]
        raise UserError(
            f"{path}: task {first['task']} of respondent {first['respondent']} needs two rows, profile 1 and 2"
        )
    both = tasks["chosen"].transform("count") == 2
    if len(wrong := table[both & ((tasks["chosen"].transform("sum") - 1).abs() > 1e-6)]):
        first = wrong.iloc[0]
        raise UserError(
            f"{path}: task {first['task']} of respondent {first['respondent']} needs chosen = 1 in one row and 0 in the other"
        )
    return table.assign(chosen=table["chosen"].where(both)).reset_index(drop=True)
