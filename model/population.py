"""PopulationModel: up to a hundred million agents as arrays in one Mesa model, moved by a law of opinion dynamics.

There are no agent objects: every agent is a row. One `step` in order:
1. the law moves all opinions (agents/opinion_dynamics.py), with a random stream of its own for each step;
2. the attitudes are recorded, if this step is to be recorded;
3. the DataCollector collects.

The class works on Mesa 3.3 and 3.5. Exceptions are raised or collected as in model/debate.py.

A population is recorded in columns: attitudes.parquet (step, agent, attitude) and agents.parquet (agent, party, and the node of
a graph of your own).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
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
from parley.model import population_setup as setup
from parley.model.files import file_errors
from parley.model.reporters import stopped
from parley.model.stepping import SteppedModel
from parley.model.trait_assignment import MIDDLE

LARGEST = 100_000_000


class PopulationModel(SteppedModel):
    """A population of up to a hundred million agents as arrays, moved by a law of opinion dynamics. A Mesa model.

    Parameters
    ----------
    law : str or Law
        The law with its options, such as `"deffuant,epsilon=0.2"` (docs/populations.md has formulas and sources), or
        `"surrogate:FILE"` for one that was fitted to a run.
    graph : str or networkx.Graph
        Who hears whom: a graph's name with options, or a graph whose nodes are the agents.
    agents : int
        Number of agents; for a networkx graph, its number of nodes.
    parties : str
        The parties and their initial attitudes (docs/populations.md). Default: those of the law, or evenly over the axis.
    steps : int
        Number of steps after which `running` is False.
    rng : int, optional
        The seed.
    recorder : Columns, optional
        Gets the attitudes of each step. By default nothing is recorded.
    collect_errors : bool
        Keep an exception in `error` instead of raising it, for `mesa.batch_run`.

    Attributes
    ----------
    opinions : ndarray, shape (agents,)
        The current attitudes, on the axis from 0 to 10.
    nodes : tuple of str
        The names of the nodes of a graph of your own.

    Raises
    ------
    UserError
        A spec, the number of agents or the graph is wrong.

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
        super().__init__(self.root, steps, collect_errors)
        law = open_law(law) if isinstance(law, str) else law
        chosen = setup.choose_graph(graph, agents)
        self.nodes = chosen.nodes
        fitted = tuple([setup.Party(*party) for party in law.people])
        self.parties = setup.parse_parties(parties) if parties else fitted or chosen.even_parties or setup.EVERYBODY
        names = [party.name for party in self.parties]
        if chosen.parties:
            self.codes = setup.party_codes(chosen.parties, names)
        else:
            self.codes = setup.draw_parties(self.parties, agents, self._stream("parties"))
        self.graph = setup.build_links(chosen, self.codes, names, self._stream("graph"))
        self.opinions = setup.initial_attitudes(self.parties, self.codes, self._stream("start"))
        try:
            self.law = law.begin(self.opinions, self.codes, names)
        except ValueError as error:
            raise UserError(str(error)) from error
        self.recorder = recorder
        self.datacollector = mesa.DataCollector(model_reporters=self._reporters())
        self._run_and_collect(self._record_start)

    def _record_start(self) -> None:
        if self.recorder:
            self.recorder.open(self.codes, [party.name for party in self.parties], self.nodes)
            self.recorder.write(0, self.opinions)

    def _next_round(self) -> None:
        self.round += 1
        self.opinions = self.law.step(self.opinions, self.graph, self._stream("step", self.round))
        if self.recorder:
            self.recorder.write(self.round, self.opinions)

    def _stream(self, *name: object) -> np.random.Generator:
        return np.random.default_rng(derive(self.root, "population", *name))

    def _reporters(self) -> dict[str, Any]:
        """Mean, variance and share above the middle of the axis: of all agents, and by party where there are several."""
        columns: dict[str, Any] = {"step": "round"}
        for name, statistic in STATISTICS.items():
            columns[name] = partial(_summarise, statistic=statistic)
        for code, party in enumerate(self.parties if len(self.parties) > 1 else ()):
            for name, statistic in STATISTICS.items():
                columns[f"{name}_{party.name}"] = partial(_summarise, statistic=statistic, code=code)
        return columns | {"beyond": _beyond, "stopped": stopped}


def _share_above_middle(opinions: Floats) -> Any:
    return (opinions > MIDDLE).mean()


STATISTICS: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "variance": np.var, "above": _share_above_middle}
"""The statistics of each step: the mean, the variance of the population, the share above the middle of the axis."""


def _summarise(model: PopulationModel, statistic: Callable[[Floats], Any], code: int | None = None) -> float | None:
    """A statistic of all agents, or of a party; None for a party without agents."""
    opinions = model.opinions if code is None else model.opinions[model.codes == code]
    return float(statistic(opinions)) if len(opinions) else None


def _beyond(model: PopulationModel) -> float | None:
    return model.law.beyond(model.opinions, model.graph)


ATTITUDES, AGENTS = "attitudes.parquet", "agents.parquet"
ROWS = 1 << 20
"""Rows of a group, which is written and read at once."""
KEY = b"parley"


class Columns(Protocol):
    def open(self, parties: Codes, names: Sequence[str], nodes: Sequence[str] = ()) -> None:
        """Keep the party of each agent, as a place in `names`, and its node in a graph of the user."""

    def write(self, step: int, opinions: Floats) -> None:
        """Keep the attitudes of all agents after a step."""


class ToParquet:
    """Writes every `every`-th step as float32, in groups of about a million rows. The number of steps must be a multiple of it.

    Until it is closed, the file has the ending .partial. The same run writes the same bytes. `header` goes into the metadata of
    the file. Errors: UserError when the folder cannot be written.
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
        """Close the file. If it is not `whole`, it stays a partial one."""
        with self._errors():
            self._writer.close()
            if whole:
                os.replace(self._partial, self.folder / ATTITUDES)

    def _errors(self) -> AbstractContextManager[None]:
        return file_errors(f"cannot write in {self.folder}")
