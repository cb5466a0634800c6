"""Reads the links of a graph as columns: edge lists (.csv, .tsv, plain text) and sparse matrices (.npz).

A file of a million nodes and five million links is read into arrays, without an object for each link. `EdgeTable.graph`
makes a networkx graph of it, for debates; `EdgeTable.array` a sparse array, for populations. Errors are
ValueErrors of one line without the name of the file, or UserErrors with it.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from scipy import sparse

from parley.environments.link_attributes import END, SIGN, START, WEIGHT, simple_graph
from parley.environments.sparse_graphs import unweighted
from parley.llm.table_text import LARGE, RATIO, TableText

SOURCE, TARGET = "source", "target"
COLUMNS = (SOURCE, TARGET, WEIGHT, SIGN, START, END)
MOST_NODES = 1_000_000
"""Rows that a matrix may have, unless its file has more bytes."""
WHOLE = (SIGN, START, END)
Floats = NDArray[np.float64]
Where = Callable[[str], str]
"""Says in which row of a file a text is, as in `row 3: `."""


@dataclass(frozen=True)
class EdgeTable:
    """The links of a graph.

    names: of the nodes, in the order of the file. ends: (2, m) the numbers of both nodes of each link, from 0. columns:
    (m,) weight, sign, start or end of each link, NaN where it is missing. nodes: the attributes of nodes that have some.
    """

    names: list[str]
    ends: NDArray[np.int32]
    directed: bool
    columns: Mapping[str, Floats] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def with_nodes(self, nodes: Mapping[str, Mapping[str, Any]]) -> EdgeTable:
        """Return the same links with the attributes of nodes; a node without links is added at the end."""
        names = set(self.names)
        return replace(self, names=[*self.names, *(name for name in nodes if name not in names)], nodes=nodes)

    def __len__(self) -> int:
        return len(self.names)

    def graph(self) -> nx.Graph:
        """Return a networkx graph. Errors: ValueError on an attribute of a link that cannot be."""
        graph = nx.MultiDiGraph() if self.directed else nx.MultiGraph()
        graph.add_nodes_from(self.names)
        links: list[tuple[str, str, dict[str, float]]] = [
            (self.names[source], self.names[other], {}) for source, other in self.ends.T.tolist()
        ]
        for name, values in self.columns.items():
            for (*_, data), value in zip(links, values.tolist(), strict=True):
                if value == value:  # NaN is missing
                    data[name] = int(value) if name in WHOLE and value.is_integer() else value
        graph.add_edges_from(links)
        return simple_graph(graph)

    @property
    def temporal(self) -> bool:
        """Whether some link has a first or a last round."""
        return any(name in self.columns and not np.isnan(self.columns[name]).all() for name in (START, END))

    def array(self) -> sparse.csr_array:
        """Return who hears whom: (n, n), a row for each node; the data are weights, or 1; below 0 for a sign of -1.

        Rounds of links are left out. Errors: ValueError on a link that is listed with two weights or signs, a weight that is not
        above 0, and a sign that is neither 1 nor -1.
        """
        size, (source, other) = len(self.names), self.ends.astype(np.int64)
        codes = (
            source * size + other if self.directed else np.concatenate((source * size + other, other * size + source))
        )
        weights = np.nan_to_num(self.columns[WEIGHT], nan=1.0) if WEIGHT in self.columns else np.ones(len(source))
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise ValueError("the weight of a link must be a number above 0 (sign=-1 marks a hostile link)")
        signs = np.nan_to_num(self.columns[SIGN], nan=1.0) if SIGN in self.columns else np.ones(len(source))
        if not (np.abs(signs) == 1).all():
            raise ValueError("the sign of a link must be 1 or -1")
        weights = weights * signs
        if not {WEIGHT, SIGN} & set(self.columns):
            codes.sort()
            rows, columns = np.divmod(codes[np.diff(codes, prepend=-1) != 0], size)
            return unweighted(_starts(rows, size), columns.astype(np.int32))
        order = np.argsort(codes)
        codes, weights = codes[order], (weights if self.directed else np.tile(weights, 2))[order]
        again = np.diff(codes, prepend=-1) == 0
        if (weights[again] != weights[np.flatnonzero(again) - 1]).any():
            raise ValueError("a link is listed with several weights or signs: keep one")
        rows, columns = np.divmod(codes[~again], size)
        parts = (weights[~again], columns.astype(np.int32), _starts(rows, size))
        return sparse.csr_array(parts, shape=(size, size))


def _starts(rows: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Return (n + 1,) the place of the first link of each row. rows: (m,) of each link, in order."""
    return np.searchsorted(rows, np.arange(size + 1)).astype(np.int32)


