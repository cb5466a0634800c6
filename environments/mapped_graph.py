"""A large graph as a folder of arrays that are mapped into memory: links are read from the disk as they are needed.

| file in `friends.graph/` | contents |
|---|---|
| `graph.json` | numbers of nodes and links, the file that the graph was made of, and the SHA-256 of each other file |
| `starts.npy` | int32 (n + 1,): the place of each node's first link in `heard.npy` |
| `heard.npy` | int32 (m,): whom each node hears, row after row |
| `weights.npy` | float64 (m,), below 0 for the sign -1; only if some weight is not 1 |
| `names.parquet` | the name of each node; only if nodes are not called 0, 1, 2, ... in order |

Nothing of a folder is run: arrays hold numbers alone, and each is checked once when the graph is opened. Errors are
ValueErrors of one line, or OSErrors.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy.sparse import csr_array

from parley.environments.edge_table import EdgeTable
from parley.environments.graph_files import check_texts, read_table
from parley.environments.sparse_graphs import unweighted
from parley.llm.trust import check_data

ENDING, HEADER, NAMES = ".graph", "graph.json", "names.parquet"
STARTS, HEARD, WEIGHTS = "starts.npy", "heard.npy", "weights.npy"
FORMAT, MOST_LINKS, LONGEST = 1, 2**31 - 1, 1 << 16
ARRAYS: Mapping[str, Any] = {STARTS: np.int32, HEARD: np.int32, WEIGHTS: np.float64}


@dataclass(frozen=True)
class MappedTable(EdgeTable):
    """A graph whose links stay in the file. names: empty if nodes are called by their row."""

    links: csr_array = field(default_factory=lambda: csr_array((0, 0)))

    def __len__(self) -> int:
        return int(self.links.shape[0])

    def array(self) -> csr_array:
        return self.links


def mapped_table(path: str, directed: bool = False, columns: Sequence[str] = ()) -> MappedTable:
    """Return the graph of a folder, or of a table of links: `friends.csv` is made into `friends.csv.graph/` once.

    A folder that was made of another file, or with other options, is made again. Errors: ValueError, OSError, UserError.
    """
    check_data(path)
    if Path(path).is_dir():
        return open_graph(Path(path))
    folder = Path(path + ENDING)
    source = {"sha256": digest_of(path), "directed": directed, "columns": list(columns)}
    if not folder.exists() or _header(folder)["source"] != source:
        table = read_table(path, directed, columns)
        if table is None:
            raise ValueError(
                "mapped=true only works with tables of links and matrices (.csv, .tsv, .parquet, .txt, .npz): leave it out"
            )
        if table.temporal:
            raise ValueError("links have rounds (columns start and end), which mapped=true cannot read: leave it out")
        save_graph(table.array(), folder, table.names, source)
    return open_graph(folder)


def digest_of(path: Path | str) -> str:
    """Return the SHA-256 of a file; of the folder of a graph that of its header, which has those of its files."""
    place = Path(path)
    with (place / HEADER if place.is_dir() else place).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def save_graph(
    graph: csr_array, folder: Path | str, names: Sequence[str] = (), source: Mapping[str, Any] | None = None
) -> None:
    """Write who hears whom as a folder, whole or not at all; replaces a folder of this name that holds a graph.

    graph: (n, n) a row for each node, without links of a node to itself; the data are weights, not 0. names: of the nodes,
    in order. Errors: ValueError, OSError.
    """
    place = Path(folder)
    links = csr_array(graph)
    if not links.has_canonical_format:
        links = links.copy()
        links.sum_duplicates()
    if links.nnz > MOST_LINKS:
        raise ValueError(f"a mapped graph has at most {MOST_LINKS:,} links, not {links.nnz:,}")
    if place.exists():
        _header(place)
    partial = place.with_name(f"{place.name}.{os.getpid()}.partial")
    partial.mkdir()
    try:
        _write(links, partial, names, source)
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(links: csr_array, folder: Path, names: Sequence[str], source: Mapping[str, Any] | None) -> None:
    np.save(folder / STARTS, links.indptr.astype(np.int32, copy=False), allow_pickle=False)
    np.save(folder / HEARD, links.indices.astype(np.int32, copy=False), allow_pickle=False)
    if links.nnz and not (links.data.min() == links.data.max() == 1):
        np.save(folder / WEIGHTS, links.data.astype(np.float64, copy=False), allow_pickle=False)
    if any(name != str(place) for place, name in enumerate(names)):
        pq.write_table(pa.table({"node": pa.array(names, pa.string())}), folder / NAMES, compression="zstd")
    files = {file.name: digest_of(file) for file in sorted(folder.iterdir())}
    header = {"format": FORMAT, "nodes": links.shape[0], "links": links.nnz, "source": source or {}, "files": files}
    (folder / HEADER).write_text(json.dumps(header, indent=1), encoding="utf-8")


def open_graph(folder: Path) -> MappedTable:
    """Return the graph of a folder, checked whole. Errors: ValueError, OSError."""
    header = _header(folder)
    for name, digest in header["files"].items():
        if digest_of(folder / name) != digest:
            raise ValueError(f"{folder / name} was changed after it was written: make the graph again")
    size, count = header["nodes"], header["links"]
    starts, heard = _mapped(folder / STARTS, size + 1), _mapped(folder / HEARD, count)
    if starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
        raise ValueError(f"{folder / STARTS} does not rise from 0 to {count:,}")
    if count and not (heard.min() >= 0 and heard.max() < size):
        raise ValueError(f"{folder / HEARD} names nodes outside 0 to {size - 1:,}")
    links = unweighted(starts, heard)
    if WEIGHTS in header["files"]:
        links = csr_array((_weights(folder / WEIGHTS, count), heard, starts), shape=(size, size))
    names = _names(folder / NAMES, size) if NAMES in header["files"] else []
    return MappedTable(names, np.empty((2, 0), dtype=np.int32), True, links=links)


def _header(folder: Path) -> dict[str, Any]:
    """Return the header of a folder. Errors: ValueError if it is none of a graph, OSError."""
    try:
        with (folder / HEADER).open("rb") as file:
            header = json.loads(file.read(LONGEST))
        known = header["format"] == FORMAT and {STARTS, HEARD} <= set(header["files"]) <= {*ARRAYS, NAMES}
        if known and all(type(header[name]) is int and header[name] >= 0 for name in ("nodes", "links")):
            return dict(header, source=header["source"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, FileNotFoundError, NotADirectoryError):
        pass
    raise ValueError(
        f"{folder} is not the folder of a mapped graph: its {HEADER} is missing or damaged; give another path, or delete it"
    )


def _mapped(file: Path, length: int) -> NDArray[Any]:
    """Return the array of a file, mapped for reading. Errors: ValueError if it is another array."""
    array = np.asarray(open_memmap(file, mode="r"))
    if array.dtype != ARRAYS[file.name] or array.shape != (length,):
        raise ValueError(f"{file} holds {array.dtype} {array.shape}, not {np.dtype(ARRAYS[file.name])} ({length},)")
    return array


def _weights(file: Path, count: int) -> NDArray[np.float64]:
    weights = _mapped(file, count)
    if not (np.isfinite(weights) & (weights != 0)).all():
        raise ValueError(f"{file}: a weight is 0 or not a number")
    return weights


def _names(file: Path, size: int) -> list[str]:
    table = pq.read_table(file, columns=["node"])
    names: list[str] = table["node"].cast(pa.string()).to_pylist()
    if len(names) != size or None in names or len(set(names)) < size:
        raise ValueError(f"{file} does not have {size:,} different names")
    check_texts(names)
    return names
