"""Character of an agent as data: role, temperament, confirmation bias."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from parley.agents.datafiles import require_section
from parley.agents.language import ENGLISH, Language
from parley.llm.errors import UserError, unknown_name

DRAWN = "drawn"
BIASES = ("none", "weak", "strong")


class Traits(NamedTuple):
    """A role (ROLE or ROLE+ARGUMENT; "": none), levels of the Big Five by name, a confirmation bias (one of BIASES), and
    whether the agent starts out believing an item of news (believer, susceptible; "": the prompt does not mention the item).
    """

    role: str = ""
    traits: Mapping[str, str] = {}
    confirmation_bias: str = "none"
    language: Language = ENGLISH
    belief: str = ""

    @property
    def backstory(self) -> str:
        """What is added to the backstory of the persona: temperament and confirmation bias."""
        bias = self.confirmation_bias
        leaning = "" if bias == "none" else self.language.prompt(f"confirmation_{bias}").text
        return f"{self._temperament()} {leaning}".strip()

    @property
    def part(self) -> str:
        """What is added to the opening: the role."""
        return str(_roles(self.language)["roles"][self.role.partition("+")[0]]["part"]) if self.role else ""

    @property
    def ask(self) -> str:
        """What is added to the instruction for an utterance."""
        if not self.role:
            return ""
        role, _, argument = self.role.partition("+")
        role_texts = _roles(self.language)
        asks = [role_texts["roles"][role]["ask"]]
        return " ".join([*asks, role_texts["arguments"][argument]["ask"]] if argument else asks)

    def _temperament(self) -> str:
        levels, named = (_traits(self.language)[name] for name in ("levels", "traits"))
        parts = [f"{levels[self.traits[trait]]} {named[trait]}" for trait in named if trait in self.traits]
        return self.language.fill("temperament", levels=self.language.join(parts)) if parts else ""


PLAIN = Traits()


def role_of(text: str) -> str:
    """Check the role of a preset and return it. Errors: UserError on an unknown role or argument."""
    role, plus, argument = text.partition("+")
    if role not in _roles()["roles"]:
        raise unknown_name("role", role, _roles()["roles"])
    if plus and argument not in _roles()["arguments"]:
        raise unknown_name("argument of a role", argument, _roles()["arguments"])
    return text


def bias_of(text: str) -> str:
    """Check the confirmation bias of a preset and return it. Errors: UserError if it is unknown."""
    if text not in BIASES:
        raise unknown_name("confirmation bias", text, BIASES)
    return text


def traits_of(text: str, rng: random.Random) -> dict[str, str]:
    """Return levels by trait of a text such as `openness=high+neuroticism=low`; `drawn` draws each level with equal
    chances.

    Errors: UserError on an unknown trait or level.
    """
    levels, named = _traits()["levels"], _traits()["traits"]
    if text == DRAWN:
        return {trait: rng.choice(list(levels)) for trait in named}
    chosen: dict[str, str] = {}
    for pair in text.split("+"):
        trait, equals, level = pair.partition("=")
        if trait not in named:
            raise unknown_name("trait", trait, [DRAWN, *named])
        if level not in levels:
            raise unknown_name(f"level of {trait}", level, levels)
        if not equals or trait in chosen:
            raise UserError(f"traits: {text!r} does not have the form TRAIT=LEVEL+TRAIT=LEVEL, or names a trait twice")
        chosen[trait] = level
    return chosen


def trait_names() -> list[str]:
    """Return the names of the five traits."""
    return list(_traits()["traits"])


def level_names() -> list[str]:
    """Return the names of the levels of a trait, from the lowest up."""
    return list(_traits()["levels"])


@cache
def _roles(language: Language = ENGLISH) -> Mapping[str, Any]:
    roles = _sections(language, "roles", "arguments")
    for kind, needed in (("roles", {"part", "ask"}), ("arguments", {"ask"})):
        for name, entry in roles[kind].items():
            if not isinstance(entry, dict) or set(entry) != needed:
                raise UserError(f"{name} in roles.toml must have exactly the keys {' and '.join(sorted(needed))}")
    return roles


@cache
def _traits(language: Language = ENGLISH) -> Mapping[str, Any]:
    return _sections(language, "traits", "levels")


def _sections(language: Language, file: str, other: str) -> Mapping[str, Any]:
    """Return the two tables of FILE.toml: one of the same name, and another."""
    raw = language.data(file)
    return {name: require_section(raw, name, f"{file}.toml") for name in (file, other)}
