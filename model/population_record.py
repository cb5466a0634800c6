"""Records a population in columns: attitudes.parquet (step, agent, attitude) and agents.parquet (agent, party).

agents.parquet also has the node of a graph of your own, and the respondent of a survey. In several dimensions there is a
column for each: attitude_1, attitude_2, ...
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parley.agents.laws import Codes, Floats
from parley.model.files import file_errors
from parley.model.node_traits import attitude_names

ATTITUDES, AGENTS = "attitudes.parquet", "agents.parquet"
ROWS = 1 << 20
"""Rows of a group, which is written and read at once."""
KEY = b"parley"


class Columns(Protocol):
    def open(
        self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = (), respondents: Codes | None = None
    ) -> None:
        """Keep the party of each agent, as a place in `names`, its node in a graph of the user, and the number of its
        respondent in a survey."""

    def write(self, step: int, opinions: Floats, last: bool = False) -> None:
        """Keep the attitudes of all agents after a step. last: the run stops here."""


class ToParquet:
    """Writes every `every`-th step and the last one as float32, in groups of about a million rows.

    Until it is closed, the file has the ending .partial. The same run writes the same bytes. `header` goes into the
    metadata of the file. `dimensions`: how many opinions an agent has. Errors: UserError when the folder cannot be
    written.
    """

    def __init__(self, folder: Path, every: int, header: Mapping[str, Any], dimensions: int = 1):
        self.folder, self.every = folder, every
        names = attitude_names(dimensions)
        fields = [("step", pa.int32()), ("agent", pa.int32()), *[(name, pa.float32()) for name in names]]
        self._schema = pa.schema(fields, metadata={KEY: json.dumps(header).encode()})
        self._partial = folder / f"{ATTITUDES}.partial"
        encodings = dict.fromkeys(("step", "agent"), "DELTA_BINARY_PACKED") | dict.fromkeys(names, "BYTE_STREAM_SPLIT")
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self._partial, self._schema, compression="zstd", use_dictionary=False, column_encoding=encodings
            )

    def open(
        self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = (), respondents: Codes | None = None
    ) -> None:
        party = pa.DictionaryArray.from_arrays(pa.array(parties, pa.int32()), pa.array(names, pa.string()))
        columns = {"agent": pa.array(np.arange(len(parties)), pa.int32()), "party": party}
        columns |= {"node": pa.array(nodes, pa.string())} if nodes else {}
        columns |= {"respondent": pa.array(respondents, pa.int32())} if respondents is not None else {}
        who = pa.table(columns)
        with self._errors():
            pq.write_table(who, self.folder / AGENTS, compression="zstd")

    def write(self, step: int, opinions: Floats, last: bool = False) -> None:
        if step % self.every and not last:
            return
        for start in range(0, len(opinions), ROWS):
            part = opinions[start : start + ROWS].astype(np.float32)
            agents = np.arange(start, start + len(part), dtype=np.int32)
            attitudes = [part] if part.ndim == 1 else list(np.ascontiguousarray(part.T))
            columns = [np.full(len(part), step, dtype=np.int32), agents, *attitudes]
            with self._errors():
                self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=ROWS)

    def close(self, whole: bool = True) -> None:
        """Close the file. If it is not `whole`, it stays a partial one."""
        with self._errors():
            self._writer.close()
            if whole:
                os.replace(self._partial, self.folder / ATTITUDES)

    def _errors(self) -> AbstractContextManager[None]:
        return file_errors(f"cannot write in {self.folder}")
