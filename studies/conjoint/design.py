"""The design of a conjoint experiment: attributes with levels, combinations that do not exist, and the question.

Source: Hainmueller, Hopkins and Yamamoto 2014, Political Analysis 22(1).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS
from parley.agents.datafiles import read_toml
from parley.agents.language import Language, language_of_study, load_language
from parley.agents.persona import Persona
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling

Profile = Mapping[str, str]
"""The level of each attribute."""
PURPOSE = "profile_choice"
HOME = Path(__file__).parent
SHIPPED = HOME / "data" / "designs"
KEYS = ("language", "question", "tasks", "attributes", "forbidden")
MOST = 20_000
"""Combinations of linked attributes at most."""


class ProfileFacts(Facts, total=False):
    """What the question states besides: two profiles, in the order shown."""

    profiles: Sequence[Profile]


@dataclass(frozen=True)
class ConjointDesign:
    """The question, the levels of each attribute (the first is the baseline), and the combinations that do not exist.

    forbidden: levels of two or more attributes that no profile has together. tasks: pairs that each respondent compares.
    """

    question: str
    attributes: Mapping[str, tuple[str, ...]]
    forbidden: tuple[Profile, ...]
    tasks: int
    language: Language

    @cached_property
    def components(self) -> tuple[tuple[str, ...], ...]:
        """The attributes in groups: those that forbidden combinations link are in one group, any other one is alone."""
        group = {name: {name} for name in self.attributes}
        for combination in self.forbidden:
            joined = set().union(*(group[name] for name in combination))
            group |= dict.fromkeys(joined, joined)
        return tuple(
            dict.fromkeys(
                tuple(attribute for attribute in self.attributes if attribute in group[name])
                for name in self.attributes
            )
        )

    @cached_property
    def combinations(self) -> Mapping[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """By group of attributes, the combinations of levels that exist."""
        return {names: tuple(self._existing(names)) for names in self.components}

    def draw(self, rng: random.Random) -> dict[str, str]:
        """Return a profile: every combination that exists has the same chance, in each group of attributes."""
        drawn: dict[str, str] = {}
        for names, levels in self.combinations.items():
            drawn |= dict(zip(names, rng.choice(levels), strict=True))
        return {name: drawn[name] for name in self.attributes}

    def compose(self, person: Persona, shown: Sequence[Profile], order: Sequence[str], seed: int) -> Request:
        """Ask a person to choose one of two profiles, A or B. order: of the attributes, in both profiles."""
        texts = ["\n".join(f"- {name}: {profile[name]}" for name in order) for profile in shown]
        text = (
            language_of_study(self.language, HOME)
            .prompt("conjoint")
            .fill(question=self.question, first=texts[0], second=texts[1])
        )
        messages = (Message("system", person.backstory), Message("user", text))
        facts: ProfileFacts = {"question": self.question, "profiles": [dict(profile) for profile in shown]}
        return Request(messages, Sampling(1.0, ANSWER_TOKENS), seed, OPTIONS, PURPOSE, facts=facts)

    def _existing(self, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        for levels in product(*(self.attributes[name] for name in names)):
            profile = dict(zip(names, levels, strict=True))
            if not any(combination.items() <= profile.items() for combination in self.forbidden):
                yield levels


def load_design(name: str) -> ConjointDesign:
    """Read a design: one of Parley by its name (`candidates`), or a .toml file.

    Errors: UserError on a file that is missing or broken, on fewer than two levels, on a level that is named twice, on forbidden
    combinations of unknown levels, and where these leave out a level altogether.
    """
    path = Path(name) if name.endswith(".toml") else SHIPPED / f"{name}.toml"
    if not name.endswith(".toml") and not path.is_file():
        shipped = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.toml")))
        raise UserError(
            f"there is no conjoint design named {name!r}: give one of {shipped}, or the path of a .toml file"
        )
    values = read_toml(path)
    if unknown := sorted(values.keys() - set(KEYS)):
        raise unknown_name(f"key in {path}", unknown[0], KEYS)
    question, tasks = values.get("question"), values.get("tasks", 5)
    if not isinstance(question, str) or not question.strip():
        raise UserError(f'{path} lacks the question: write question = "Which of these two ..."')
    if not isinstance(tasks, int) or isinstance(tasks, bool) or tasks < 1:
        raise UserError(f"{path}: tasks must be a whole number of 1 or more, such as tasks = 5")
    attributes = _attributes(values.get("attributes"), path)
    forbidden = tuple(_combination(table, attributes, path) for table in _tables(values.get("forbidden", []), path))
    design = ConjointDesign(question, attributes, forbidden, tasks, load_language(str(values.get("language", "en"))))
    _check_levels(design, path)
    return design


def _attributes(table: object, path: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict) or not table:
        raise UserError(f'{path} lacks [attributes] with a line for each, such as age = ["36", "52f"]')
    for name, levels in table.items():
        texts = isinstance(levels, list) and all(isinstance(level, str) and level.strip() for level in levels)
        if not texts or len(set(levels)) < max(len(levels), 2):
            raise UserError(
                f'{path}: the attribute {name} needs two or more different levels in quotes, such as ["36", "52"]'
            )
        if name in RESERVED:
            raise UserError(f"{path}: an attribute cannot be called {name}, because a table has a column of that name")
    return {name: tuple(levels) for name, levels in table.items()}


RESERVED = ("respondent", "party", "task", "profile", "chosen", "in_a", "in_b", "reason")
"""Columns of a table of choices that are no attributes."""


def _tables(value: object, path: Path) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise UserError(f"{path}: begin each forbidden combination with [[forbidden]]")
    return value


def _combination(
    combination: Mapping[str, Any], attributes: Mapping[str, tuple[str, ...]], path: Path
) -> dict[str, str]:
    if len(combination) < 2:
        raise UserError(
            f"{path}: a forbidden combination needs two or more attributes. To avoid one level of an attribute, "
            "leave out this level"
        )
    for name, level in combination.items():
        if name not in attributes:
            raise unknown_name(f"attribute in [[forbidden]] of {path}", name, attributes)
        if level not in attributes[name]:
            raise unknown_name(f"level of {name} in [[forbidden]] of {path}", str(level), attributes[name])
    return dict(combination)


def _check_levels(design: ConjointDesign, path: Path) -> None:
    """Errors: UserError where a level is in no combination, or attributes are linked into too many combinations."""
    for names in design.components:
        size = 1
        for name in names:
            size *= len(design.attributes[name])
        if size > MOST:
            raise UserError(f"{path}: forbidden combinations link {len(names)} attributes; link fewer of them")
        for place, name in enumerate(names):
            used = {levels[place] for levels in design.combinations[names]}
            if lost := [level for level in design.attributes[name] if level not in used]:
                raise UserError(f"{path}: the forbidden combinations leave no profile with {name} = {lost[0]}")
