"""One network after a round: attitudes as colours, parties as shapes, the links that were used, and who is who.

The browser draws it (network.vue). It gets the agents once, and of every round only what changed. Mesa's own drawing needs a live
model in the thread of the page, is a picture without names, and takes seconds for 1,000 agents (docs/app.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import solara
from matplotlib import colormaps
from matplotlib.colors import to_hex

from parley.analysis.formatting import seat_label
from parley.analysis.metrics._network import Population, populations
from parley.analysis.network_layout import Floats, layout
from parley.analysis.sent_prompts import persona_texts
from parley.analysis.tables import Tables
from parley.analysis.views._html import Look, Select, element
from parley.analysis.views._session import Shown, rooms

ORDER = 4
TITLE = "Network"
WIDE, HIGH = 1000, 700
SHAPES = {
    "square": "M-6-6H6V6H-6Z", "circle": "M0-7A7 7 0 1 1 0 7A7 7 0 1 1 0-7Z", "triangle": "M0-8L8 6H-8Z",
    "diamond": "M0-9L9 0L0 9L-9 0Z", "triangle, point down": "M-8-6H8L0 8Z",
}  # fmt: skip
SCALE = [to_hex(colormaps["cividis"](place / 20)) for place in range(21)]
"""Attitudes 0 to 10 in steps of a half: lighter is higher, for every kind of colour vision."""


@solara.component_vue("network.vue")
def Drawing(people: str, state: str, size: float, label: str, event_look: Look) -> None:
    """people: JSON of `who`. state: JSON of `state`."""


def shows(tables: Tables) -> bool:
    return not tables.links.empty


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    titles = rooms(tables)
    networks = solara.use_memo(lambda: {titles[one.room.name]: one for one in populations(tables)}, [tables])
    chosen = solara.use_reactive(next(iter(networks)))
    network = networks.get(chosen.value) or next(iter(networks.values()))
    if len(networks) > 1:
        Select("Network", list(networks), chosen)
    people = solara.use_memo(lambda: who(tables, network), [network.room.name, tables.header])
    people_json = solara.use_memo(lambda: json.dumps(people), [people])
    state_json = solara.use_memo(lambda: json.dumps(state(tables, network, shown.round)), [network, shown.round])
    Drawing(people=people_json, state=state_json, size=min(1.6, 22 / max(1, len(people)) ** 0.5),
            label=f"Network of {len(people)} people after round {shown.round}",
            event_look=shown.session.look_at)  # fmt: skip
    Legend(tuple(dict.fromkeys((person["party"], person["shape"]) for person in people)))


@solara.component
def Legend(parties: Sequence[tuple[str, str]]) -> None:
    names = {path: name for name, path in SHAPES.items()}
    shapes = "; ".join(f"{names[path]}: {party.title()}" for party, path in parties)
    boxes = [element("span", css="swatch", style=f"background: {color}") for color in SCALE[::2]]
    label = "Colours from attitude 0, dark, to 10, light"
    scale = element("span", "0 ", *boxes, " 10", role="img", **{"aria-label": label})
    links = "no filling: no rating. Strong lines: links that were used in this round; thin lines: all other links."
    element("p", "Attitude ", scale, f". {shapes}; {links}", css="soft legend")


def who(tables: Tables, network: Population) -> list[dict[str, Any]]:
    """Return name, seat (with the node of a network of the user), party, persona, shape and place of each agent.

    They are in seating order. Places go by the links at the start.
    """
    rows = tables.agents[tables.agents["room"] == network.room.name].to_dict("records")
    paths, texts = list(SHAPES.values()), persona_texts(tables)
    parties = list(dict.fromkeys(row["party"] for row in rows))
    links = network.links(0)
    at = _places(len(network.room.parties), tuple(links.source.tolist()), tuple(links.target.tolist()))
    return [
        {"person": [row["room"], row["agent"]], "name": str(row["name"]), "seat": seat_label(row), "party": str(row["party"])}
        | {"shape": paths[parties.index(row["party"]) % len(paths)],
           "persona": texts.get(row["persona"], row["persona"]),
           "at": [round(float(x) * WIDE, 1), round(float(y) * HIGH, 1)]}
        for row, (x, y) in zip(rows, at, strict=True)
    ]  # fmt: skip


def state(tables: Tables, network: Population, round_: int) -> dict[str, Any]:
    """Return what changes from round to round: links, links that were used, colours, and attitudes by round."""
    links, attitudes = network.links(round_), network.room.attitudes
    place = {agent: number for number, agent in enumerate(network.room.parties.index)}
    rounds = [int(column) for column in attitudes.columns if column <= round_]
    values = attitudes[rounds].to_numpy(dtype=float)
    return {
        "links": np.stack([links.source, links.target], axis=1).tolist(),
        "used": [[place[reader], place[author]] for reader, author in _heard(tables, network.room.name, round_)],
        "fills": [_fill(row[-1]) if len(row) else None for row in values],
        "trajectories": [
            [[at, None if np.isnan(value) else float(value)] for at, value in zip(rounds, row, strict=True)]
            for row in values
        ],
    }


def _heard(tables: Tables, room: str, round_: int) -> list[tuple[int, int]]:
    """Return the agents who heard another in a round, as pairs of reader and author, each once."""
    heard = tables.heard[(tables.heard["room"] == room) & (tables.heard["round"] == round_)]
    authors = tables.utterances[tables.utterances["room"] == room].set_index("iteration")["agent"]
    return list(dict.fromkeys(zip(heard["agent"].tolist(), heard["iteration"].map(authors).tolist(), strict=True)))


def _fill(value: float) -> str | None:
    return None if np.isnan(value) else SCALE[round(2 * min(max(value, 0), 10))]


@lru_cache(maxsize=8)
def _places(people: int, source: tuple[int, ...], target: tuple[int, ...]) -> Floats:
    """Return the layout of a network, computed once however often its view is opened."""
    return layout(people, np.array(source, np.int64), np.array(target, np.int64))
