"""Titles made from who is seated: groups, seats and scenarios as a person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from parley.agents.persona import NO_NAMES, article, load_party, party_name, party_of, persona_set
from parley.environments.base import Group
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, read_preset

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def heading(scenario: Scenario) -> str:
    """Return the preset's title while the people of the preset are seated, else one made of those who are.

    A preset of one's own keeps its title.
    """
    groups = scenario.groups
    if not _reseated(scenario):
        return scenario.title
    names = {party: told["name"] for party, told in parties_told(scenario).items() if told["name"]}
    return seated_title(groups, names, scenario.speech.frame)


def _reseated(scenario: Scenario) -> bool:
    """Whether others sit in a scenario than in its preset; False where this version has no such preset."""
    try:
        unchanged = read_preset(scenario.name).environment_spec == scenario.environment_spec
    except UserError:
        return False
    return not unchanged and reseated(scenario.name, scenario.groups)


def reseated(preset: str, groups: Sequence[Group]) -> bool:
    """Whether others sit in these groups than in those of the preset; False where this version has no such preset."""
    try:
        own = read_preset(preset).groups
    except UserError:
        return False
    return [group.seats for group in own] != [group.seats for group in groups]


def seated_title(groups: Sequence[Group], names: Mapping[str, str], frame: str) -> str:
    """Return who sits in the groups, and in what: `A CDU, an SPD and a Default in a debate`. names: of parties."""
    first, how = groups[0], f"{article(frame)} {frame}"
    how = "a network" if first.networked else "private deliberation" if first.mediated else how
    return f"{'; '.join(group_title(group.name, names) for group in groups)} in {how}"


def parties_told(scenario: Scenario) -> dict[str, dict[str, str]]:
    """Return name and colour of the parties whose persona files give them, as they stand in the record's header."""
    folder = persona_set(scenario.people.personas)
    found = {party: load_party(party, folder) for party in scenario.parties}
    return {party: {"name": one.name, "colour": one.colour} for party, one in found.items() if one.name or one.colour}


def group_title(group: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """`republican+republican+default` -> `Two Republicans and a Default`; `democrat:male` is a male Democrat.

    A population is counted in its name: `30 republican+30 democrat` -> `30 Republicans and 30 Democrats`. names: of parties.
    """
    named = [(_kind(seat, names), number) for seat, number in seats_in(group).items()]
    parts = [
        f"{article(kind)} {kind}" if number == 1 else f"{NUMBERS.get(number, str(number))} {kind}s"
        for kind, number in named
    ]
    text = join_phrases(parts)
    return text[0].upper() + text[1:]


def seats_in(group: str) -> Counter[str]:
    """How many seats of each kind, PARTY or PARTY:VARIANT, a group has by its name.

    >>> seats_in("30 republican+default")["republican"]
    30
    """
    counts = Counter[str]()
    for part in group.split("+"):
        number, _, seat = part.partition(" ")
        many = number.isdecimal() and seat
        counts[seat if many else part] += int(number) if many else 1
    return counts


def seat_title(seat: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the label of a seat, or a party, as a person reads it.

    >>> seat_title("democrat male 2"), seat_title("cdu 1")
    ('Democrat Male 2', 'CDU 1')
    """
    party, _, rest = seat.partition(" ")
    return f"{party_name(party, names)} {rest.title()}".strip()


def _kind(seat: str, names: Mapping[str, str]) -> str:
    return f"{seat.partition(':')[2]} {party_name(party_of(seat), names)}".strip()


def join_phrases(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
