"""Reads a graph from a file: GraphML, GEXF, an edge list, an adjacency list or a sparse matrix. Writes GraphML and GEXF.

| ending | what it is |
|---|---|
| .graphml, .gexf | nodes and links with attributes, as Gephi, igraph and networkx write them |
| .csv, .tsv | a link a line, with the columns source, target, and perhaps weight, sign, start, end; or a matrix |
| .parquet | the same columns in a Parquet file |
| .txt, .edgelist, .edges, no ending | a link a line, two names and perhaps a weight, with spaces between them |
| .adjlist | a node a line, then the nodes that it is linked with, with spaces or commas between them |
| .net, .gml | Pajek and GML |
| .npz | a matrix of scipy.sparse.save_npz |

A further .gz or .bz2 means that the file is packed. A table of nodes (.csv or .tsv with a column `node`) may give
attributes to the nodes of any of these. Errors are ValueErrors of one line without the name of the file, or UserErrors with it.

GEXF, the format of Gephi: reads and writes graphs whose links may exist in several periods.

networkx reads GEXF up to version 1.2 with periods that have a first and a last round. `read_gexf` also reads version
1.3, and periods with one bound. The names of nodes are their ids; a label is an attribute.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import networkx as nx

from parley.environments.edge_columns import read_csv, read_parquet
from parley.environments.edge_table import EdgeTable, read_lines, read_npz, read_texts
from parley.environments.link_attributes import END, SPELLS, START, TIMES, simple_graph, spells_of
from parley.llm.table_text import table_text, unpacked, utf8

VERSION = re.compile(rb'xmlns="https?://(www\.)?gexf\.net/[^"]*"')
DATE = re.compile(r' lastmodifieddate="[^"]*"')
GEXF_KNOWN = b'xmlns="http://www.gexf.net/1.2draft"'
GEXF_NODE, EDGE, LABEL = "node", "edge", "label"


def read_gexf(content: bytes) -> nx.Graph:
    """Return the graph of a file. Errors: ValueError, ParseError and those of networkx."""
    root = ElementTree.fromstring(VERSION.sub(GEXF_KNOWN, content, count=1))
    times = {kind: _take_times(root, kind) for kind in (GEXF_NODE, EDGE)}
    graph = nx.read_gexf(io.BytesIO(ElementTree.tostring(root)))
    for name, data in graph.nodes(data=True):
        data.pop("viz", None)
        data.update(times[GEXF_NODE].get(name, {}))
        if data.get(LABEL) == name:
            del data[LABEL]
    for *_, data in graph.edges(data=True):
        data.update(times[EDGE].get(data.pop("id"), {}))
    return graph


def _take_times(root: Element, kind: str) -> dict[str, dict[str, Any]]:
    """Take the periods of nodes or links out of the file; return them by id. A link without an id gets one."""
    times: dict[str, dict[str, Any]] = {}
    for number, element in enumerate(node for node in root.iter() if _tag(node) == kind):
        key = element.get("id") or str(number)
        element.set("id", key)
        if key in times:
            raise ValueError(f"two {kind}s have the id {key!r}: give each a different id")
        times[key] = {name: element.attrib.pop(name) for name in (START, END) if name in element.attrib}
        for child in [child for child in element if _tag(child) == SPELLS]:
            element.remove(child)
            times[key][SPELLS] = [(spell.get(START), spell.get(END)) for spell in child]
    return times


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


PLAIN = ("", ".txt", ".edgelist", ".edges")
TABLES = (".csv", ".tsv", ".parquet", ".npz", *PLAIN)
ENDINGS = (".graphml", ".gexf", ".net", ".gml", ".adjlist", *TABLES)
NODE, ATTITUDE = "node", "attitude"
KNOWN = (NODE, ATTITUDE, "party", "persona", "history")
"""Columns of a table of nodes that Parley uses, also if they begin with a capital."""
AXIS = (0.0, 10.0)
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold."""