def read_lines(content: bytes, directed: bool) -> EdgeTable:
    """Read a plain list: two names a line, then perhaps a weight, parted by spaces or tabs; # begins a comment.

    A first line `source target ...` names other columns.
    """
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"#" in content:
        content = re.sub(rb"#[^\n]*", b"", content)
    if any(mark in content for mark in (b"\t", b"  ", b" \n", b"\n ")) or content[:1] == b" ":
        content = re.sub(rb"^ | $", b"", re.sub(rb"[ \t]+", b" ", content), flags=re.M)
    content = content.lstrip(b"\n")
    first = content[: content.find(b"\n") + 1 or None].decode().split()
    if first[:2] == [SOURCE, TARGET]:
        return _read_plain(content.partition(b"\n")[2], first, directed)
    if not first:
        raise ValueError("it has no links: write two names in each line, such as ann bob")
    if len(first) == 1:
        raise ValueError(f"its first line, {first[0][:40]!r}, is not two names with a space between them")
    if len(first) > 3:
        raise ValueError(
            "a line has more than two names and a weight: write a first line such as `source target weight sign start end`"
        )
    return _read_plain(content, [SOURCE, TARGET, WEIGHT][: len(first)], directed)


def _read_plain(content: bytes, names: list[str], directed: bool) -> EdgeTable:
    if wrong := [name for name in names if name not in COLUMNS]:
        raise ValueError(
            f"unknown column {wrong[0]!r} (Parley reads {', '.join(COLUMNS)}): rename or remove the column"
        )
    if len(set(names)) < len(names):
        raise ValueError("a column is named twice: name each column once")
    try:
        columns = _read_arrow(content, " ", len(names), range(len(names)), quotes=False)
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).splitlines()[0].removeprefix("CSV parse error: ")) from error
    return edges_of(dict(zip(names, columns, strict=True)), directed)


def read_texts(text: TableText, wanted: Sequence[str]) -> pa.Table:
    """Return columns of a table as texts without spaces around them; an empty text is missing.

    Errors: UserError that names the file and the row.
    """
    places = [text.names.index(name) for name in wanted]
    try:
        columns = _read_arrow(text.body, text.mark, len(text.names), places, b'"' in text.body)
    except (
        pa.ArrowInvalid
    ):  # some row has other than one value for each column: find it, or leave out empty ones at its end
        rows = [row for _, row in text.rows()]
        columns = [trimmed(pa.chunked_array([[row[place] for row in rows]], pa.string())) for place in places]
    return pa.table(dict(zip(wanted, columns, strict=True)))


def _read_arrow(content: bytes, mark: str, count: int, places: Sequence[int], quotes: bool) -> list[pa.ChunkedArray]:
    """Return columns of a table of `count` columns, by place."""
    names, wanted = list(map(str, range(count))), list(map(str, places))
    reading = arrow_csv.ReadOptions(use_threads=False, column_names=names)
    parsing = arrow_csv.ParseOptions(delimiter=mark, quote_char='"' if quotes else False, newlines_in_values=quotes)
    texts = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        null_values=[""],
        include_columns=wanted,
    )
    if not content.strip():
        return [pa.chunked_array([[]], pa.string()) for _ in places]
    table = arrow_csv.read_csv(io.BytesIO(content), reading, parsing, texts)
    return [trimmed(table[name]) for name in wanted]


