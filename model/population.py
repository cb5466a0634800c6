"""PopulationModel: up to a hundred million agents as arrays in one Mesa model, moved by a law of opinion dynamics.

There are no agent objects: every agent is a row. One `step` in order:
1. the law moves all opinions (agents/laws/motion.py), with a random stream of its own for each step;
2. the attitudes are recorded, if this step is to be recorded (model/population_record.py);
3. the DataCollector collects.

The class works on Mesa 3.3 and 3.5. Exceptions are raised or collected as in model/debate.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mesa
import networkx as nx
import numpy as np

from parley.agents.laws import Floats, Law, People, open_law
from parley.agents.laws.motion import STUBBORN, Motion
from parley.environments.survey_table import Survey
from parley.llm.errors import UserError
from parley.llm.registry import name_of
from parley.llm.seeding import derive
from parley.model import population_setup as setup
from parley.model.node_traits import attitude_names, node_traits
from parley.model.population_record import Columns
from parley.model.reporters import stopped
from parley.model.stepping import SteppedModel
from parley.model.survey_people import SurveyPeople, draw_people
from parley.model.trait_assignment import MIDDLE

LARGEST, MOST_DIMENSIONS = 100_000_000, 12


class PopulationModel(SteppedModel):
    """A population of up to a hundred million agents as arrays, moved by a law of opinion dynamics. A Mesa model.

    Parameters
    ----------
    law : str or Law
        The law with its options, such as `"deffuant,epsilon=0.2"` (docs/populations.md has formulas and sources), or
        `"surrogate:FILE"` for one that was fitted to a run.
    graph : str, networkx.Graph or sparse array
        Who hears whom: a graph's name with options, or a graph whose nodes are the agents.
    agents : int
        Number of agents; for a graph of your own, its number of nodes.
    parties : str
        The parties and their initial attitudes (docs/populations.md). Default: those of the law, or evenly over the axis.
    steps : int
        Number of steps after which `running` is False.
    rng : int, optional
        The seed.
    dimensions : int
        Number of opinions of an agent. With several, the law must work in vectors (docs/populations.md).
    until : float, optional
        Stop as soon as no opinion moved more than this in a step, in points of the axis. By default all steps are run.
    recorder : Columns, optional
        Gets the attitudes of each step. By default nothing is recorded.
    collect_errors : bool
        Keep an exception in `error` instead of raising it, for `mesa.batch_run`.
    people : str or Survey, optional
        The survey of which every agent is a respondent: `"FILE,opinion=COLUMN,low=1,high=7"` (docs/populations.md).

    Attributes
    ----------
    opinions : ndarray, shape (agents,) or (agents, dimensions)
        The current attitudes, on the axis from 0 to 10.
    converged : int or None
        The step in which no opinion moved more than `until`; None if there was none.
    traits : tuple of str
        The attributes of nodes that are used, such as `attitude` or `bound`.
    nodes : list of str
        The names of the nodes of a graph of your own.
    people : SurveyPeople or None
        The respondents of a survey, and which of them each agent is.

    Raises
    ------
    UserError
        A spec, the number of agents or dimensions, or the graph is wrong, or the law does not suit the graph.

    Examples
    --------
    >>> model = parley.PopulationModel("deffuant", agents=1000, steps=5, rng=1)  # doctest: +SKIP
    >>> model.run()  # doctest: +SKIP
    >>> model.datacollector.get_model_vars_dataframe()[["step", "mean", "variance"]]  # doctest: +SKIP
    """

    def __init__(
        self,
        law: str | Law = "deffuant",
        graph: str | nx.Graph | Any = "small_world,degree=10",
        agents: int = 10_000,
        parties: str = "",
        steps: int = 20,
        rng: int | None = None,
        dimensions: int = 1,
        until: float | None = None,
        recorder: Columns | None = None,
        collect_errors: bool = False,
        people: str | Survey | None = None,
    ):
        if not 1 <= agents <= LARGEST:
            raise UserError(f"a population has 1 to {LARGEST:,} agents, not {agents:,}")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise UserError(f"opinions have 1 to {MOST_DIMENSIONS} dimensions, not {dimensions:,}")
        self.root = 0 if rng is None else int(rng)
        super().__init__(self.root, steps, collect_errors)
        self.dimensions, self.until, self.recorder = dimensions, until, recorder
        self.converged: int | None = None
        chosen = setup.choose_graph(graph, agents)
        self.people = self._draw_people(people, chosen, agents, parties)
        self._set_up(open_law(law) if isinstance(law, str) else law, chosen, agents, parties)
        self.datacollector = mesa.DataCollector(model_reporters=self._reporters())
        self._run_and_collect(self._record_start)

    def _draw_people(
        self, people: str | Survey | None, chosen: setup.ChosenGraph, agents: int, parties: str
    ) -> SurveyPeople | None:
        """Draw the respondents of a survey. Errors: UserError, also where something else says who the agents are."""
        if not people:
            return None
        if parties:
            raise UserError("--people takes the parties from the survey (party=COLUMN), so leave out --parties")
        if held := node_traits(chosen, attitude_names(self.dimensions)):
            raise UserError(
                f"the nodes of graph {chosen.name} have the attribute {next(iter(held))}, and --people gives opinions too: "
                "use one of them"
            )
        return draw_people(people, agents, self.dimensions, chosen, self._stream)

    def _set_up(self, law: Law, chosen: setup.ChosenGraph, agents: int, parties: str) -> None:
        """Make parties, links and first opinions, and the law in motion. Errors: UserError."""
        self.nodes = chosen.nodes
        fitted = self.people.parties if self.people else tuple([setup.Party(*party) for party in law.people])
        self.parties = setup.parse_parties(parties) if parties else fitted or chosen.even_parties or setup.EVERYBODY
        names = tuple([party.name for party in self.parties])
        if self.people:
            self.codes = self.people.codes
        elif chosen.parties:
            self.codes = setup.party_codes(chosen.parties, names)
        else:
            self.codes = setup.draw_parties(self.parties, agents, self._stream("parties"))
        self.graph = setup.build_links(chosen, self.codes, names, self._stream("graph"))
        setup.check_signs(self.graph, law, name_of(type(law)))
        attitudes = attitude_names(self.dimensions)
        traits = node_traits(chosen, [*attitudes, STUBBORN, *law.reads])
        self.traits = tuple(traits)
        surveyed = self.people.opinions(attitudes) if self.people else {}
        start = setup.initial_opinions(self.parties, self.codes, traits | surveyed, attitudes, self._stream)
        self.opinions = law.admit(start)
        try:
            people = People(self.codes, names, traits)
            self.motion = Motion.start(law, self.opinions, people, self._stream("stubborn"))
        except ValueError as error:
            raise UserError(f"law {name_of(type(law))}: {error}") from error

    @property
    def law(self) -> Law:
        """The law, as it began."""
        return self.motion.law

    @property
    def over(self) -> bool:
        """True after the last step, after convergence and after an error."""
        return super().over or self.converged is not None

    def _record_start(self) -> None:
        if self.recorder:
            self.open_record(self.recorder)

    def open_record(self, recorder: Columns) -> None:
        """Record who the agents are, and their first opinions."""
        more = {"respondents": self.people.lines} if self.people else {}
        recorder.open(self.codes, [party.name for party in self.parties], self.nodes, **more)
        recorder.write(0, self.opinions)

    def _next_round(self) -> None:
        before, stream = self.opinions, self._stream("step", self.round + 1)
        self.opinions = self.motion.step(before, self.graph, stream, self.round)
        self.round += 1
        if self.until is not None and np.abs(self.opinions - before).max() <= self.until:
            self.converged = self.round
        if self.recorder:
            self.recorder.write(self.round, self.opinions, last=self.over)

    def _stream(self, *name: object) -> np.random.Generator:
        return np.random.default_rng(derive(self.root, "population", *name))

    def _reporters(self) -> dict[str, Any]:
        """Mean, variance and share above the middle of the axis: of all agents, and by party where there are several.

        In several dimensions the number of the dimension follows the statistic: mean_1, mean_1_labour.
        """
        columns: dict[str, Any] = {"step": "round"}
        for suffix, place in self._places():
            for code, party in [(None, ""), *self._several_parties()]:
                for name, statistic in STATISTICS.items():
                    columns[name + suffix + party] = partial(_summarise, statistic=statistic, code=code, place=place)
        return columns | {"beyond": _beyond, "stopped": stopped}

    def _places(self) -> list[tuple[str, int | None]]:
        """The suffix of a dimension in names, and its place; one dimension has neither."""
        return [(f"_{place + 1}", place) for place in range(self.dimensions)] if self.dimensions > 1 else [("", None)]

    def _several_parties(self) -> Iterator[tuple[int, str]]:
        """The code and the suffix of each party; none if there is only one party."""
        for code, party in enumerate(self.parties if len(self.parties) > 1 else ()):
            yield code, f"_{party.name}"


def _share_above_middle(opinions: Floats) -> Any:
    return (opinions > MIDDLE).mean()


STATISTICS: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "variance": np.var, "above": _share_above_middle}
"""The statistics of each step: the mean, the variance of the population, the share above the middle of the axis."""


def _summarise(
    model: PopulationModel, statistic: Callable[[Floats], Any], code: int | None = None, place: int | None = None
) -> float | None:
    """A statistic of all agents, or of a party, in one dimension; None for a party without agents."""
    opinions = model.opinions if place is None else model.opinions[:, place]
    opinions = opinions if code is None else opinions[model.codes == code]
    return float(statistic(opinions)) if len(opinions) else None


def _beyond(model: PopulationModel) -> float | None:
    return model.law.beyond(model.opinions, model.graph)