def read_graph(
    path: str, directed: bool = False, node_file: str = "", columns: Sequence[str] = (), names: str = ""
) -> nx.Graph:
    """Return the graph of a file: a networkx graph without parallel links, whose nodes are named by texts.

    directed: whether a line `a b` of an edge list or an adjacency list means only that a hears b; the other formats say
    so themselves. columns: of a table of links, THEIRS:OURS. names: the attribute that names the nodes.

    Errors: OSError if a file cannot be read, ValueError or UserError if it holds no such graph.
    """
    content, ending = unpacked(path)
    if ending in TABLES and not _has_dicts(content, ending):
        graph = _table(content, ending, path, directed, columns).graph()
    else:
        graph = simple_graph(_with_attributes(content, ending, path, directed))
    if node_file:
        graph.add_nodes_from(read_nodes(node_file).items())
    if names:
        graph = _renamed(graph, names)
    check_graph(graph)
    graph.graph.clear()  # defaults of the format
    return graph


def read_table(path: str, directed: bool = False, columns: Sequence[str] = ()) -> EdgeTable | None:
    """Return the links of an edge list or a matrix as columns; None for other formats. Errors: as `read_graph`."""
    content, ending = unpacked(path)
    if ending not in TABLES or _has_dicts(content, ending):
        return None
    table = _table(content, ending, path, directed, columns)
    check_texts(table.names)
    return table


def _table(content: bytes, ending: str, file: str, directed: bool, columns: Sequence[str]) -> EdgeTable:
    if columns and ending not in (".csv", ".tsv", ".parquet"):
        raise ValueError("columns=(THEIRS:OURS) only works with tables (.csv, .tsv, .parquet): leave it out")
    if ending == ".parquet":
        return read_parquet(content, file, directed, columns)
    if ending == ".npz":
        return read_npz(content)
    if ending in (".csv", ".tsv"):
        return read_csv(content, file, directed, columns)
    return read_lines(utf8(content, file), directed)


def _renamed(graph: nx.Graph, attribute: str) -> nx.Graph:
    """Return the graph with nodes that are called as an attribute says; a node without it keeps its name. Errors: ValueError."""
    names = {node: str(data.pop(attribute, None) or node) for node, data in graph.nodes(data=True)}
    if list(names) == list(names.values()):
        raise ValueError(f"names={attribute}: no node has the attribute {attribute}")
    _refuse_duplicates(names.values())
    return nx.relabel_nodes(graph, names)


def _has_dicts(content: bytes, ending: str) -> bool:
    """Return whether an edge list has dictionaries of attributes, as networkx.write_edgelist writes them."""
    return ending in PLAIN and content.split(b"\n", 1)[0].rstrip().endswith(b"}")


def _with_attributes(content: bytes, ending: str, file: str, directed: bool) -> nx.Graph:
    """Return the graph of a format that networkx reads."""
    kind = nx.DiGraph if directed else nx.Graph
    if ending == ".graphml":
        _refuse_duplicates(_ids(content))
        return nx.read_graphml(io.BytesIO(content))
    if ending == ".gexf":
        return read_gexf(content)
    if ending == ".adjlist":
        lines = utf8(content, file).decode().splitlines()
        mark = "," if b"," in content else None
        rows = [[name.strip() for name in line.split("#")[0].split(mark)] for line in lines]
        rows = [[name for name in row if name] for row in rows]
        _refuse_duplicates(row[0] for row in rows if row)
        return nx.from_dict_of_lists({row[0]: row[1:] for row in rows if row}, create_using=kind)
    if ending == ".net":
        return _read_pajek(utf8(content, file).decode())
    if ending == ".gml":
        return _read_gml(utf8(content, file).decode())
    if ending in PLAIN:
        return nx.parse_edgelist(utf8(content, file).decode().splitlines(), create_using=kind)
    raise ValueError(f"unknown ending {ending}: use {', '.join(filter(None, ENDINGS))}, also with .gz or .bz2")


def _read_pajek(text: str) -> nx.Graph:
    try:
        return nx.parse_pajek(text.splitlines())
    except (StopIteration, UnboundLocalError) as error:  # networkx looks for lines that are not there
        raise ValueError(
            "it is not a whole Pajek file: it needs *Vertices N, N lines of nodes, and *Arcs or *Edges"
        ) from error


def _read_gml(text: str) -> nx.Graph:
    """Return a graph of GML, whose nodes are called by their labels, or by their ids if some have none."""
    labelled = len(re.findall(r"^\s*label\s", text, re.M)) >= len(re.findall(r"^\s*node\b", text, re.M))
    return nx.relabel_nodes(nx.parse_gml(text, label="label" if labelled else "id"), str)


