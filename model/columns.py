"""The record of a population in columns: attitudes.parquet (step, agent, attitude) and agents.parquet (agent, party, and
the node of a graph of one's own)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parley.agents.laws.base import Codes, Floats
from parley.llm.errors import UserError

ATTITUDES, AGENTS = "attitudes.parquet", "agents.parquet"
ROWS = 1 << 20
"""Rows of a group: what is written, and can be read, at once."""
KEY = b"parley"


class Columns(Protocol):
    def open(self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = ()) -> None:
        """Who is there; nodes: at which node of a graph of one's own, by its name."""

    def write(self, step: int, opinions: Floats) -> None:
        """Everybody's attitude after a step."""


class Nothing:
    """Keeps nothing: for sweeps that read the DataCollector, and for benchmarks."""

    def open(self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = ()) -> None:
        return None

    def write(self, step: int, opinions: Floats) -> None:
        return None


class ToParquet:
    """Writes float32, every `every`-th step, a step in groups of about a million rows; the last step has to be a multiple.

    Until it is closed the file is a partial one. The same run writes the same bytes. `header` stands in the file's metadata.
    Errors: UserError when the folder cannot be written.
    """

    def __init__(self, folder: Path, every: int, header: Mapping[str, Any]):
        self.folder, self.every = folder, every
        fields = [("step", pa.int32()), ("agent", pa.int32()), ("attitude", pa.float32())]
        self._schema = pa.schema(fields, metadata={KEY: json.dumps(header).encode()})
        self._partial = folder / f"{ATTITUDES}.partial"
        encodings = {"step": "DELTA_BINARY_PACKED", "agent": "DELTA_BINARY_PACKED", "attitude": "BYTE_STREAM_SPLIT"}
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self._partial, self._schema, compression="zstd", use_dictionary=False, column_encoding=encodings
            )

    def open(self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = ()) -> None:
        party = pa.DictionaryArray.from_arrays(pa.array(parties, pa.int32()), pa.array(names, pa.string()))
        columns = {"agent": pa.array(np.arange(len(parties)), pa.int32()), "party": party}
        who = pa.table(columns | ({"node": pa.array(nodes, pa.string())} if nodes else {}))
        with self._errors():
            pq.write_table(who, self.folder / AGENTS, compression="zstd")

    def write(self, step: int, opinions: Floats) -> None:
        if step % self.every:
            return
        for start in range(0, len(opinions), ROWS):
            part = opinions[start : start + ROWS].astype(np.float32)
            agents = np.arange(start, start + len(part), dtype=np.int32)
            columns = [np.full(len(part), step, dtype=np.int32), agents, part]
            with self._errors():
                self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=ROWS)

    def close(self, whole: bool = True) -> None:
        """End the file; where it is not `whole` it stays a partial one."""
        with self._errors():
            self._writer.close()
            if whole:
                os.replace(self._partial, self.folder / ATTITUDES)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(f"cannot write in {self.folder}: {error.strerror or error}") from error
