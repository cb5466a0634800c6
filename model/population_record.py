"""Records a population in columns: attitudes.parquet (step, agent, attitude) and agents.parquet (agent, party).

agents.parquet also has the node of a graph of your own, and the respondent of a survey. In several dimensions there is a
column for each: attitude_1, attitude_2, ... The attitude of an absent agent is missing. Only if there are any:
links.parquet has links that changed (step, source, target, added, weight; the source hears the target), and
interventions.parquet whom each intervention reached (step, number, kind, agent).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parley.agents.laws import Codes, Floats
from parley.model.files import file_errors
from parley.model.population_interventions import Happened
from parley.model.population_network import LinkChange, attitude_names
from parley.model.population_platform import TREES
from parley.model.reporters import stopped
from parley.model.trait_assignment import MIDDLE

if TYPE_CHECKING:
    from parley.model.population import PopulationModel

ATTITUDES, AGENTS = "attitudes.parquet", "agents.parquet"
LINKS, INTERVENTIONS = "links.parquet", "interventions.parquet"
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
        """Keep the attitudes of all agents after a step; NaN for absent ones. last: the run stops here."""

    def write_links(self, step: int, change: LinkChange) -> None:
        """Keep links that changed before a step."""

    def write_intervention(self, what: Happened, people: Codes) -> None:
        """Keep whom an intervention reached."""


SCHEMAS = {
    LINKS: pa.schema(
        [
            ("step", pa.int32()),
            ("source", pa.int32()),
            ("target", pa.int32()),
            ("added", pa.bool_()),
            ("weight", pa.float32()),
        ]
    ),
    INTERVENTIONS: pa.schema(
        [("step", pa.int32()), ("number", pa.int32()), ("kind", pa.string()), ("agent", pa.int32())]
    ),
}


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
        self._more: dict[str, pq.ParquetWriter] = {}
        encodings = dict.fromkeys(("step", "agent"), "DELTA_BINARY_PACKED") | dict.fromkeys(names, "BYTE_STREAM_SPLIT")
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                folder / f"{ATTITUDES}.partial",
                self._schema,
                compression="zstd",
                use_dictionary=False,
                column_encoding=encodings,
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
            chunk = opinions[start : start + ROWS].astype(np.float32)
            agents = np.arange(start, start + len(chunk), dtype=np.int32)
            attitudes = [chunk] if chunk.ndim == 1 else list(np.ascontiguousarray(chunk.T))
            readable = [
                pa.array(attitude, mask=np.isnan(attitude)) if np.isnan(attitude).any() else attitude
                for attitude in attitudes
            ]
            columns = [np.full(len(chunk), step, dtype=np.int32), agents, *readable]
            with self._errors():
                self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=ROWS)

    def write_links(self, step: int, change: LinkChange) -> None:
        count = len(change.sources)
        self._append(
            LINKS, [np.full(count, step), change.sources, change.targets, np.full(count, change.added), change.weights]
        )

    def write_intervention(self, what: Happened, people: Codes) -> None:
        count = len(people)
        self._append(
            INTERVENTIONS, [np.full(count, what.step), np.full(count, what.number), [what.kind] * count, people]
        )

    def _append(self, file: str, columns: Sequence[Any]) -> None:
        """Write rows of a table that is made with its first rows."""
        schema = SCHEMAS[file]
        arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)]
        with self._errors():
            if file not in self._more:
                self._more[file] = pq.ParquetWriter(self.folder / f"{file}.partial", schema, compression="zstd")
            self._more[file].write_table(pa.table(arrays, schema=schema), row_group_size=ROWS)

    def close(self, whole: bool = True) -> None:
        """Close the files. If they are not `whole`, they stay partial ones."""
        with self._errors():
            for file, writer in {ATTITUDES: self._writer, **self._more}.items():
                writer.close()
                if whole:
                    os.replace(self.folder / f"{file}.partial", self.folder / file)

    def _errors(self) -> AbstractContextManager[None]:
        return file_errors(f"cannot write in {self.folder}")


def population_reporters(model: PopulationModel) -> dict[str, Any]:
    """Return mean, variance and share above the middle of the axis: of all agents, and by party where there are several.

    In several dimensions the number of the dimension follows the statistic: mean_1, mean_1_labour. With a feed, rewiring
    or interventions there are the columns of SOCIETY too.
    """
    columns: dict[str, Any] = {"step": "round"}
    for suffix, place in _places(model):
        for code, party in [(None, ""), *_several_parties(model)]:
            for name, statistic in STATISTICS.items():
                columns[name + suffix + party] = partial(_summarise, statistic=statistic, code=code, place=place)
    if model.network.feed or model.network.rewiring or model.interventions or model.medium:
        columns |= SOCIETY
    if model.medium:
        columns["visits"] = _visits
        columns |= {act: partial(_acts, place=place) for place, act in enumerate(model.medium.acts)}
        columns |= {name: partial(_trees, name=name) for name in TREES}
    return columns | {"beyond": _beyond, "stopped": stopped}


def _places(model: PopulationModel) -> list[tuple[str, int | None]]:
    """The suffix of a dimension in names, and its place; one dimension has neither."""
    if model.dimensions == 1:
        return [("", None)]
    return [(f"_{place + 1}", place) for place in range(model.dimensions)]


def _several_parties(model: PopulationModel) -> Iterator[tuple[int, str]]:
    """The code and the suffix of each party; none if there is only one party."""
    for code, party in enumerate(model.parties if len(model.parties) > 1 else ()):
        yield code, f"_{party.name}"


def _share_above_middle(opinions: Floats) -> Any:
    return (opinions > MIDDLE).mean()


STATISTICS: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "variance": np.var, "above": _share_above_middle}
"""The statistics of each step: the mean, the variance of the population, the share above the middle of the axis."""


def _summarise(
    model: PopulationModel, statistic: Callable[[Floats], Any], code: int | None = None, place: int | None = None
) -> float | None:
    """A statistic of all agents present, or of a party, in one dimension; None for a party without agents."""
    opinions = model.opinions if place is None else model.opinions[:, place]
    here = None if code is None else model.codes == code
    if model.network.absent is not None:
        here = ~model.network.absent if here is None else here & ~model.network.absent
    opinions = opinions if here is None else opinions[here]
    return float(statistic(opinions)) if len(opinions) else None


def _present(model: PopulationModel) -> int:
    return model.network.present


def _muted(model: PopulationModel) -> int:
    return 0 if model.network.muted is None else int(model.network.muted.sum())


def _read(model: PopulationModel) -> float | None:
    return model.network.mean_read


def _distance(model: PopulationModel) -> float | None:
    return model.network.mean_distance(model.opinions)


def _new_links(model: PopulationModel) -> float:
    return model.network.new_links


def _visits(model: PopulationModel) -> int:
    return 0 if model.visits is None else int(model.visits.active.sum())


def _acts(model: PopulationModel, place: int) -> int:
    return 0 if model.visits is None else int((model.visits.acts == place).sum())


def _trees(model: PopulationModel, name: str) -> float | None:
    return model.trees[name]


SOCIETY: dict[str, Callable[[PopulationModel], Any]] = {
    "read": _read,
    "distance": _distance,
    "new_links": _new_links,
    "present": _present,
    "muted": _muted,
}
"""Columns of a population with a feed, rewiring or interventions: how many people one reads, and how far away they are
after the step, on average; new links by person; people who are present; muted people.
"""


def _beyond(model: PopulationModel) -> float | None:
    return model.law.beyond(model.opinions, model.graph)
