"""Where the people of a network are drawn: linked people near each other (Fruchterman and Reingold 1991), by the links alone.

networkx has the same law one person at a time, in twenty times the time for 1,000 people (benchmarks/app.py).

One network after a round: attitudes as colours, parties as shapes, the links through which something was heard; who is who.

Drawn by the browser (network.vue), which has the people once and of every round only what changed. Mesa's own drawing needs
a live model in the thread of the page, is a picture that knows nobody, and takes seconds for 1,000 people (docs/app.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import solara
from matplotlib import colormaps
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from parley.agents.persona import all_personas, persona_set
from parley.analysis.metrics._network import Population, populations
from parley.analysis.tables import Tables
from parley.analysis.views._html import element
from parley.analysis.views._session import Shown, rooms
from parley.llm.errors import UserError
from parley.llm.seeding import stream

Floats = NDArray[np.float32]
ROUNDS, GRAVITY = 60, 0.1


def layout(people: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> Floats:
    """Places in the unit square, a row a person. source, target: places (0 to people - 1) at the ends of each link.

    Linked people attract by d^2/k, all repel by k^2/d; a step is at most the temperature, which falls to nothing. Gravity keeps
    those who are linked to nobody in the picture; the outermost hundredth is drawn at its edge.
    """
    draw = stream(0, "layout")
    at = np.array([[draw.random(), draw.random()] for _ in range(people)], np.float32)
    at = at.reshape(people, 2) - np.float32(0.5)
    near = np.float32(1 / max(people, 1) ** 0.5)
    for left in np.linspace(0.1, 0.005, ROUNDS, dtype=np.float32):
        apart = _squares(at)
        weight = near**2 / np.maximum(apart, 1e-6)
        force = at * weight.sum(1)[:, None] - weight @ at
        along = at[source] - at[target]
        pull = along * (np.linalg.norm(along, axis=1) / near)[:, None]
        for axis in (0, 1):
            force[:, axis] -= np.bincount(source, pull[:, axis], people) - np.bincount(target, pull[:, axis], people)
        force -= GRAVITY * at / near
        length = np.linalg.norm(force, axis=1, keepdims=True)
        at += force / np.maximum(length, 1e-9) * np.minimum(length, left)
    low, high = np.quantile(at, [0.01, 0.99], axis=0) if people else (0, 1)
    return np.asarray(np.clip((at - low) / np.maximum(high - low, 1e-9), 0, 1), np.float32)


def _squares(at: Floats) -> Floats:
    """Squared distances of all pairs."""
    own = (at**2).sum(1)
    return np.asarray(own[:, None] + own[None, :] - 2 * at @ at.T)


ORDER = 4
TITLE = "Network"
WIDE, HIGH = 1000, 700
SHAPES = ("M-6-6H6V6H-6Z", "M0-7A7 7 0 1 1 0 7A7 7 0 1 1 0-7Z", "M0-8L8 6H-8Z", "M0-9L9 0L0 9L-9 0Z", "M-8-6H8L0 8Z")
NAMED = ("square", "circle", "triangle", "diamond", "triangle, point down")
SCALE = [to_hex(colormaps["cividis"](place / 20)) for place in range(21)]
"""Attitudes 0 to 10 in steps of a half: lighter is higher, for every kind of eye."""


@solara.component_vue("network.vue")
def Drawing(people: str, state: str, size: float, label: str) -> None:
    """people: JSON of `who` and where each stands; state: JSON of `state`."""


def shows(tables: Tables) -> bool:
    return not tables.links.empty


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    titles = rooms(tables)
    found = solara.use_memo(lambda: {titles[one.room.name]: one for one in populations(tables)}, [tables])
    chosen = solara.use_reactive(next(iter(found)))
    one = found.get(chosen.value) or next(iter(found.values()))
    if len(found) > 1:
        solara.Select("Network", list(found), chosen)
    people = solara.use_memo(lambda: who(tables, one), [one.room.name, tables.header])
    told = solara.use_memo(lambda: json.dumps(people), [people])
    now = solara.use_memo(lambda: json.dumps(state(tables, one, shown.round)), [one, shown.round])
    Drawing(people=told, state=now, size=min(1.6, 22 / max(1, len(people)) ** 0.5),
            label=f"Network of {len(people)} people after round {shown.round}")  # fmt: skip
    Legend(tuple(dict.fromkeys((person["party"], person["shape"]) for person in people)))


@solara.component
def Legend(parties: Sequence[tuple[str, str]]) -> None:
    told = [f"{NAMED[SHAPES.index(shape)]}: {party.title()}" for party, shape in parties]
    boxes = [element("span", css="swatch", style=f"background: {color}") for color in SCALE[::2]]
    scale = element(
        "span", "0 ", *boxes, " 10", role="img", **{"aria-label": "Colours from attitude 0, dark, to 10, light"}
    )
    rest = "no filling: no rating. Strong lines: heard in this round; thin ones: the other links."
    element("p", "Attitude ", scale, f". {'; '.join(told)}; {rest}", css="soft legend")


def places(one: Population) -> list[list[float]]:
    """Where its people stand, by the links at the start; one that looks like it at every round."""
    links = one.links(0)
    at = layout(len(one.room.parties), links.source, links.target)
    return [[round(float(x) * WIDE, 1), round(float(y) * HIGH, 1)] for x, y in at]


def who(tables: Tables, one: Population) -> list[dict[str, Any]]:
    """Name, seat, party, persona, shape and place of everybody, in seating order."""
    rows = tables.agents[tables.agents["room"] == one.room.name].to_dict("records")
    shapes = {
        party: SHAPES[place % len(SHAPES)] for place, party in enumerate(dict.fromkeys(row["party"] for row in rows))
    }
    texts = personas(tables)
    return [
        {key: str(row[key]) for key in ("name", "seat", "party")}
        | {"shape": shapes[row["party"]], "persona": texts.get(row["persona"], row["persona"]), "at": at}
        for row, at in zip(rows, places(one), strict=True)
    ]


def personas(tables: Tables) -> dict[str, str]:
    """What each persona is told to be, by its name; nothing where its set is not here."""
    scenario = tables.header.scenario
    try:
        folder = persona_set(str(scenario["personas"]))
        known = [one for party in tables.agents["party"].unique() for one in all_personas(party, folder)]
    except UserError:
        return {}
    return {one.id: one.backstory for one in known}


def state(tables: Tables, one: Population, round_: int) -> dict[str, Any]:
    """What changes from round to round: links, those through which something was heard, colours, trajectories."""
    links = one.links(round_)
    place = {agent: number for number, agent in enumerate(one.room.parties.index)}
    attitudes = one.room.attitudes
    seen = attitudes[[column for column in attitudes.columns if column <= round_]]
    values = seen.to_numpy(dtype=float)
    rounds = [int(column) for column in seen.columns]
    return {
        "links": np.stack([links.source, links.target], axis=1).tolist(),
        "used": [[place[reader], place[author]] for reader, author in heard(tables, one.room.name, round_)],
        "fills": [_fill(row[-1]) if len(row) else None for row in values],
        "trajectories": [
            [[at, None if np.isnan(value) else float(value)] for at, value in zip(rounds, row, strict=True)] for row in values
        ],
    }  # fmt: skip


def heard(tables: Tables, room: str, round_: int) -> list[tuple[int, int]]:
    """Who heard whom in a round, each pair once, as agents."""
    mine = tables.heard[(tables.heard["room"] == room) & (tables.heard["round"] == round_)]
    spoken = tables.utterances[tables.utterances["room"] == room].set_index("iteration")["agent"]
    return list(dict.fromkeys(zip(mine["agent"].tolist(), mine["iteration"].map(spoken).tolist(), strict=True)))


def _fill(value: float) -> str | None:
    return None if np.isnan(value) else SCALE[round(2 * min(max(value, 0), 10))]
