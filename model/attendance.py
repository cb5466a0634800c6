"""Who of a set of personas takes a seat in the debates of a scenario, who does not, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from parley.agents.persona import load_personas, party_of, persona_set
from parley.model.casting import personas_seated
from parley.model.scenario import Scenario

SHOWN = 6
"""Names of those without a seat that a line gives."""
NAMED = "named"
"""In place of a cast, where each seat is for one persona."""
WHY = {
    "circle": "repetitions={most} would seat all",
    "copies": "repetitions={most} would seat all",
    "fresh": "more repetitions would seat them",
    "drawn": "more repetitions would seat them",
    "listed": "more repetitions seat the next of the file, but not those who are too few for a room at its end",
    NAMED: "the nodes of the graph name their personas",
    "fixed": "cast=fixed seats the first of a party in every room; cast=circle seats all in turn",
}
"""Why somebody has no seat, by the cast of the scenario. `most`: the personas of the largest party that is not complete."""


class Attendance(NamedTuple):
    """One party: the names of its personas with a seat in some room, and of those with none."""

    party: str
    seated: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.seated) + len(self.absent)


def attendance(seats: Iterable[str], personas: str, sat: Collection[str]) -> list[Attendance]:
    """Return who sits, by party. seats: PARTY or PARTY:VARIANT, as a scenario has them; personas: the set's name or folder;
    sat: the ids of those with a seat. A persona in a variant that no seat names is left out. Errors: UserError where the set
    cannot be read.
    """
    known: dict[str, dict[str, str]] = {}
    for seat in seats:
        people = known.setdefault(party_of(seat), {})
        people |= {one.id: one.name for one in load_personas(seat, persona_set(personas))}
    return [
        Attendance(
            party,
            tuple([name for id_, name in people.items() if id_ in sat]),
            tuple([name for id_, name in people.items() if id_ not in sat]),
        )
        for party, people in known.items()
    ]


def planned_attendance(scenario: Scenario) -> list[Attendance]:
    """Return who will sit in the debates of a scenario. Errors: UserError as of `seat_rooms`."""
    seats = dict.fromkeys(seat for group in scenario.groups for seat in group.seats)
    return attendance(seats, scenario.people.personas, personas_seated(scenario))


def cast_name(scenario: Scenario) -> str:
    """Return the cast of a scenario, or NAMED."""
    return NAMED if all(group.people and all(group.people) for group in scenario.groups) else scenario.people.cast


def attendance_lines(found: Sequence[Attendance], cast: str) -> str:
    """Return one line that says how many sit, who does not, and why.

    >>> attendance_lines([Attendance("cdu", ("Ann", "Bob"), ()), Attendance("spd", ("Cy",), ("Dora",))], "fixed")[:66]
    '3 of 4 personas sit (cdu 2, spd 1 of 2); without a seat: Dora (spd'
    """
    absent = [(name, one.party) for one in found for name in one.absent]
    sit, size = sum(len(one.seated) for one in found), sum(one.size for one in found)
    shares = ", ".join(f"{one.party} {len(one.seated)}{f' of {one.size}' if one.absent else ''}" for one in found)
    if not absent:
        return f"all {size:,} personas sit ({shares})"
    more = f" and {len(absent) - SHOWN:,} more" if len(absent) > SHOWN else ""
    names = ", ".join(f"{name} ({party})" for name, party in absent[:SHOWN]) + more
    why = WHY[cast].format(most=max(one.size for one in found if one.absent))
    return f"{sit:,} of {size:,} personas sit ({shares}); without a seat: {names}; {why}"
