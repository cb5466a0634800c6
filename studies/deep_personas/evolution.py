"""A population of personas evolves toward the answers of people; the null is selection at random.

A candidate is a population: people with a drawn core and a few attributes. In each generation every candidate has a child, in
which one person has one attribute written anew by the model. The fitter half survives; in the null, a random half. Half of the
questions are targets of the selection, and the others are held out. The unit of analysis is the repetition of the evolution.

Source: Persona Policies (PPol, 2026); the departures are in README.md.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.deep_personas import DeepPersona, begin_person, fill_person, write_value
from parley.agents.society import Society
from parley.agents.taxonomy import Taxonomy
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.polls.asking import Poll
from parley.analysis.polls.distances import total_variation
from parley.analysis.statistics.intervals import Floats, nanmean
from parley.llm.driver import Conversation, ask_in_step
from parley.llm.errors import UserError
from parley.llm.seeding import derive, stream
from parley.studies.deep_personas.answers import answer_as

SELECTED, RANDOM = "selected", "random"
LINES = (SELECTED, RANDOM)
FEWEST_QUESTIONS = 4


class Candidate(NamedTuple):
    """A population, with the shares of answers of each person: (people, questions, options), NaN without an option or a reply."""

    people: tuple[DeepPersona, ...]
    shares: Floats


class Evolution(NamedTuple):
    """What a line of one repetition gave. rows: one per generation (0: the beginning). people: the fittest candidate at the end.

    answered: answers of all candidates; lost: how many of these are missing.
    """

    rows: list[dict[str, Any]]
    people: tuple[DeepPersona, ...]
    fitness: float
    answered: int
    lost: int


@dataclass(frozen=True)
class EvolutionStudy:
    """What evolves, and how.

    base: the survey of one group, the model, language, number of replies and seed. size: people of a candidate. depth: their
    attributes. candidates: kept in each generation. coverage: its weight in the fitness (0: fit alone, 1: a diverse fill).
    """

    base: Poll
    society: Society
    taxonomy: Taxonomy
    party: str
    size: int = 6
    depth: int = 3
    candidates: int = 4
    generations: int = 10
    repeats: int = 6
    coverage: float = 0.0

    def __post_init__(self) -> None:
        if len(self.base.table.questions) < FEWEST_QUESTIONS:
            raise UserError(
                f"the survey has {len(self.base.table.questions)} questions, but evolution needs at least "
                f"{FEWEST_QUESTIONS}, because half of the questions are held out: give a longer survey"
            )
        if self.depth >= len(self.taxonomy.leaves):
            raise UserError(f"the taxonomy has {len(self.taxonomy.leaves)} attributes: give a smaller --depth")
        if self.size > len(self.society.names[self.party]):
            raise UserError(
                f"{self.party} has {len(self.society.names[self.party])} first names: give a --size of at most this "
                "number"
            )

    @property
    def targets(self) -> tuple[bool, ...]:
        """Whether each question is a target of the selection: half of them, drawn with the seed."""
        count = len(self.base.table.questions)
        drawn = set(stream(self.base.seed, "targets").sample(range(count), count // 2))
        return tuple(place in drawn for place in range(count))

    @property
    def calls(self) -> int:
        """Most sentences and answers that are asked for."""
        first = self.candidates * self.size * (self.depth + len(self.base.table.questions))
        later = 2 * self.generations * self.candidates * (1 + len(self.base.table.questions))
        return self.repeats * (first + later)

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        numbers = {
            name: getattr(self, name)
            for name in ("party", "size", "depth", "candidates", "generations", "repeats", "coverage")
        }
        return {**self.base.to_dict(), "taxonomy": self.taxonomy.fingerprint, "society": self.society.name, **numbers}

    def run(self, desk: CallDesk) -> dict[tuple[int, str], Evolution]:
        """Return the evolution of each repetition (from 1) and line. Errors: Unreadable, BudgetSpent."""
        keys = [(repeat, line) for repeat in range(1, self.repeats + 1) for line in LINES]
        done = desk.ask([self._evolve(*key) for key in keys], self.base.llm, "evolutions", _why)
        return dict(zip(keys, done, strict=True))

    def _evolve(self, repeat: int, line: str) -> Conversation[Evolution]:
        """Return one line. Both lines of a repetition begin with the same candidates."""
        pool = yield from ask_in_step([self._first_candidate(repeat, number) for number in range(self.candidates)])
        rows = [self._row(pool, repeat, line, 0)]
        answered, lost = _count(pool)
        for generation in range(1, self.generations + 1):
            children = yield from ask_in_step(
                [self._mutate(parent, (repeat, line, generation, number)) for number, parent in enumerate(pool)]
            )
            more = _count(children)
            answered, lost = answered + more[0], lost + more[1]
            both = [*pool, *children]
            keep = self._survivors(both, line, stream(self.base.seed, "survivors", repeat, generation))
            pool = [both[place] for place in keep]
            rows.append(self._row(pool, repeat, line, generation))
        best = max(pool, key=self.fitness)
        return Evolution(rows, best.people, self.fitness(best), answered, lost)

    def _first_candidate(self, repeat: int, number: int) -> Conversation[Candidate]:
        begun = []
        for name in self.society.names[self.party][: self.size]:
            seed = derive(self.base.seed, "first people", repeat, number, name)
            drawn = self.taxonomy.draw_attributes(self.depth, stream(seed, "attributes"))
            person = begin_person(self.party, name, self.society, self.taxonomy, seed)
            begun.append(fill_person(person, drawn, self.base.language, seed))
        people = yield from ask_in_step(begun)
        shares = yield from ask_in_step([self._answers(person) for person in people])
        return Candidate(tuple(people), np.array(shares))

    def _mutate(self, parent: Candidate, key: tuple[object, ...]) -> Conversation[Candidate]:
        """Return a candidate with one attribute of one person written anew; the parent if the model writes no sentence.

        key: names the random stream.
        """
        rng, seed = stream(self.base.seed, "mutation", *key), derive(self.base.seed, "mutation", *key)
        place, gone = rng.randrange(self.size), rng.randrange(self.depth)
        person = parent.people[place]
        known_paths = {value.path for number, value in enumerate(person.values) if number != gone}
        attribute = rng.choice([leaf for leaf in self.taxonomy.leaves if leaf.path not in known_paths])
        left = person._replace(values=tuple(value for number, value in enumerate(person.values) if number != gone))
        value = yield from write_value(left, attribute, self.base.language, seed)
        if not value.sentence:
            return parent
        child = left._replace(values=(*left.values, value))
        answers = yield from self._answers(child)
        shares = parent.shares.copy()
        shares[place] = answers
        return Candidate((*parent.people[:place], child, *parent.people[place + 1 :]), shares)

    def _answers(self, person: DeepPersona) -> Conversation[Floats]:
        """Return the person's shares: (questions, options), NaN for missing answers."""
        questions = self.base.table.questions
        replies = yield from ask_in_step([answer_as(person.text(), *question, self.base) for question in questions])
        shares = np.full((len(questions), max(len(options) for _, options in questions)), np.nan)
        for place, reply in enumerate(replies):
            if reply.shares is not None:
                shares[place, : len(reply.shares)] = reply.shares
        return shares

    def _survivors(self, both: Sequence[Candidate], line: str, rng: random.Random) -> list[int]:
        if line == RANDOM:
            return sorted(rng.sample(range(len(both)), self.candidates))
        order = sorted(range(len(both)), key=lambda place: -self.fitness(both[place]))
        return order[: self.candidates]

    def fitness(self, candidate: Candidate) -> float:
        """Return what selection looks at: the fit to the targets, and the coverage of their options, by their weights.

        It is multiplied by the share of targets that have an answer, so that silence is never an advantage; 0 without answers.
        """
        has_answer = np.asarray(np.isfinite(candidate.shares[:, :, 0]).any(axis=0))
        if not (answered := has_answer[list(self.targets)].mean()):
            return 0.0
        value = (1 - self.coverage) * self.fit(candidate, True) + self.coverage * self.covered(candidate, True)
        return float(answered * value)

    def fit(self, candidate: Candidate, target: bool) -> float:
        """Return 1 minus the mean total variation from people, over the targets or the held-out questions that have an answer."""
        rows = {row.asked: row.shares for row in self.base.table.rows}
        near = []
        for place, question in enumerate(self.base.table.questions):
            question_shares = candidate.shares[:, place, : len(question[1])]
            question_shares = question_shares[np.isfinite(question_shares).all(axis=1)]
            if self.targets[place] == target and len(question_shares):
                near.append(1 - float(total_variation(question_shares.mean(axis=0), np.array(rows[question]))))
        return float(np.mean(near)) if near else math.nan

    def covered(self, candidate: Candidate, target: bool) -> float:
        """Return the share of options that are the likeliest answer of at least one person, over questions with an answer."""
        shares = []
        for place, (_, options) in enumerate(self.base.table.questions):
            question_shares = candidate.shares[:, place, : len(options)]
            question_shares = question_shares[np.isfinite(question_shares).all(axis=1)]
            if self.targets[place] == target and len(question_shares):
                shares.append(len(set(question_shares.argmax(axis=1).tolist())) / len(options))
        return float(np.mean(shares)) if shares else math.nan

    def _row(self, pool: Sequence[Candidate], repeat: int, line: str, generation: int) -> dict[str, Any]:
        """Return the means over the candidates of a generation."""
        row: dict[str, Any] = {"repeat": repeat, "line": line, "generation": generation}
        for name, target in (("targets", True), ("held_out", False)):
            row[name] = float(nanmean(np.array([self.fit(candidate, target) for candidate in pool])))
            row[f"{name}_covered"] = float(nanmean(np.array([self.covered(candidate, target) for candidate in pool])))
        return row


def _count(pool: Sequence[Candidate]) -> tuple[int, int]:
    """Return how many answers there are, and how many are missing."""
    missing = sum(int(np.isnan(candidate.shares[..., 0]).sum()) for candidate in pool)
    return sum(candidate.shares[..., 0].size for candidate in pool), missing


def _why(done: Evolution) -> str | None:
    return "no answers" if done.answered == done.lost else None


def evolution_table(done: dict[tuple[int, str], Evolution]) -> pd.DataFrame:
    """Return a row per repetition, line and generation: fit to targets and to held-out questions, and coverage of both."""
    return pd.DataFrame([row for evolution in done.values() for row in evolution.rows])
