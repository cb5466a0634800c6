"""A network, or people at their tables, after a round: attitudes as colours, parties as shapes, and who heard whom.

The browser draws it (network.vue). It gets the agents and all rounds once, and then follows the clock of the page. Mesa's own
drawing needs a live model in the thread of the page, is a picture without names, and takes seconds for 1,000 agents.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import solara
from matplotlib import colormaps
from matplotlib.colors import to_hex

from parley.analysis.metrics._network import Population, drawn_populations
from parley.analysis.network_field import CAPTION, DRAWN, field_figure
from parley.analysis.network_plot import Floats, layout
from parley.analysis.sent_prompts import persona_texts
from parley.analysis.tables import Tables
from parley.analysis.views._chart import rounded
from parley.analysis.views._html import Look, Select, element, painted, picture
from parley.analysis.views._layouts import kept_layout
from parley.analysis.views._replay import moment
from parley.analysis.views._seating import LINKED, around_tables, seating_now, seatings
from parley.analysis.views._session import Shown, rooms
from parley.model.titles import seat_label, seat_title

ORDER = 4
TITLE = "Network"
PANE = "right"
WIDE, HIGH = 1000, 700
NOW = "as in the round shown"
SHAPES = {
    "square": "M-6-6H6V6H-6Z", "circle": "M0-7A7 7 0 1 1 0 7A7 7 0 1 1 0-7Z", "triangle": "M0-8L8 6H-8Z",
    "diamond": "M0-9L9 0L0 9L-9 0Z", "triangle, point down": "M-8-6H8L0 8Z",
}  # fmt: skip
SCALE = [to_hex(colormaps["cividis"](place / 20)) for place in range(21)]
"""Attitudes 0 to 10 in steps of a half: lighter is higher, for every kind of colour vision."""


@solara.component_vue("network.vue")
def Drawing(people: str, rounds: str, upto: int, scale: list[str], size: float, label: str, event_look: Look) -> None:
    """people: JSON of `who`. rounds: JSON of `history`. upto: the round where there is no clock. scale: colours of 0 to 10."""


def shows(tables: Tables) -> bool:
    return not tables.links.empty or not tables.places.empty


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    titles = rooms(tables)
    networks = solara.use_memo(
        lambda: {titles[population.room.name]: population for population in drawn_populations(tables)}, [tables]
    )
    chosen = solara.use_reactive(next(iter(networks)))
    network = networks.get(chosen.value) or next(iter(networks.values()))
    if len(networks) > 1:
        Select("Network", list(networks), chosen)
    if len(network.room.parties) > DRAWN:
        ManyPeople(tables, network)
        return
    Points(shown, network)


@solara.component
def ManyPeople(tables: Tables, network: Population) -> None:
    """A network that has too many agents for points and lines: the figure of the report."""
    people = len(network.room.parties)
    words = f"This network has {people:,} agents. Networks of more than {DRAWN:,} are not drawn as points and lines."
    element("p", words, css="soft")
    title = rooms(tables)[network.room.name]
    svg = solara.use_memo(lambda: painted(lambda: field_figure([network], [""], title, "", " (0 to 10)")), [network])
    picture(svg, CAPTION)


@solara.component
def Points(shown: Shown, network: Population) -> None:
    """A network that the browser draws."""
    tables = shown.tables
    by_title = solara.use_memo(lambda: seatings(tables, network.room.name), [network])
    seats = solara.use_reactive(NOW)
    title = seats.value if seats.value in by_title else seating_now(by_title, shown.round) if by_title else ""
    if len(by_title) > 1:
        Select("Seats", [NOW, *by_title], seats)
    people = solara.use_memo(
        lambda: who(tables, network, by_title.get(title)), [network.room.name, tables.header, title]
    )
    people_json = solara.use_memo(lambda: json.dumps(people), [people])
    rounds = solara.use_memo(lambda: json.dumps(history(tables, network), separators=(",", ":")), [network])
    Drawing(people=people_json, rounds=rounds, upto=shown.round, scale=SCALE, size=min(1.6, 22 / max(1, len(people)) ** 0.5),
            label=f"Network of {len(people)} people", event_look=shown.session.look_at)  # fmt: skip
    Legend(tuple(dict.fromkeys((seat_title(person["party"], tables.names), person["shape"]) for person in people)))


@solara.component
def Legend(parties: Sequence[tuple[str, str]]) -> None:
    names = {path: name for name, path in SHAPES.items()}
    shapes = "; ".join(f"{names[path]}: {party}" for party, path in parties)
    boxes = [element("span", css="swatch", style=f"background: {color}") for color in SCALE[::2]]
    label = "Colours from attitude 0, dark, to 10, light"
    scale = element("span", "0 ", *boxes, " 10", role="img", **{"aria-label": label})
    links = (
        "no filling: no rating. Strong lines are links that were used in this round; thin lines are all other "
        "links. In a replay, "
    )
    links += "heavy lines are those of the latest turn."
    element("p", "Attitude ", scale, f". {shapes}; {links}", css="soft legend")


def who(tables: Tables, network: Population, seats: pd.DataFrame | None = None) -> list[dict[str, Any]]:
    """Return name, seat (with the node of a network of the user), party, persona, shape and place of each agent.

    They are in seating order. Places go by the links at the start, or by the tables of a place. seats: who sits there.
    """
    seated = tables.agents["agent"].isin(network.room.parties.index)  # without a mediator
    rows = tables.agents[seated & (tables.agents["room"] == network.room.name)].to_dict("records")
    paths, texts = list(SHAPES.values()), persona_texts(tables)
    parties = list(dict.fromkeys(row["party"] for row in rows))
    links = network.links(0 if seats is None else int(seats["round"].iloc[0]))
    if seats is None or seats["place"].iloc[0] in LINKED:
        at = _places(len(network.room.parties), tuple(links.source.tolist()), tuple(links.target.tolist()))
    else:
        at = around_tables(seats, network.room.parties.index.tolist())
    return [
        {"person": [row["room"], row["agent"]], "name": str(row["name"]), "party": str(row["party"])}
        | {"seat": seat_label(row, tables.names)}
        | {"shape": paths[parties.index(row["party"]) % len(paths)],
           "persona": texts.get(row["persona"], row["persona"]),
           "at": [round(float(x) * WIDE, 1), round(float(y) * HIGH, 1)]}
        for row, (x, y) in zip(rows, at, strict=True)
    ]  # fmt: skip


def history(tables: Tables, network: Population) -> dict[str, Any]:
    """Return what changes in a run: the links, the links that were used, and the attitudes.

    links: by round, the pairs of places (one hears the other); None where they are those of the round before. used: by round, the
    place of the reader, the place of the author and the moment of the turn. surveys: their rounds. attitudes: by agent its values
    at the surveys; None where one is missing.
    """
    attitudes = network.room.attitudes
    changed = {0, *network.changes["round"]}
    links = [
        np.stack(network.links(round_), axis=1).tolist() if round_ in changed else None
        for round_ in range(network.last + 1)
    ]
    return {
        "links": links,
        "used": used_links(tables, network),
        "surveys": [int(round_) for round_ in attitudes.columns],
        "attitudes": [[rounded(value) for value in row] for row in attitudes.to_numpy(dtype=float)],
    }


def used_links(tables: Tables, network: Population) -> list[list[list[float]]]:
    """Return by round the links through which a line was heard, each once: reader, author and moment, in the order of turns."""
    heard, turns = (frame[frame["room"] == network.room.name] for frame in (tables.heard, tables.utterances))
    place = {agent: number for number, agent in enumerate(network.room.parties.index)}
    spoken = turns.groupby("round")["iteration"]
    when = pd.Series(moment(turns["round"], spoken.cumcount() + 1, spoken.transform("size"))).round(4)
    said = pd.DataFrame({"iteration": turns["iteration"], "author": turns["agent"].map(place), "at": when})
    said = said.dropna(subset="author").astype({"author": "int64"})  # a mediator is not drawn
    links = (
        heard.assign(reader=heard["agent"].map(place))
        .merge(said, on="iteration")
        .sort_values("iteration", kind="stable")
    )
    links = links.drop_duplicates(["round", "reader", "author"])
    links["at"] = links["at"].where(
        links["at"] > links["round"] - 1, links["round"]
    )  # an older post is shown at the end
    rounds: list[list[list[float]]] = [[] for _ in range(network.last + 1)]
    columns = (links.sort_values("at", kind="stable")[name].tolist() for name in ("round", "reader", "author", "at"))
    for round_, *link in zip(*columns, strict=True):
        rounds[round_].append(link)
    return rounds


@lru_cache(maxsize=8)
def _places(people: int, source: tuple[int, ...], target: tuple[int, ...]) -> Floats:
    """Return the layout of a network, computed once however often its view is opened."""
    ends = np.array(source, np.int64), np.array(target, np.int64)
    return kept_layout(people, *ends, lambda: layout(people, *ends))
