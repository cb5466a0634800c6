"""PopulationModel: a million people as arrays in one Mesa model, stepped by a law of opinion dynamics.

No agent objects: everybody is a row. One `step` in order:
1. the law moves all opinions (agents/opinion_dynamics.py), with a random stream of its own for each step;
2. the attitudes are recorded, if this step is one of those that are;
3. the DataCollector collects.

Works alike on Mesa 3.3 and 3.5. As in model/debate.py an exception is raised where it happens, and with `collect_errors` it is
kept in `error` alone.

The record of a population in columns: attitudes.parquet (step, agent, attitude) and agents.parquet (agent, party, and
the node of a graph of one's own).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import mesa
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parley.agents.opinion_dynamics import Codes, Floats, Law, open_law
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.model.population_setup import (
    EVERYBODY,
    Party,
    begun,
    by_node,
    chosen,
    linked,
    parse_parties,
    placed,
    seated,
)

MIDDLE = 5.0
LARGEST = 100_000_000


class PopulationModel(mesa.Model):
    """A population of up to a hundred million people, as arrays, moved by a law of opinion dynamics. A Mesa model.

    Parameters
    ----------
    law : str or Law
        The law with its options, such as `"deffuant,epsilon=0.2"` (docs/populations.md has formulas and sources), or
        `"surrogate:FILE"` for one that was fitted to a run.
    graph : str or networkx.Graph
        Who hears whom: a graph's name with options, or a graph, whose nodes are the people.
    agents : int
        How many people; of a networkx graph as many as it has nodes.
    parties : str
        Who they are and where they begin (docs/populations.md). Empty: what the law says, or evenly over the axis.
    steps : int
        After so many steps `running` is turned off.
    rng : int, optional
        The seed.
    recorder : Columns, optional
        Where the attitudes of each step go; nowhere by default.
    collect_errors : bool
        Keep what stops the model in `error` instead of raising it, for `mesa.batch_run`.

    Attributes
    ----------
    opinions : ndarray, shape (agents,)
        The attitudes now, on the axis from 0 to 10.
    nodes : tuple of str
        The names of the nodes of a graph that was given.

    Raises
    ------
    UserError
        A spec, the number of people or the graph is wrong.

    Examples
    --------
    >>> model = parley.PopulationModel("deffuant", agents=1000, steps=5, rng=1)  # doctest: +SKIP
    >>> model.run()  # doctest: +SKIP
    >>> model.datacollector.get_model_vars_dataframe()[["step", "mean", "variance"]]  # doctest: +SKIP
    """

    def __init__(
        self,
        law: str | Law = "deffuant",
        graph: str | nx.Graph = "small_world,degree=10",
        agents: int = 10_000,
        parties: str = "",
        steps: int = 20,
        rng: int | None = None,
        recorder: Columns | None = None,
        collect_errors: bool = False,
    ):
        if not 1 <= agents <= LARGEST:
            raise UserError(f"a population has 1 to {LARGEST:,} agents, not {agents:,}")
        self.root = 0 if rng is None else int(rng)
        super().__init__(rng=self.root)
        law = open_law(law) if isinstance(law, str) else law
        found = chosen(graph, agents)
        self.nodes = found.nodes
        self.parties = parse_parties(parties) if parties else _own(law) or by_node(found.parties) or EVERYBODY
        names = [party.name for party in self.parties]
        self.codes = (
            placed(found.parties, names) if found.parties else seated(self.parties, agents, self._stream("parties"))
        )
        self.graph = linked(found, self.codes, names, self._stream("graph"))
        self.opinions = begun(self.parties, self.codes, self._stream("start"))
        try:
            self.law = law.begin(self.opinions, self.codes, [party.name for party in self.parties])
        except ValueError as error:
            raise UserError(str(error)) from error
        self.limit, self.round = steps, 0
        self.error: Exception | None = None
        self.collect_errors = collect_errors
        self.recorder: Columns = recorder if recorder is not None else NullColumns()
        self.datacollector = mesa.DataCollector(model_reporters=self._reporters())
        self._guarded(self._open)

    @property
    def over(self) -> bool:
        """True when no step is left, or an error keeps from taking it."""
        return self.error is not None or self.round >= self.limit

    def step(self) -> None:
        """One step of the law. The step after the last one does nothing but turn `running` off (as model/debate.py)."""
        if self.over:
            self.running = False
        else:
            self._guarded(self._move)

    def run(self, progress: Callable[[int], object] | None = None) -> None:
        """Step to the end; progress(1) is called after each step. Raises what stopped the model, if anything did."""
        while not self.over:
            self.step()
            if progress:
                progress(1)
        self.running = False
        if self.error:
            raise self.error

    def _guarded(self, phase: Callable[[], None]) -> None:
        try:
            phase()
        except Exception as error:
            self.error = error
            if not self.collect_errors:
                raise
        self.datacollector.collect(self)

    def _open(self) -> None:
        self.recorder.open(self.codes, [party.name for party in self.parties], self.nodes)
        self.recorder.write(0, self.opinions)

    def _move(self) -> None:
        self.round += 1
        self.opinions = self.law.step(self.opinions, self.graph, self._stream("step", self.round))
        self.recorder.write(self.round, self.opinions)

    def _stream(self, *name: object) -> np.random.Generator:
        return np.random.default_rng(derive(self.root, "population", *name))

    def _reporters(self) -> dict[str, Any]:
        """Mean, variance and share above the middle of the axis, of everybody and by party where there are several."""
        found: dict[str, Any] = {"step": _step, "mean": _mean, "variance": _variance, "above": _above}
        for code, party in enumerate(self.parties if len(self.parties) > 1 else ()):
            for name, reporter in (("mean", _mean), ("variance", _variance), ("above", _above)):
                found[f"{name}_{party.name}"] = partial(reporter, code=code)
        return found | {"beyond": _beyond, "stopped": _stopped}


def _own(law: Law) -> tuple[Party, ...]:
    """The people that a fitted law was fitted to."""
    return tuple([Party(*one) for one in law.people])


def _step(model: PopulationModel) -> int:
    return model.round


def _of(model: PopulationModel, code: int | None) -> Any:
    return model.opinions if code is None else model.opinions[model.codes == code]


def _mean(model: PopulationModel, code: int | None = None) -> float | None:
    """None of a party that nobody is in."""
    found = _of(model, code)
    return float(found.mean()) if len(found) else None


def _variance(model: PopulationModel, code: int | None = None) -> float | None:
    """Of the population: the squares' mean."""
    found = _of(model, code)
    return float(found.var()) if len(found) else None


def _above(model: PopulationModel, code: int | None = None) -> float | None:
    found = _of(model, code)
    return float((found > MIDDLE).mean()) if len(found) else None


def _beyond(model: PopulationModel) -> float | None:
    return model.law.beyond(model.opinions, model.graph)


def _stopped(model: PopulationModel) -> str | None:
    return None if model.error is None else f"{type(model.error).__name__}: {model.error}"


ATTITUDES, AGENTS = "attitudes.parquet", "agents.parquet"
ROWS = 1 << 20
"""Rows of a group: what is written, and can be read, at once."""
KEY = b"parley"


class Columns(Protocol):
    def open(self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = ()) -> None:
        """Who is there; nodes: at which node of a graph of one's own, by its name."""

    def write(self, step: int, opinions: Floats) -> None:
        """Everybody's attitude after a step."""


class NullColumns:
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
