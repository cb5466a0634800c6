"""How a party looks in every figure of a run: colour, marker and dash, each enough to tell it from the others.

Colours of thirteen parties are at least 18 apart (CIE 1976) for every kind of colour vision, with a contrast of 2.8 to white.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from parley.analysis.tables import Tables

DEFAULT = "default"
STYLES: dict[str, dict[str, Any]] = {
    "republican": {"color": "#c1272d", "markers": "s^DP", "linestyle": "-"},
    "democrat": {"color": "#1f5fa8", "markers": "ovhX", "linestyle": "-."},
    DEFAULT: {"color": "#777777", "markers": "dp*8", "linestyle": ":"},
}
OTHERS: tuple[dict[str, Any], ...] = (
    {"color": "#cb7e00", "markers": "><H*", "linestyle": (0, (1, 1))},
    {"color": "#13aab5", "markers": "<H*>", "linestyle": (0, (8, 2, 1, 2, 1, 2))},
    {"color": "#811564", "markers": "H*><", "linestyle": (0, (3, 2))},
    {"color": "#78a35f", "markers": "*><H", "linestyle": (0, (10, 2))},
    {"color": "#0b232c", "markers": "^sPD", "linestyle": (0, (4, 1, 1, 1))},
    {"color": "#c976ea", "markers": "voXh", "linestyle": (0, (6, 1, 3, 1))},
    {"color": "#410591", "markers": "PDs^", "linestyle": (0, (2, 3))},
    {"color": "#431903", "markers": "Xhov", "linestyle": (0, (5, 1, 1, 1, 1, 1, 1, 1))},
    {"color": "#cb25fd", "markers": "p8d*", "linestyle": (0, (12, 2, 2, 2))},
    {"color": "#020aff", "markers": "hXvo", "linestyle": (0, (1, 4))},
)
"""For the parties that have no look of their own, in their order."""
LABELLED = len(STYLES) + len(OTHERS)
"""With more parties than these a colour comes again, with another dash and marker: lines are then named where they end."""


def styles_by_party(parties: Iterable[str], colours: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the look of each party: color, markers (four, for its seats), linestyle.

    parties: all of a run, in order of seating, so that one has the same look in each figure. colours: those that a persona set
    gives. The same list gives the same looks. Beyond ten unknown parties markers and dashes are combined with other colours.
    """
    given, found, place = colours or {}, dict[str, dict[str, Any]](), 0
    for party in dict.fromkeys(map(str, parties)):
        look = STYLES.get(party)
        if look is None:
            lap, number = divmod(place, len(OTHERS))
            dash, marker = (OTHERS[(number + step * lap) % len(OTHERS)] for step in (3, 7))
            look = {"color": OTHERS[number]["color"], "markers": marker["markers"], "linestyle": dash["linestyle"]}
            place += 1
        found[party] = look | ({"color": given[party]} if party in given else {})
    return found


def styles_of_run(*runs: Tables) -> dict[str, dict[str, Any]]:
    """Return the looks of all parties of a run, or of several that are drawn together."""
    parties = [party for tables in runs for party in tables.agents["party"].unique()]
    colours = {
        party: told["colour"] for tables in runs for party, told in tables.header.parties.items() if told["colour"]
    }
    return styles_by_party(parties, colours)