def _ids(content: bytes) -> Iterable[str]:
    """Yield the id of each node of an XML file."""
    for _, element in ElementTree.iterparse(io.BytesIO(content)):
        if element.tag.rpartition("}")[2] == NODE:
            yield element.get("id", "")


def _refuse_duplicates(names: Iterable[str]) -> None:
    if many := [name for name, number in Counter(names).items() if number > 1]:
        raise ValueError(f"two nodes are called {many[0]!r}: give each node a different name")


def read_nodes(path: str) -> dict[str, dict[str, Any]]:
    """Return the attributes of each node from a table with the column `node`; an empty cell is missing.

    Errors: OSError, ValueError.
    """
    content, ending = unpacked(path)
    if ending not in (".csv", ".tsv"):
        raise ValueError(f"{path} must be a table with the column `node`, so its name must end in .csv or .tsv")
    try:
        rows = _node_rows(content, path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return {
        row[NODE]: {key: number(text) for key, text in row.items() if key != NODE and text is not None} for row in rows
    }


def _node_rows(content: bytes, file: str) -> list[dict[str, Any]]:
    """Return the cells of each line of a table of nodes by column; an empty cell is None. Errors: UserError, ValueError."""
    text = table_text(content, file, (NODE,))
    names = [name.lower() if name.lower() in KNOWN else name for name in text.names]
    if NODE not in names:
        raise ValueError("it has no column node: its first line must name the columns, such as node,party")
    if twice := [name for place, name in enumerate(names) if name and name in names[:place]]:
        raise ValueError(f"a column is named twice: remove one {twice[0]}")
    rows: list[dict[str, Any]] = read_texts(text._replace(names=names), [name for name in names if name]).to_pylist()
    if not all(row[NODE] for row in rows):
        raise ValueError("a line has no value in the column `node`: write the name of the node, or remove the line")
    _refuse_duplicates(row[NODE] for row in rows)
    check_texts(text for row in rows for text in row.values())
    return rows


def number(text: str) -> float | int | str:
    """Return a number if the text is written as one, else the text.

    >>> number("7"), number("-2.5"), number("01067")
    (7, -2.5, '01067')
    """
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def check_graph(graph: nx.Graph) -> None:
    """Errors: ValueError on a graph that cannot be a network of people, or that no graph file can hold."""
    if not len(graph):
        raise ValueError("it has no nodes, but it needs a node for each person")
    if loops := list(nx.selfloop_edges(graph)):
        raise ValueError(f"{loops[0][0]} is linked with itself: remove this link")
    attributes = [data for *_, data in (*graph.nodes(data=True), *graph.edges(data=True))]
    check_texts(graph)
    check_texts(text for data in attributes for pair in data.items() for text in pair)
    _check_attitudes(graph)


def check_texts(values: Iterable[Any]) -> None:
    """Errors: ValueError on a text with a character that no graph file can hold."""
    for text in values:
        if isinstance(text, str) and (match := UNWRITABLE.search(text)):
            raise ValueError(
                f"{text[:40]!r} has the character {match[0]!r}, which graph files cannot contain: remove it"
            )


def _check_attitudes(graph: nx.Graph) -> None:
    """Errors: ValueError if only some nodes have an attitude, or if an attitude is not a number from 0 to 10."""
    attitudes: dict[Any, Any] = {node: data.get(ATTITUDE) for node, data in graph.nodes(data=True)}
    missing = [node for node, value in attitudes.items() if value is None]
    if len(missing) == len(attitudes):
        return
    if missing:
        raise ValueError(f"node {missing[0]} has no attitude; give all nodes the attribute attitude, or none")
    for node, value in attitudes.items():
        if isinstance(value, bool | str) or not AXIS[0] <= value <= AXIS[1]:
            raise ValueError(f"node {node} has the attitude {value!r}: give a number from 0 to 10")


def write_graph(graph: nx.Graph, path: Path) -> None:
    """Write a graph as GEXF if the name ends in .gexf, else as GraphML. The same graph gives the same bytes. Errors: OSError."""
    path.write_text(write_gexf(graph) if path.suffix == ".gexf" else write_graphml(graph), encoding="utf-8")


def write_graphml(graph: nx.Graph) -> str:
    """Return a graph as GraphML, in which texts keep their line ends."""
    writer = nx.GraphMLWriter(prettyprint=True)
    writer.add_graph_element(graph)
    return str(writer).replace("\r", "&#13;")
