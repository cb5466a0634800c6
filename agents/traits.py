"""What somebody is given beside its persona: a role, a temperament, a confirmation bias. All of it data, told in
sentences.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from parley.agents.datafiles import HERE, read_toml, require_section
from parley.agents.topic import PROMPTS
from parley.llm.errors import UserError, unknown_name
from parley.llm.prompts import prompt

DRAWN = "drawn"
BIASES = ("none", "weak", "strong")


class Traits(NamedTuple):
    """`role` is ROLE or ROLE+ARGUMENT ("": none), `traits` levels of the Big Five by name, `confirmation_bias` one of
    BIASES.
    """

    role: str = ""
    traits: Mapping[str, str] = {}
    confirmation_bias: str = "none"

    @property
    def told(self) -> str:
        """What joins the backstory: temperament and confirmation bias."""
        bias = self.confirmation_bias
        leaning = "" if bias == "none" else prompt(PROMPTS, f"confirmation_{bias}").text
        return f"{self._temperament()} {leaning}".strip()

    @property
    def part(self) -> str:
        """What follows the opening: the role."""
        return str(_roles()["roles"][self.role.partition("+")[0]]["part"]) if self.role else ""

    @property
    def ask(self) -> str:
        """What follows the words with which an utterance is asked for."""
        if not self.role:
            return ""
        role, _, argument = self.role.partition("+")
        asks = [_roles()["roles"][role]["ask"], *([_roles()["arguments"][argument]["ask"]] if argument else [])]
        return " ".join(asks)

    def _temperament(self) -> str:
        levels, named = _traits()["levels"], _traits()["traits"]
        told = [f"{levels[self.traits[trait]]} {named[trait]}" for trait in named if trait in self.traits]
        if not told:
            return ""
        listed = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]
        return f"By temperament you are {listed}."


PLAIN = Traits()


def role_of(text: str) -> str:
    """A role as it is named in a preset. Errors: UserError on an unknown role or argument."""
    role, plus, argument = text.partition("+")
    if role not in _roles()["roles"]:
        raise unknown_name("role", role, _roles()["roles"])
    if plus and argument not in _roles()["arguments"]:
        raise unknown_name("argument of a role", argument, _roles()["arguments"])
    return text


def bias_of(text: str) -> str:
    """A confirmation bias as it is named in a preset. Errors: UserError on an unknown one."""
    if text not in BIASES:
        raise unknown_name("confirmation bias", text, BIASES)
    return text


def traits_of(text: str, rng: random.Random) -> dict[str, str]:
    """`openness=high+neuroticism=low` as levels by trait; `drawn` draws a level for each of the five, all equally
    likely.

    Errors: UserError on an unknown trait or level.
    """
    levels, named = _traits()["levels"], _traits()["traits"]
    if text == DRAWN:
        return {trait: rng.choice(list(levels)) for trait in named}
    found: dict[str, str] = {}
    for pair in text.split("+"):
        trait, equals, level = pair.partition("=")
        if trait not in named:
            raise unknown_name("trait", trait, [DRAWN, *named])
        if level not in levels:
            raise unknown_name(f"level of {trait}", level, levels)
        if not equals or trait in found:
            raise UserError(f"traits: write TRAIT=LEVEL, joined by +, each trait once, not {text!r}")
        found[trait] = level
    return found


def trait_names() -> list[str]:
    """The five traits."""
    return list(_traits()["traits"])


@cache
def _roles() -> Mapping[str, Any]:
    raw = read_toml(HERE / "roles.toml")
    found = {name: require_section(raw, name, "roles.toml") for name in ("roles", "arguments")}
    for kind, needed in (("roles", {"part", "ask"}), ("arguments", {"ask"})):
        for name, entry in found[kind].items():
            if not isinstance(entry, dict) or set(entry) != needed:
                raise UserError(f"{name} in roles.toml needs {' and '.join(sorted(needed))}, and nothing else")
    return found


@cache
def _traits() -> Mapping[str, Any]:
    raw = read_toml(HERE / "traits.toml")
    return {name: require_section(raw, name, "traits.toml") for name in ("levels", "traits")}
