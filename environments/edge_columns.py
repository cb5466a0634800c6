"""Reads links from a table (.csv, .tsv, .parquet): a link a row, or a matrix whose first row and column name the nodes.

What a column is, is seen by its name, as Gephi, igraph and R write edge lists, or said by `columns`: (THEIRS:OURS, ...). A file
without a header names its columns by place: (1:source,2:target). Errors are ValueErrors of one line without the name of the
file, or UserErrors with it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parley.environments.edge_table import (
    COLUMNS,
    SOURCE,
    TARGET,
    EdgeTable,
    Where,
    as_numbers,
    edges_of,
    read_texts,
    row_words,
    table_of_array,
    trimmed,
)
from parley.environments.link_attributes import SIGN, WEIGHT
from parley.llm.registry import unknown_name
from parley.llm.table_text import LARGE, RATIO, TableText, table_text, utf8

TYPE, RATING = "type", "rating"
OURS = (*COLUMNS, RATING, TYPE)
SAME = {"from": SOURCE, "to": TARGET}
"""What other programs call the two ends of a link."""
LEFT_OUT = ("", "id", "label", "timeset", "interval")
"""Columns of Gephi, and a column of row numbers without a name, that say nothing of links."""


def read_csv(content: bytes, file: str, directed: bool, columns: Sequence[str] = ()) -> EdgeTable:
    """Return the links of a table. columns: THEIRS:OURS of the columns to read. Errors: UserError, ValueError."""
    text = table_text(content, file, (SOURCE, TARGET, *SAME))
    if columns:
        text, names = _given(text, content, columns)
    elif _is_matrix(text):
        return _read_matrix(text)
    else:
        names = _recognised(text)
    _refuse_twice(names)
    where = {ours: partial(row_words, text, theirs) for theirs, ours in names.items()}
    return _links_of(read_texts(text, list(names)), names, directed, text.mark == ";", where)


def read_parquet(content: bytes, file: str, directed: bool, columns: Sequence[str] = ()) -> EdgeTable:
    """Return the links of a Parquet file, a link a row; columns as in `read_csv`, by name. Errors: UserError, ValueError."""
    most = max(LARGE, RATIO * len(content))
    try:
        parquet = pq.ParquetFile(io.BytesIO(content))
        groups = [parquet.metadata.row_group(number) for number in range(parquet.num_row_groups)]
        if max(parquet.metadata.num_rows, sum(group.total_byte_size for group in groups)) > most:
            raise ValueError(f"it has more than {most:,} bytes or rows when unpacked, {RATIO} times its size")
        text = TableText(file, parquet.schema_arrow.names, ",", b"", 1)
        names = _given(text, b"", columns)[1] if columns else _recognised(text)
        _refuse_twice(names)
        table = parquet.read(list(names))
        texts = pa.table({theirs: trimmed(table[theirs].cast(pa.string())) for theirs in names})
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"its columns cannot be read as a Parquet file: {str(error).splitlines()[0]}") from error
    return _links_of(texts, names, directed)


def _refuse_twice(names: Mapping[str, str]) -> None:
    """Errors: ValueError if two columns are the same of a link. names: what each column is."""
    if twice := [ours for ours in names.values() if list(names.values()).count(ours) > 1]:
        raise ValueError(
            f"two columns are called {twice[0]}: remove one, or choose one with columns=(THEIRS:{twice[0]})"
        )


def _links_of(
    texts: pa.Table,
    names: Mapping[str, str],
    directed: bool,
    comma: bool = False,
    where: Mapping[str, Where] | None = None,
) -> EdgeTable:
    """Return the links of columns of texts. names: what each column is. comma, where: as in `edges_of`."""
    links = {ours: texts[theirs] for theirs, ours in names.items()}
    if TYPE in links:
        directed = _is_directed(links.pop(TYPE))
    table = edges_of(links, directed, comma, where)
    return _with_signs(table) if RATING in table.columns else table


def _recognised(text: TableText) -> dict[str, str]:
    """Return what each column is, by its name. Errors: ValueError for a column that is nothing of a link."""
    names = {name: SAME.get(name.lower(), name.lower()) for name in text.names if name.lower() not in LEFT_OUT}
    if len(names) < len([name for name in text.names if name.lower() not in LEFT_OUT]):
        raise ValueError("a column is named twice: name each column once")
    if not {SOURCE, TARGET} <= set(names.values()):
        raise ValueError(
            "its first line must name the columns, such as source,target,weight. For other names, add "
            "columns=(THEIRS:source,THEIRS:target); for a file without a header, add columns=(1:source,2:target)"
        )
    if wrong := [name for name, ours in names.items() if ours not in (*COLUMNS, TYPE)]:
        raise ValueError(
            f"unknown column {wrong[0]!r}. Parley reads the columns {', '.join(COLUMNS)}: rename or remove this "
            "column, or choose the columns with columns=(THEIRS:OURS)"
        )
    return names


def _given(text: TableText, content: bytes, columns: Sequence[str]) -> tuple[TableText, dict[str, str]]:
    """Return the table and what its columns are. Columns named by place only: the file has no header."""
    names = {theirs.strip(): ours.strip() for theirs, _, ours in (entry.rpartition(":") for entry in columns)}
    if wrong := [ours for ours in names.values() if ours not in OURS]:
        raise unknown_name(f"column in columns=({','.join(columns)})", wrong[0], OURS)
    if not {SOURCE, TARGET} <= set(names.values()):
        raise ValueError("columns must name the columns for source and target, as in columns=(from:source,to:target)")
    if all(name.isdecimal() for name in names):
        places = [str(place) for place in range(1, len(text.names) + 1)]
        text = TableText(text.file, places, text.mark, utf8(content, text.file), 1)
    if unknown := [name for name in names if name not in text.names]:
        raise unknown_name(f"column of {text.file}", unknown[0], [name for name in text.names if name])
    return text, names


def _is_directed(kinds: pa.ChunkedArray) -> bool:
    """Return what Gephi's column Type says. Errors: ValueError where it says several things."""
    words = pc.unique(pc.utf8_lower(kinds)).to_pylist()
    if len(words) > 1 or words[0] not in ("directed", "undirected"):
        shown = ", ".join(str(word) for word in words)
        raise ValueError(f"the column Type is {shown}, but must be Directed in all rows or Undirected in all rows")
    return bool(words[0] == "directed")


