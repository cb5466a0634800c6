"""GEXF, the format of Gephi: reads and writes graphs whose links may exist in several periods.

networkx reads GEXF up to version 1.2 with periods that have a first and a last round. `read_gexf` also reads version
1.3, and periods with one bound. The names of nodes are their ids; a label is an attribute.
"""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import networkx as nx

from parley.environments.link_attributes import END, SPELLS, START, TIMES, spells_of

VERSION = re.compile(rb'xmlns="https?://(www\.)?gexf\.net/[^"]*"')
DATE = re.compile(r' lastmodifieddate="[^"]*"')
KNOWN = b'xmlns="http://www.gexf.net/1.2draft"'
NODE, EDGE, LABEL = "node", "edge", "label"


def read_gexf(content: bytes) -> nx.Graph:
    """Return the graph of a file. Errors: ValueError, ParseError and those of networkx."""
    root = ElementTree.fromstring(VERSION.sub(KNOWN, content, count=1))
    times = {kind: _take_times(root, kind) for kind in (NODE, EDGE)}
    graph = nx.read_gexf(io.BytesIO(ElementTree.tostring(root)))
    for name, data in graph.nodes(data=True):
        data.pop("viz", None)
        data.update(times[NODE].get(name, {}))
        if data.get(LABEL) == name:
            del data[LABEL]
    for *_, data in graph.edges(data=True):
        data.update(times[EDGE].get(data.pop("id"), {}))
    return graph


def _take_times(root: Element, kind: str) -> dict[str, dict[str, Any]]:
    """Take the periods of nodes or links out of the file; return them by id. A link without an id gets one."""
    found: dict[str, dict[str, Any]] = {}
    for number, element in enumerate(one for one in root.iter() if _tag(one) == kind):
        key = element.get("id") or str(number)
        element.set("id", key)
        if key in found:
            raise ValueError(f"two {kind}s have the id {key!r}: give each a different id")
        found[key] = {name: element.attrib.pop(name) for name in (START, END) if name in element.attrib}
        for part in [part for part in element if _tag(part) == SPELLS]:
            element.remove(part)
            found[key][SPELLS] = [(spell.get(START), spell.get(END)) for spell in part]
    return found


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def write_gexf(graph: nx.Graph) -> str:
    """Return a graph as GEXF, without the date of today. Errors: ValueError on a period that cannot be read."""
    copy = graph.copy()
    for *_, data in copy.edges(data=True):
        if SPELLS in data:
            spells = spells_of(data)
            for name in TIMES:
                data.pop(name, None)
            data[SPELLS] = [tuple(spell) for spell in spells]
    return DATE.sub("", "\n".join(nx.generate_gexf(copy))) + "\n"
