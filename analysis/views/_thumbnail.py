"""A small drawing of who sits together in a scenario, who hears whom, and how opinions moved."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from functools import partial

from parley.agents.persona import party_of
from parley.environments.base import Group
from parley.model.scenario import Scenario

WIDE, HIGH = 160, 90
DEFAULT = "default"
GREY, PLAIN = "#85858f", "#b9b9c4"
CLUSTERS = 3
"""Groups that are drawn next to each other."""
CROWD = 26
"""People of a network that are drawn."""
GOLDEN = math.pi * (3 - math.sqrt(5))
Point = tuple[float, float]


def thumbnail(scenario: Scenario, found: Mapping[str, Sequence[float]] | None = None) -> str:
    """Return the drawing as the address of an image, which can run no code. found: by party its mean attitudes by round."""
    parts = _network(scenario) if scenario.groups[0].networked else _tables(scenario)
    wide = WIDE
    if found:
        parts, wide = [*parts, *_moved(scenario, found)], 2 * WIDE
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HIGH}">{"".join(parts)}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _moved(scenario: Scenario, found: Mapping[str, Sequence[float]]) -> list[str]:
    """Draw the mean attitude of each party by round, as a line that ends in a point, to the right of who sits there."""
    left, right, top, bottom = WIDE + 14, 2 * WIDE - 12, 10, HIGH - 10
    frame = f"M{left} {top}V{bottom}H{right}"
    parts = [f'<path d="{frame}" fill="none" stroke="{GREY}" stroke-width="1"/>']
    for party, values in found.items():
        step = (right - left - 8) / max(1, len(values) - 1)
        points = [(left + 4 + step * place, bottom - (bottom - top) * value / 10) for place, value in enumerate(values)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colour = _colour(scenario, scenario.society.seat(party)) if party != DEFAULT else GREY
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="3"/>')
        parts.append(_dot(points[-1], colour, 5))
    return parts


def _tables(scenario: Scenario) -> list[str]:
    """Draw the first groups, each in a circle; with a mediator or a judge in a square."""
    groups = _different(scenario.groups)
    step, parts = WIDE / len(groups), list[str]()
    for place, group in enumerate(groups):
        centre = (step * (place + 0.5), HIGH / 2)
        seats = list(group.seats)
        judge = seats.pop() if getattr(scenario.environment, "silent", 0) else ""
        radius = 28 if len(groups) < 3 else 19
        points = _circle(len(seats), centre, radius)
        middle = scenario.mediated or bool(judge)
        pairs = [(centre, point) for point in points] if middle else _pairs(points)
        parts += [_line(*pair) for pair in pairs]
        parts += [_dot(point, _colour(scenario, seat)) for point, seat in zip(points, seats, strict=True)]
        if middle:
            parts.append(
                f'<rect x="{centre[0] - 7:.1f}" y="{centre[1] - 7:.1f}" width="14" height="14" rx="3" fill="{GREY}"/>'
            )
    return parts


def _network(scenario: Scenario) -> list[str]:
    """Draw some people of each party, those of a party on one side, linked to their neighbours."""
    seats = list(scenario.groups[0].seats)
    parties = list(dict.fromkeys(map(party_of, seats)))
    each, parts, points = CROWD // len(parties), list[str](), list[tuple[Point, str]]()
    for number, party in enumerate(parties):
        centre = WIDE * (number + 0.5) / len(parties)
        for place in range(each):
            reach, turn = 3.2 + 9.4 * math.sqrt(place), GOLDEN * place
            points.append(((centre + reach * math.cos(turn), HIGH / 2 + 0.95 * reach * math.sin(turn)), party))
    for place, (point, _) in enumerate(points):
        near = sorted((other for other, _ in points[place + 1 :]), key=partial(math.dist, point))
        parts += [_line(point, other, 0.8) for other in near[:2]]
    return parts + [_dot(point, _colour(scenario, party), 4) for point, party in points]


def _different(groups: Sequence[Group]) -> list[Group]:
    """Return the first groups that differ in who sits there, whatever their order."""
    return list({tuple(sorted(map(party_of, group.seats))): group for group in reversed(groups)}.values())[::-1][
        :CLUSTERS
    ]


def _circle(number: int, centre: Point, radius: float) -> list[Point]:
    turns = [2 * math.pi * place / number - math.pi / 2 for place in range(number)]
    return [(centre[0] + radius * math.cos(turn), centre[1] + radius * math.sin(turn)) for turn in turns]


def _pairs(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    return [(point, other) for place, point in enumerate(points) for other in points[place + 1 :]]


def _colour(scenario: Scenario, seat: str) -> str:
    party_facts = scenario.society.parties.get(party_of(seat))
    return party_facts.colour if party_facts and party_facts.colour else PLAIN


def _line(start: Point, other: Point, wide: float = 1.5) -> str:
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}" stroke="{GREY}" '
        f'stroke-width="{wide}" stroke-opacity=".6"/>'
    )


def _dot(at: Point, colour: str, radius: float = 8) -> str:
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{colour}" stroke="{GREY}" stroke-width="1"/>'
