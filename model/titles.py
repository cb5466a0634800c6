"""Titles of groups, seats and scenarios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.society import NO_NAMES, PartyNames, article, party_name
from parley.environments.base import UNDER, Group
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, read_preset

MOST_GROUPS = 4
"""A title names each group up to this number."""
ALONE = "one agent answers the surveys alone"
"""What a reference room is."""
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def heading(scenario: Scenario) -> str:
    """Return the title of the preset, or a title of the people who sit there, if they are not those of the preset.

    A preset of your own keeps its title.
    """
    try:
        unchanged = read_preset(scenario.name).environment_spec == scenario.environment_spec
    except UserError:
        return scenario.title
    if unchanged or not reseated(scenario.name, scenario.groups):
        return scenario.title
    return seated_title(scenario.groups, PartyNames.from_header(header_parties(scenario)), scenario.speech.frame)


def reseated(preset: str, groups: Sequence[Group]) -> bool:
    """Return whether other people sit in these groups than in those of the preset; False for an unknown preset."""
    try:
        preset_groups = read_preset(preset).groups
    except UserError:
        return False
    return [group.seats for group in preset_groups] != [group.seats for group in groups]


def seated_title(groups: Sequence[Group], names: PartyNames, frame: str) -> str:
    """Return a title such as `A CDU, an SPD and a Default in a debate`; of many groups, how many they are and of which parties.

    names: of parties.
    """
    first, event = groups[0], f"{article(frame)} {frame}"
    event = "a network" if first.networked else "private deliberation" if first.mediated else event
    if len(groups) > MOST_GROUPS:
        parties = dict.fromkeys(seat.partition(":")[0] for group in groups for seat in group.seats)
        return f"{len(groups)} groups of {join_phrases([party_name(party, names) for party in parties])} in {event}"
    return f"{'; '.join(group_title(group.name, names) for group in groups)} in {event}"


def header_parties(scenario: Scenario) -> dict[str, dict[str, str]]:
    """Return name, plural and look of its parties, as in the record's header."""
    return scenario.society.header_entries(scenario.parties)


def group_title(group: str, names: PartyNames = NO_NAMES) -> str:
    """`labour+labour+default` -> `Two Labours and a Default`; `green:male` is a male Green.

    The name of a population has counts: `30 labour+30 green` -> `30 Labours and 30 Greens`, and perhaps its condition behind
    `under`, which is put in brackets. names: of parties.
    """
    people, _, condition = group.partition(UNDER)
    parts = []
    for seat, number in seats_in(people).items():
        party, _, variant = seat.partition(":")
        kind = f"{variant} {party_name(party, names)}".strip()
        several = f"{variant} {names.plurals.get(party) or party_name(party, names) + 's'}".strip()
        parts.append(f"{article(kind)} {kind}" if number == 1 else f"{NUMBERS.get(number, str(number))} {several}")
    text = join_phrases(parts)
    return text[0].upper() + text[1:] + (f" ({condition.replace('_', ' ')})" if condition else "")


def seats_in(group: str) -> Counter[str]:
    """Return the number of seats of each kind (PARTY or PARTY:VARIANT) from the name of a group.

    >>> seats_in("30 labour+default")["labour"]
    30
    """
    counts = Counter[str]()
    for seats_text in group.partition(UNDER)[0].split("+"):
        number, _, seat = seats_text.partition(" ")
        many = number.isdecimal() and seat
        counts[seat if many else seats_text] += int(number) if many else 1
    return counts


def seat_title(seat: str, names: PartyNames = NO_NAMES) -> str:
    """Return the label of a seat or a party as a title.

    >>> seat_title("labour male 2"), seat_title("cdu 1")
    ('Labour Male 2', 'CDU 1')
    """
    party, _, rest = seat.partition(" ")
    return f"{party_name(party, names)} {rest.title()}".strip()


def seat_label(row: Mapping[Any, Any], names: PartyNames) -> str:
    """Return the title of an agent's seat, and its node if it sits on a network of the user.

    row: of a table with the keys of agents; names: of parties.

    >>> seat_label({"seat": "gruene 2", "node": "alice"}, PartyNames({"gruene": "Grüne"}))
    'Grüne 2, node alice'
    """
    node, seat = row.get("node"), seat_title(str(row["seat"]), names)
    return f"{seat}, node {node}" if isinstance(node, str) else seat


def size_phrase(rooms: int, agents: int, alone: int) -> str:
    """Return how many rooms debate, with how many agents, and in how many reference rooms one agent alone answers the surveys.

    >>> size_phrase(1, 100, 1), size_phrase(2, 6, 0)
    ('1 room, 100 agents and 1 reference room (one agent answers the surveys alone)', '2 rooms, 6 agents')
    """
    counts = [f"{number:,} {noun}{'s' * (number != 1)}"
              for number, noun in ((rooms, "room"), (agents, "agent"), (alone, "reference room"))]  # fmt: skip
    return f"{counts[0]}, {f'{counts[1]} and {counts[2]} ({ALONE})' if alone else counts[1]}"


def join_phrases(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
