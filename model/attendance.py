"""Counts which personas of a set get a seat in the debates of a scenario, and says why others do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from parley.agents.persona import load_personas, party_of
from parley.agents.society import NO_NAMES, PartyNames, party_name
from parley.model.casting import personas_seated
from parley.model.scenario import Scenario

SHOWN = 6
"""Number of personas without a seat whose names are listed."""
NAMED = "named"
"""In place of a cast, where each seat is for one persona."""
WHY = {
    "circle": "repetitions={most} would use all",
    "copies": "repetitions={most} would use all",
    "fresh": "more repetitions would use them",
    "drawn": "more repetitions would use them",
    "listed": "more repetitions use the next personas of the file; those left over at its end are too few for a room",
    NAMED: "the nodes of the graph name their personas",
    "fixed": "cast=fixed uses the first personas of a party in every room; cast=circle uses all personas in turn",
}
"""Why a persona has no seat, by the cast. `most`: the personas of the largest party in which one has no seat."""


class Attendance(NamedTuple):
    """The names of a party's personas with a seat in some room, and of those without one."""

    party: str
    seated: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.seated) + len(self.absent)


def attendance(seats: Iterable[str], personas: Path, sat: Collection[str]) -> list[Attendance]:
    """Return who sits, by party. Errors: UserError where the set of personas cannot be read.

    seats: PARTY or PARTY:VARIANT, as a scenario has them; a persona in another variant is left out. personas: the
    folder of the set. sat: the ids of the personas with a seat.
    """
    names: dict[str, dict[str, str]] = {}
    for seat in seats:
        people = names.setdefault(party_of(seat), {})
        people |= {persona.id: persona.name for persona in load_personas(seat, personas)}
    split = {
        party: [tuple([name for id_, name in people.items() if (id_ in sat) == seated]) for seated in (True, False)]
        for party, people in names.items()
    }
    return [Attendance(party, seated, absent) for party, (seated, absent) in split.items()]


def planned_attendance(scenario: Scenario) -> list[Attendance]:
    """Return who will sit in the debates of a scenario. Errors: UserError as in `seat_rooms`."""
    seats = dict.fromkeys(seat for group in scenario.groups for seat in group.seats)
    return attendance(seats, scenario.persona_folder, personas_seated(scenario))


def cast_name(scenario: Scenario) -> str:
    """Return the cast of a scenario, or NAMED."""
    return NAMED if all(group.people and all(group.people) for group in scenario.groups) else scenario.people.cast


def attendance_lines(parties: Sequence[Attendance], cast: str, names: PartyNames = NO_NAMES) -> str:
    """Return one line that says how many personas take part, which do not, and why. names: of parties.

    >>> parties = [Attendance("cdu", ("Ann", "Bob"), ()), Attendance("spd", ("Cy",), ("Dora",))]
    >>> attendance_lines(parties, "fixed")[:66]
    '3 of 4 personas take part (CDU 2, SPD 1 of 2); not used: Dora (SPD'
    """
    seated, size = sum(len(attendance.seated) for attendance in parties), sum(attendance.size for attendance in parties)
    called = {attendance.party: party_name(attendance.party, names) for attendance in parties}
    shares = ", ".join(
        f"{called[attendance.party]} {len(attendance.seated)}{f' of {attendance.size}' if attendance.absent else ''}"
        for attendance in parties
    )
    absent = [f"{name} ({called[attendance.party]})" for attendance in parties for name in attendance.absent]
    if not absent:
        return f"all {size:,} personas take part ({shares})"
    more = f" and {len(absent) - SHOWN:,} more" if len(absent) > SHOWN else ""
    why = WHY[cast].format(most=max(attendance.size for attendance in parties if attendance.absent))
    listed = ", ".join(absent[:SHOWN]) + more
    return f"{seated:,} of {size:,} personas take part ({shares}); not used: {listed}; {why}"
