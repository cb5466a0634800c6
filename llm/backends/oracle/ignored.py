"""A planted fault: the speaker ignores something that it was given, so that a check of controls has something to find.

`--llm oracle,ignores=party` begins at the bias of the topic, whatever the persona says. `ignores=belief+confirmation_bias`
ignores that it starts as a believer, and how far away a line may be. `ignores=traits` matters only with by_trait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import unknown_name
from parley.llm.purposes import Facts

PARTY = "party"
IGNORABLE = (PARTY, "belief", "confirmation_bias", "traits")


def plant_ignored(ignores: str = "") -> tuple[str, ...]:
    """Return the names of what is ignored. Errors: UserError on an unknown name.

    >>> plant_ignored("party+belief")
    ('party', 'belief')
    """
    names = tuple([name for name in ignores.split("+") if name])
    for name in names:
        if name not in IGNORABLE:
            raise unknown_name("thing that oracle,ignores can name", name, IGNORABLE)
    return names


def without(reading: Reading, ignored: Iterable[str]) -> Reading:
    """Return the reading without what is ignored."""
    names = set(ignored)
    facts = cast(Facts, {name: value for name, value in reading.facts.items() if name not in names})
    request = replace(reading.request, facts=facts)
    return replace(reading, request=request, persona="" if PARTY in names else reading.persona)