def trimmed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without spaces around them; an empty text is missing."""
    plain = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(plain, ""), pa.scalar(None, pa.string()), plain)


def row_words(text: TableText, name: str, value: str) -> str:
    """Say in which row of a table a value is, as in `row 3: `; "" if no row has it."""
    row = text.row_of(name, value)
    return f"row {row}: " if row else ""


def as_numbers(texts: pa.ChunkedArray, name: str, comma: bool = False, where: Where = lambda text: "") -> Floats:
    """Return texts as numbers, NaN where they are missing. comma: a decimal comma is allowed where no number has a point.

    where: says in which row a text is. Errors: ValueError, with the first text that is no number.
    """
    if comma and not pc.any(pc.match_substring(texts, ".")).as_py():
        texts = pc.replace_substring_regex(texts, r"^([+-]?\d+),(\d+)$", r"\1.\2")
    try:
        return np.asarray(pc.cast(texts, pa.float64()).fill_null(np.nan).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        wrong = next(text for text in texts.to_pylist() if text is not None and not _is_number(text))
        raise ValueError(f"{where(wrong)}the {name} {wrong!r} is not a number") from None


def _is_number(text: str) -> bool:
    try:
        pc.cast(pa.array([text]), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def edges_of(
    columns: Mapping[str, pa.ChunkedArray],
    directed: bool,
    comma: bool = False,
    where: Mapping[str, Where] | None = None,
) -> EdgeTable:
    """Return the links of columns: source, target, and perhaps further COLUMNS. where: by column, as in `as_numbers`.

    Errors: ValueError.
    """
    rows = where or dict.fromkeys(columns, lambda text: "")
    numbers = {
        name: as_numbers(columns[name], name, comma, rows[name]) for name in columns if name not in (SOURCE, TARGET)
    }
    ends = [columns[name].combine_chunks() for name in (SOURCE, TARGET)]
    for name, texts in zip((SOURCE, TARGET), ends, strict=True):
        if texts.null_count:
            raise ValueError(f"{rows[name]('')}a line has no {name}")
    names, codes = _numbered(ends[0], ends[1])
    if len(loops := np.flatnonzero(codes[0] == codes[1])):
        raise ValueError(f"{names[codes[0, loops[0]]]} is linked with itself: remove this link")
    return EdgeTable(names, codes, directed, numbers)


def _numbered(sources: pa.Array, targets: pa.Array) -> tuple[list[str], NDArray[np.int32]]:
    """Return the different names in the order of lines, and (2, m) the number of each end."""
    encoded = pa.concat_arrays([sources, targets]).dictionary_encode()
    codes = np.asarray(encoded.indices).reshape(2, len(sources))
    first = np.zeros(len(encoded.dictionary), dtype=np.int64)
    lines = codes.T.ravel()[::-1]
    first[lines] = np.arange(len(lines))[::-1]  # of equal numbers, the last one assigned counts: the earliest line
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return encoded.dictionary.take(pa.array(order)).to_pylist(), place[codes]


def read_npz(content: bytes) -> EdgeTable:
    """Read a sparse matrix of scipy.sparse.save_npz, in which row i says whom node i hears. Nodes are numbered from 0.

    An entry is the weight of a link; of a negative entry, the sign is -1. Errors: ValueError.
    """
    most = max(LARGE, RATIO * len(content))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if (size := sum(member.file_size for member in archive.infolist())) > most:
                raise ValueError(f"it has {size:,} bytes when unpacked, more than {RATIO} times its size")
        matrix = sparse.load_npz(io.BytesIO(content))
        if max(matrix.shape) > max(MOST_NODES, len(content)):
            raise ValueError(f"it has {max(matrix.shape):,} rows or columns, far more than so small a file can link")
        return table_of_array(matrix)
    except (ValueError, TypeError, OSError, KeyError, zipfile.BadZipFile, zlib.error, EOFError, MemoryError) as error:
        raise ValueError(f"it is not a matrix that scipy.sparse.save_npz wrote: {error}") from error


def table_of_array(array: Any) -> EdgeTable:
    """Return the links of a sparse matrix; see `read_npz`. Errors: ValueError."""
    matrix = sparse.coo_array(array)
    rows, columns = matrix.shape
    if rows != columns:
        raise ValueError(f"its matrix has {rows:,} rows and {columns:,} columns, but both numbers must be equal")
    matrix.sum_duplicates()
    values = matrix.data.astype(np.float64)
    there = values != 0
    ends = np.stack([place[there] for place in matrix.coords]).astype(np.int32)
    if (ends[0] == ends[1]).any():
        raise ValueError("a node is linked with itself: call setdiag(0) on the matrix before you save it")
    weights, attributes = np.abs(values[there]), dict[str, Floats]()
    if not (weights == 1).all():
        attributes[WEIGHT] = weights
    if (values < 0).any():
        attributes[SIGN] = np.sign(values[there])
    return EdgeTable(list(map(str, range(rows))), ends, True, attributes)
