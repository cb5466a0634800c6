"""Audiences of a space: which people hear a message, as values of settings about people.

    [audience]
    seats = [["first", "first"], ["first", "second"]]     a list of lists: each is one value of a field that takes a list
    traits = ["openness=very_low", "openness=very_high"]

Every combination is an audience. Only settings that say who the people are can vary: none names a model, a server, code or a
file.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.agents.persona import party_of
from parley.agents.society import DEFAULT
from parley.llm.errors import UserError, unknown_name

from .varied import Value, Varied, choices_of, parse_varied

if TYPE_CHECKING:
    from parley.model.scenario import Scenario

AUDIENCE = (
    "seats", "parties", "size", "default_agent", "personas", "reference", "disclose", "introduce", "roles", "traits",
    "confirmation_bias", "believers", "sides",
)  # fmt: skip
"""Settings that an audience may vary."""
OUTSIDE = ("/", "\\", ".", "~")
"""What the name of a set of personas has if it is a file or folder."""
MOST = 200
"""Audiences of a space at most, because each is checked before anything is asked."""
Audience = tuple[tuple[str, Value], ...]
"""A value for each setting that varies; () in a space without audiences."""


def read_audience(table: Mapping[str, Any], path: Path) -> dict[str, Varied]:
    """Return the values of each setting of `[audience]`. Errors: UserError for other settings, files, and too many audiences."""
    varied = {}
    for key, values in table.items():
        if key not in AUDIENCE:
            raise unknown_name(f"setting of an audience in {path.name}", key, AUDIENCE)
        joined = [_joined(value) for value in values] if isinstance(values, list) else values
        varied[key] = parse_varied(f"{path.name}, audience.{key}", joined)
        if not choices_of(varied[key]):
            raise UserError(f"{path.name}, audience.{key}: a range of an audience needs a step")
    for name in map(str, choices_of(varied.get("personas", ()))):
        if any(mark in name for mark in OUTSIDE):
            raise UserError(
                f"{path.name}, audience.personas: {name} is a file or folder, but must be the name of a set of the "
                "society"
            )
    if len(audiences_of(varied)) > MOST:
        raise UserError(f"{path.name} has more than {MOST} audiences: vary fewer settings")
    return varied


def _joined(value: Any) -> Any:
    """Return a list of names as text, as on a command line: `first,second`."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return value


def audiences_of(varied: Mapping[str, Varied]) -> list[Audience]:
    """Return every combination of values.

    >>> audiences_of({"size": (2, 4)}), audiences_of({})
    ([(('size', 2),), (('size', 4),)], [()])
    """
    rows = itertools.product(*(choices_of(values) for values in varied.values()))
    return [tuple(zip(varied, row, strict=True)) for row in rows]


def people_in(scenario: Scenario) -> int:
    """Return how many people are in the rooms of one repetition and topic, Defaults left out."""
    return sum(party_of(seat) != DEFAULT for group in scenario.groups for seat in group.seats)


def most_of_a_party(scenarios: Sequence[Scenario]) -> int:
    """Return the largest number of people of one party in a room, over scenarios."""
    counts = [
        Counter(party_of(seat) for seat in group.seats if party_of(seat) != DEFAULT)
        for scenario in scenarios
        for group in scenario.groups
    ]
    return max((number for count in counts for number in count.values()), default=1)