def _with_signs(table: EdgeTable) -> EdgeTable:
    """Return the links with the sign and the size of their rating as sign and weight. Errors: ValueError for a rating of 0."""
    columns = dict(table.columns)
    rating = columns.pop(RATING)
    if (rating == 0).any():
        raise ValueError("a link has the rating 0, which is neither positive nor negative: remove this link")
    return replace(table, columns={**columns, WEIGHT: np.abs(rating), SIGN: np.sign(rating)})


def _is_matrix(text: TableText) -> bool:
    """Return whether the first column has the names of the other columns."""
    nodes = text.names[1:]
    if {SOURCE, *SAME} & {name.lower() for name in text.names}:
        return False
    return bool(nodes) and [row[0] for _, row in islice(text.rows(), len(nodes))] == nodes


def _read_matrix(text: TableText) -> EdgeTable:
    """Return the links of a matrix in which row i says whom node i hears: 0 for no link, a weight, or below 0 a hostile link."""
    nodes = text.names[1:]
    cells = np.array([row[1:] for _, row in text.rows()])
    if len(cells) != len(nodes) or (cells == "").any():
        raise ValueError(
            f"its matrix must have {len(nodes)} rows of {len(nodes)} numbers: write 0 where there is no link"
        )
    numbers = as_numbers(pa.chunked_array([cells.ravel().tolist()]), "entry", comma=text.mark == ";")
    matrix = numbers.reshape(len(nodes), -1)
    if (loops := np.flatnonzero(np.diag(matrix))).size:
        raise ValueError(f"{nodes[loops[0]]} is linked with itself: write 0 on the diagonal")
    return replace(table_of_array(matrix), names=nodes)
