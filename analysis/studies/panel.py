"""A panel: the same people answer the same questions in several waves, with and without their earlier answers in the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from parley.agents.persona import Persona, parties, persona_set
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.respondents import respondents
from parley.analysis.studies.questionnaire import Answer, Item, ask_item
from parley.analysis.table_export import write_csv
from parley.llm.backends import identity_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, Conversation
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

FORGETS, REMEMBERS = "no history", "own history"
CONDITIONS = (FORGETS, REMEMBERS)


@dataclass(frozen=True)
class Panel:
    """What is asked, of whom, and how often. people: at most so many of each party (0: all)."""

    items: Sequence[Item]
    personas: str = "voters"
    waves: int = 3
    people: int = 0
    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.waves < 2:
            raise UserError("a panel needs --waves 2 or more")

    def members(self) -> list[Persona]:
        """Return the people: respondents of the set, the same number of each party if `people` says so."""
        folder = persona_set(self.personas)
        members: list[Persona] = []
        for party in parties(folder):
            own = respondents(party, folder)
            members += own[: self.people or len(own)]
        return members


def ask_panel(panel: Panel, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """Return one row per answer: condition, person, party, wave (from 1), question, answer (rating; NaN: missing), reason.

    The folder keeps a journal, panel.json and answers.csv. Errors: UserError on a folder of another panel.
    """
    with lock_folder(folder):
        questions = {item.name: item.text for item in panel.items}
        settings = {"personas": panel.personas, "people": panel.people, "waves": panel.waves}
        sampling = {"temperature": panel.temperature, "seed": panel.seed}
        check_manifest(
            folder / "panel.json", {"llm": identity_spec(spec), **settings, **sampling, "questions": questions}, "panel"
        )
        trials = list(product(CONDITIONS, panel.members()))
        conversations = [_interviews(panel, person, condition == REMEMBERS) for condition, person in trials]
        answers = run_journaled(conversations, spec, folder, bar, "answers", budget, None, _why)
        cells = list(product(range(1, panel.waves + 1), (item.name for item in panel.items)))
        rows = [
            (condition, person.id, person.party, wave, question, answer.rating, answer.reason)
            for (condition, person), given in zip(trials, answers, strict=True)
            for (wave, question), answer in zip(cells, given, strict=True)
        ]
        table = pd.DataFrame(rows, columns=["condition", "person", "party", "wave", "question", "answer", "reason"])
        table = table.astype({"answer": "float64"})
        write_csv(table, folder / "answers.csv")
    return table


def _why(answers: list[Answer]) -> str | None:
    """Return why nothing of a person could be read, or None."""
    return answers[0].reason if all(answer.reason for answer in answers) else None


def _interviews(panel: Panel, person: Persona, remembers: bool) -> Conversation[list[Answer]]:
    """Ask a person all questions in every wave; return the answers in this order.

    A person who remembers reads its answers of all earlier waves. The first wave is the same in both: it is asked once.
    """
    answers: list[Answer] = []
    history: list[str] = []
    last: dict[str, float] = {}
    for wave in range(1, panel.waves + 1):
        given = []
        for item in panel.items:
            seed = derive(panel.seed, "panel", person.party, person.id, wave, item.name)
            before, state = ("\n".join(history), last.get(item.name)) if remembers else ("", None)
            given.append((yield from ask_item(item, seed, panel.temperature, person.backstory, before, state)))
        for item, answer in zip(panel.items, given, strict=True):
            if answer.rating is not None:
                history.append(earlier_answer_line(item, answer.rating, wave))
                scale = item.probe.scale
                last[item.name] = (answer.rating - scale.low) / (scale.high - scale.low)
        answers += given
    return answers


def earlier_answer_line(item: Item, rating: float, wave: int) -> str:
    """Return the line that reminds a person of an earlier answer."""
    language, scale = item.probe.language, item.probe.scale
    anchors = scale.name_points(scale.points, *map(language.words, ("means", "and")))
    question = item.probe.question
    return language.fill("earlier_answer", number=wave, question=question, answer=f"{rating:g}", anchors=anchors)
